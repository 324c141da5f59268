import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { asksNothing, MAX_TOKENS, runTurn } from '../../agent/run-turn.ts';
import { NO_USAGE, type TurnOutcome, type TurnUsage } from '../../agent/turn-outcome.ts';
import type { MessagesClient, TurnRequest } from '../../agent/turn-request.ts';
import { MemoryError } from '../../errors.ts';
import { inTime, throwIfAborted } from '../../time.ts';
import type { Memory } from '../../tool/memory-tool.ts';
import { encodeFields } from '../../tree/records/sealed-record.ts';
import { type JsonLogger, toldFailure } from '../json-log.ts';
import { type Delivery, KEY_REFUSED, NO_CLIENT } from './delivery.ts';
import type { TurnBasis } from './turn-basis.ts';
import type { TurnMessage } from './turn-message.ts';
import type { DeliveryProgress } from './turn-progress.ts';

/** The means to ask Claude, besides the conversation. */
export interface AskRequest {
  readonly message: TurnMessage;
  readonly memory: Pick<Memory, 'execute'>;
  /** Gives Claude's client; called with one whose key was refused, it gives another one where there is a new key. */
  readonly client: (refused?: MessagesClient) => Promise<MessagesClient>;
  /** The parameters of a turn besides the message: the model and its limits. */
  readonly turn: Omit<
    TurnRequest,
    'client' | 'memory' | 'messages' | 'digest' | 'signal' | 'from' | 'onStep'
  >;
  /**
   * Runs before Claude is asked, with the most tokens that the next reply is reckoned to take: a delivery that it answers
   * holds the turn back.
   */
  readonly holdBack?: ((tokens: number) => Promise<Delivery | undefined>) | undefined;
  /** Ends the turn, in time to leave it to the next delivery. */
  readonly signal: AbortSignal;
  /**
   * Hears once the usage of this delivery, however it ended, when Claude was asked; and the API's id of a request that
   * it refused.
   */
  readonly onSpent?: (usage: TurnUsage, claudeRequestId: string | undefined) => void;
  readonly log: JsonLogger;
}

/** The bytes of a token of English, by the API's documentation. */
const BYTES_PER_TOKEN = 4;

/** Asks Claude; where the API refuses the key, once more with another one. */
export async function askClaude(
  request: AskRequest,
  { basis, progress }: { readonly basis: TurnBasis; readonly progress: DeliveryProgress },
): Promise<TurnOutcome | Delivery> {
  const { message, memory, turn, signal, log } = request;
  const before = progress.latest?.usage ?? NO_USAGE;
  const clientFor = async (refused?: MessagesClient): Promise<MessagesClient | undefined> => {
    const late = (): MemoryError => new MemoryError('timeout', 'no client of Claude was given in time');
    try {
      const client = await inTime(() => request.client(refused), { signal, late });
      if (typeof client.beta.messages.toolRunner === 'function') return client;
      throw new MemoryError('misconfigured', 'what was given is no client of Claude');
    } catch (error) {
      log.error('there is no client of Claude', toldFailure(error));
      throwIfAborted(signal);
      return undefined;
    }
  };
  const run = (client: MessagesClient): Promise<TurnOutcome> =>
    runTurn({
      ...turn,
      client,
      memory,
      messages: basis.messages,
      digest: message.digest ?? basis.digest,
      signal,
      onStep: (step) => progress.onStep(step),
      ...(progress.latest !== undefined && { resumeFrom: progress.latest }),
      ...(message.system !== undefined && { system: message.system }),
      ...(message.model !== undefined && { model: message.model }),
      ...(message.maxTokens !== undefined && { maxTokens: message.maxTokens }),
    });
  const { latest } = progress;
  const held = asksNothing(turn, latest)
    ? undefined
    : await request.holdBack?.(reckon(request, latest?.messages ?? basis.messages));
  if (held !== undefined) return held;
  const client = await clientFor();
  if (client === undefined) return NO_CLIENT;
  let outcome = await run(client);
  if (outcome.outcome === 'failed' && KEY_REFUSED.has(outcome.code)) {
    const renewed = await clientFor(client);
    if (renewed !== undefined && renewed !== client) outcome = await run(renewed);
  }
  const refused = outcome.outcome === 'failed' ? outcome.requestId : undefined;
  const { code, requestId } = outcome.compactionFailure ?? {};
  if (code !== undefined)
    log.warn('a conversation could not be summarised', { code, claudeRequestId: requestId });
  request.onSpent?.(difference(outcome.usage, before), refused);
  return outcome;
}

/**
 * Reckons the tokens of one reply: as many as it may have, and one for every four bytes that Claude reads.
 */
function reckon({ message, turn }: AskRequest, messages: readonly BetaMessageParam[]): number {
  const { maxTokens = turn.maxTokens ?? MAX_TOKENS, system = turn.system } = message;
  return maxTokens + Math.ceil(encodeFields({ system, messages }).length / BYTES_PER_TOKEN);
}

function difference(usage: TurnUsage, before: TurnUsage): TurnUsage {
  const names = Object.keys(usage) as (keyof TurnUsage)[];
  return Object.fromEntries(names.map((name) => [name, usage[name] - before[name]])) as unknown as TurnUsage;
}
