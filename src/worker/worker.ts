import { AsyncLocalStorage } from 'node:async_hooks';
import type { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { NO_USAGE, type TurnUsage } from '../agent/turn-outcome.ts';
import type { MessagesClient, TurnRequest } from '../agent/turn-request.ts';
import { checkWholeNumber, MemoryError } from '../errors.ts';
import type { TenantId } from '../format/object-keys.ts';
import type { LogFields } from '../logger.ts';
import type { MemoryOptions } from '../open/options/options.ts';
import { createTenantPool, type TenantPool } from '../open/pool.ts';
import { inTime, once } from '../time.ts';
import type { EventHandler } from '../tool/watch.ts';
import { turnActor } from '../turns/turn-trace.ts';
import { heardJsonLogger, type JsonLogger, toldFailure } from './json-log.ts';
import { createConversations } from './leases/conversations.ts';
import { createReceipts } from './leases/receipts.ts';
import { createDirectHandler, type DirectAnswer, type LambdaContext } from './queue/direct-handler.ts';
import type { Replies } from './queue/replies.ts';
import { createSqsHandler, type DeliverRequest } from './queue/sqs-handler.ts';
import { credentialsOf, type TenantCredentialProvider } from './tenant-credentials.ts';
import { createClaudeGate } from './turn/claude-gate.ts';
import { deliverTurn } from './turn/deliver-turn.ts';
import { type Delivery, failureOf, PROMPT_REFUSED } from './turn/delivery.ts';
import { openPrompt } from './turn/sealed-prompt.ts';
import { createTokenBudget, type TokenReservation } from './turn/token-budget.ts';
import type { TurnAnswer } from './turn/turn-answer.ts';
import { parseTurnMessage, parseTurnText, type TurnMessage } from './turn/turn-message.ts';
import { inTurnSpan } from './turn/turn-span.ts';

/** The turn that a worker has begun to run. */
export type TurnName = Pick<TurnMessage, 'tenant' | 'turn' | 'conversation'>;

export interface WorkerOptions {
  /**
   * The options of the store and the root keys; the tenant comes with each message. An `onEvent` stands in the place of
   * the worker's own, which tells OpenTelemetry about each memory operation (`createTelemetry`).
   */
  readonly memory: Omit<MemoryOptions, 'tenant' | 'credentials' | 'logger'>;
  /** Gives the credentials of one tenant. Absent: all tenants are reached with the credentials of the process. */
  readonly credentials?: ((tenant: TenantId) => TenantCredentialProvider) | undefined;
  /**
   * Gives Claude's client. Called with a client whose key the API has refused, it gives another one where there is a
   * new key.
   */
  readonly client: (refused?: MessagesClient) => Promise<MessagesClient>;
  readonly model: string;
  readonly maxTokens?: number | undefined;
  /**
   * The most tokens of one tenant, input and output together, on a day (UTC): its further turns wait for the next one.
   * Absent: no bound.
   */
  readonly tokensPerDay?: number | undefined;
  /** Further parameters of every turn; a message may bring another `system`. */
  readonly turnOptions?: Pick<
    TurnRequest,
    | 'contextManagement'
    | 'effort'
    | 'maxRequests'
    | 'prime'
    | 'runToolsEagerly'
    | 'system'
    | 'systemAdditions'
    | 'tools'
    | 'extras'
    | 'whenPromptsChange'
  >;
  readonly queue: {
    readonly sqs: Pick<SQSClient, 'send'>;
    readonly url: string;
    /**
     * The URL of its dead letters, where the worker sends messages that can never succeed; absent: the queue's own
     * attempts lead there.
     */
    readonly deadLetterUrl?: string | undefined;
    /**
     * The URL of the dead letters of turns for which a root key stayed away that the settings of their tenant name: the
     * tenant's business, and no alarm. Absent: `deadLetterUrl`.
     */
    readonly customerDeadLetterUrl?: string | undefined;
    /**
     * The time for which it keeps a message, in seconds: 172,800 (two days) to 1,209,600; four days by default, as SQS
     * does. A turn that is held up goes to the dead letters a day before.
     */
    readonly retentionSeconds?: number | undefined;
  };
  readonly replies?: Replies | undefined;
  /**
   * Gives the listeners of a turn's words and calls of tools as they come. A turn that is delivered again tells again
   * what it says from the last reply on that was kept; one that was answered before tells nothing. Their failures, and
   * that of `onTurn` itself, change nothing.
   */
  readonly onTurn?: ((turn: TurnName) => Pick<TurnRequest, 'onText' | 'onToolUse'>) | undefined;
  readonly logger: JsonLogger;
}

/** Handlers for Lambda that run turns of many tenants in one process. */
export interface Worker extends AsyncDisposable {
  /** The handler of an SQS event source with `ReportBatchItemFailures`. */
  readonly handler: (event: SQSEvent, context: LambdaContext) => Promise<SQSBatchResponse>;
  /**
   * The handler of a function URL guarded by IAM, of Step Functions, or of `Invoke`: the caller waits for the answer.
   */
  readonly invoke: (event: unknown, context: LambdaContext) => Promise<DirectAnswer>;
}

/** The part of a function's time that stays for the release of the turn, in milliseconds. */
const RESERVE_MS = 10_000;
/** The part of `RESERVE_MS` for the count of the turn's tokens. */
const COUNT_WITHIN_MS = 3_000;
/** The part of `RESERVE_MS` for the end of a delivery whose reply is not taken. */
const CLOSE_WITHIN_MS = 2_000;
/**
 * The time after which a turn is free again, from the moment on at which the function that held it must have ended
 * (milliseconds).
 */
const LEASE_MARGIN_MS = 30_000;

/**
 * The count of requests to the store while a turn runs; requests that turns share count for the one that began them.
 */
const requestsOfTurn = new AsyncLocalStorage<{ count: number }>();

/**
 * Makes a worker for a function of AWS Lambda: `handler` for messages of a queue, `invoke` for one turn at a time. Each
 * turn of a tenant runs once, and its answer is kept.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export function createWorker(given: WorkerOptions): Worker {
  const options = { ...given, logger: heardJsonLogger(given.logger) };
  const { queue, logger: log, tokensPerDay } = options;
  if (tokensPerDay !== undefined) {
    checkWholeNumber('tokensPerDay', tokensPerDay, { least: 1, most: Number.MAX_SAFE_INTEGER });
  }
  if (queue.retentionSeconds !== undefined) {
    checkWholeNumber('queue.retentionSeconds', queue.retentionSeconds, { least: 172_800, most: 1_209_600 });
  }
  const onRequest: MemoryOptions['onRequest'] = (request) => {
    const sent = requestsOfTurn.getStore();
    if (sent !== undefined) sent.count += 1;
    return options.memory.onRequest?.(request);
  };
  const memory = {
    lazy: true,
    ...options.memory,
    onEvent: options.memory.onEvent ?? createLazyTelemetry(),
    logger: log,
    onRequest,
  };
  const { credentials } = options;
  const pool = createTenantPool(memory, {
    mountCredentials: credentials && ((tenant) => () => credentials(tenant)()),
    onBegun: (tenant) => log.info('a tenant was begun', { tenant }),
  });
  const gate = createClaudeGate();
  const deliver = async (given: unknown, request: DeliveryTime): Promise<Delivery> => {
    let message: TurnMessage;
    try {
      message = typeof given === 'string' ? parseTurnText(given) : parseTurnMessage(given);
    } catch (error) {
      const { awsRequestId: requestId } = request.context;
      log.error('a message holds no turn', {
        code: 'invalid_command',
        ...(requestId !== undefined && { requestId }),
      });
      return failureOf(error, undefined);
    }
    return deliverLogged({ options, pool, gate, message, ...request });
  };
  return {
    handler: createSqsHandler({ ...queue, queueUrl: queue.url, deliver, log }),
    invoke: createDirectHandler({
      deliver: (message, context) => deliver(message, { context }),
      onThrown(delivery) {
        if (delivery.state !== 'later' || delivery.keyHolder === undefined) return;
        const { code, keyHolder } = delivery;
        log.info('the function fails for want of a key that the tenant holds', { code, keyHolder });
      },
    }),
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

/** Makes a handler that tells OpenTelemetry about each memory operation, where the process has `@opentelemetry/api`. */
function createLazyTelemetry(): EventHandler {
  const load = once(() =>
    import('../tool/telemetry.ts').then(
      ({ createTelemetry }) => createTelemetry(),
      () => undefined,
    ),
  );
  return async (event) => (await load())?.(event);
}

/** Asks for the listeners of a turn; whatever else is given stands for none. */
function listenersOf(
  { onTurn }: WorkerOptions,
  { tenant, turn, conversation }: TurnMessage,
): Pick<TurnRequest, 'onText' | 'onToolUse'> {
  try {
    const given = onTurn?.({ tenant, turn, ...(conversation !== undefined && { conversation }) });
    // An async function gives no listeners, and its rejection must not end the process.
    Promise.resolve(given).catch(() => {});
    const { onText, onToolUse } = given ?? {};
    return { ...(onText && { onText }), ...(onToolUse && { onToolUse }) };
  } catch {
    return {};
  }
}

/** The time of a delivery; a caller that waits has no message in a queue. */
type DeliveryTime = Pick<DeliverRequest, 'context'> & Partial<DeliverRequest>;

interface MessageDelivery extends DeliveryTime {
  readonly options: WorkerOptions;
  readonly pool: TenantPool;
  readonly gate: ReturnType<typeof createClaudeGate>;
  readonly message: TurnMessage;
}

async function deliverLogged(delivery: MessageDelivery): Promise<Delivery> {
  const { tenant } = delivery.message;
  const { awsRequestId: requestId } = delivery.context;
  const started = performance.now();
  const sent = { count: 0 };
  let spent = NO_USAGE;
  let named: LogFields = { tenant, ...(requestId !== undefined && { requestId }) };
  const log = delivery.options.logger.with(() => named);
  const run = (): Promise<Delivery> =>
    throughGate(delivery, {
      log,
      onNamed(fields) {
        named = { ...named, ...fields };
      },
      onSpent(usage, claudeRequestId) {
        spent = usage;
        if (claudeRequestId !== undefined) named = { ...named, claudeRequestId };
      },
      onCommand({ command, durationMs, code = 'ok', keyHolder }) {
        log.info('memory command', {
          command: command ?? 'invalid',
          code,
          keyHolder,
          durationMs: Math.round(durationMs),
        });
      },
    });
  const ended = await requestsOfTurn.run(sent, () => inTurnSpan(tenant, run));
  const durationMs = Math.round(performance.now() - started);
  const { requests: claudeRequests, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = spent;
  const cost = {
    durationMs,
    storeRequests: sent.count,
    claudeRequests,
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
  };
  if (ended.state === 'answered') {
    log.info('turn answered', { code: ended.answer.outcome, ...cost });
  } else if (ended.state === 'later') {
    const { waitedMs } = delivery;
    const waited = waitedMs === undefined ? {} : { waitedSeconds: Math.round(waitedMs / 1_000) };
    log.warn('turn will be retried', {
      code: ended.code,
      keyHolder: ended.keyHolder,
      afterSeconds: ended.afterSeconds,
      ...waited,
      ...cost,
    });
  } else {
    log.error('turn failed', { code: ended.code, ...cost });
  }
  const { turn } = named;
  return ended.state !== 'answered' && typeof turn === 'string' ? { ...ended, turn } : ended;
}

/** Hears of a delivery while it runs. */
interface DeliveryWatch {
  readonly log: JsonLogger;
  readonly onNamed: (fields: LogFields) => void;
  readonly onSpent: (usage: TurnUsage, claudeRequestId: string | undefined) => void;
  readonly onCommand: NonNullable<TurnRequest['onCommand']>;
}

/** Delivers a message: one of a queue through the gate; one of a caller that waits goes past the gate. */
async function throughGate(delivery: MessageDelivery, watch: DeliveryWatch): Promise<Delivery> {
  const deliver = (): Promise<Delivery> => deliverOne(delivery, watch);
  const { gate, options, pool, message, context, waitedMs } = delivery;
  if (waitedMs === undefined) return deliver();
  // The delivery tells why the settings of a tenant cannot be read.
  const own = await pool.turnOf(message.tenant, endOf(context)).catch(() => undefined);
  return gate(message.model ?? own?.model ?? options.model, deliver);
}

/** Makes the signal that fires when a turn must be left, in time for its release. */
function endOf(context: LambdaContext): AbortSignal {
  return AbortSignal.timeout(Math.max(0, Math.floor(context.getRemainingTimeInMillis() - RESERVE_MS)));
}

async function deliverOne(
  { options, pool, message, context, onTaken, waitedMs }: MessageDelivery,
  watch: DeliveryWatch,
): Promise<Delivery> {
  const { tenant } = message;
  const functionMs = context.getRemainingTimeInMillis();
  const remainingMs = (): number => context.getRemainingTimeInMillis() - RESERVE_MS;
  const signal = endOf(context);
  try {
    // The credentials are asked for here, so that a refusal keeps its own code.
    const credentials = await credentialsOf(options.credentials, tenant, signal);
    const {
      memory,
      context: place,
      turn: own,
    } = await pool.open(tenant, { credentials, actor: turnActor(message.turn) }, { signal });
    try {
      const receipts = createReceipts(place);
      watch.onNamed({ turn: await receipts.nameOf(message.turn, { signal }) });
      const opened = await openPrompt(place, message, { signal });
      if (opened === 'refused') return PROMPT_REFUSED;
      const {
        tokensPerDay = options.tokensPerDay,
        maxTokens = options.maxTokens,
        model = options.model,
      } = own;
      const budget = tokensPerDay === undefined ? undefined : createTokenBudget(place, { tokensPerDay });
      let spent: TurnUsage = NO_USAGE;
      let reservation: TokenReservation | undefined;
      const leaseMs = functionMs + LEASE_MARGIN_MS;
      const delivery = await deliverTurn({
        message: opened,
        memory,
        receipts,
        conversations: createConversations(place),
        onSpent(usage, claudeRequestId) {
          spent = usage;
          watch.onSpent(usage, claudeRequestId);
        },
        holdBack:
          budget &&
          (async (tokens) => {
            const reserved = await budget.reserve(tokens, { leaseMs, signal });
            if ('heldBack' in reserved) return reserved.heldBack;
            reservation = reserved;
            return undefined;
          }),
        client: options.client,
        turn: {
          ...options.turnOptions,
          ...(own.system !== undefined && { system: own.system }),
          ...(own.effort !== undefined && { effort: own.effort }),
          model,
          ...(maxTokens !== undefined && { maxTokens }),
          ...listenersOf(options, message),
          // The queue waits better than a function that is paid for meanwhile.
          ...(waitedMs !== undefined && { maxRetries: 0 }),
          onCommand: watch.onCommand,
          onReply: (_reply, claudeRequestId) =>
            watch.onNamed({ ...(claudeRequestId && { claudeRequestId }) }),
        },
        signal,
        remainingMs,
        leaseMs,
        onTaken,
        log: watch.log,
      });
      await reservation
        ?.settle(spent, { signal: AbortSignal.timeout(COUNT_WITHIN_MS) })
        .catch((error: unknown) => {
          watch.log.warn('the tokens of a turn could not be counted', toldFailure(error));
        });
      if (delivery.state !== 'answered') return delivery;
      await reply(options, message, { ...delivery, leftMs: context.getRemainingTimeInMillis() });
      return { ...delivery, ...(message.answer && { form: message.answer }) };
    } finally {
      await memory.close();
    }
  } catch (error) {
    return failureOf(error, signal);
  }
}

/**
 * Says that the turn was answered, as long as the function runs.
 *
 * @throws MemoryError `unavailable` where no answer came; the error of the caller's replies.
 */
async function reply(
  { replies }: WorkerOptions,
  message: TurnMessage,
  { answer, leftMs }: { readonly answer: TurnAnswer; readonly leftMs: number },
): Promise<void> {
  const late = (): MemoryError => new MemoryError('unavailable', 'the reply could not be sent');
  await inTime(() => replies?.send(message, answer), { late, ms: Math.max(0, leftMs - CLOSE_WITHIN_MS) });
}
