import type { MessageAttributeValue, SQSClient } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { DAY_MS } from '../../time.ts';
import type { JsonLogger } from '../json-log.ts';
import type { Delivery, Later, NotAnswered } from '../turn/delivery.ts';
import type { LambdaContext } from './direct-handler.ts';
import { FIRST_SENT, groupsOf, isFifo, receivesOf, type Sending, sendingOf } from './queue-records.ts';
import { ask, loadSqs } from './replies.ts';

interface SqsHandlerOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  /** The URL of the queue whose messages arrive. */
  readonly queueUrl: string;
  /** The URL of its dead letters; absent: the queue's own attempts decide about messages that can never succeed. */
  readonly deadLetterUrl?: string | undefined;
  /** The URL of the dead letters of turns for which a root key stayed away that their tenant holds; `deadLetterUrl` unless given. */
  readonly customerDeadLetterUrl?: string | undefined;
  /** The time for which the queue keeps a message; four days by default, as SQS does. */
  readonly retentionSeconds?: number | undefined;
  /** Delivers the text of one message. Never rejects. */
  readonly deliver: (text: string, request: DeliverRequest) => Promise<Delivery>;
  readonly log: JsonLogger;
  /** Draws a number from 0 to below 1. */
  readonly random?: () => number;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
}

export interface DeliverRequest {
  readonly context: LambdaContext;
  /** Hides the message from other workers until the lease has ended; the work must call it when it takes the turn. */
  readonly onTaken: (leaseMs: number) => Promise<void>;
  /** The milliseconds since the message was first sent. */
  readonly waitedMs: number;
}

/** A message while this process has it. */
interface Received {
  readonly record: SQSRecord;
  readonly sending: Sending;
  readonly context: LambdaContext;
  /** Resolves when the queue was asked to hide the message while this function may run. */
  readonly hidden: Promise<void>;
  /** Hides the message from everybody, from now on. Requests for one message follow each other. */
  hide(seconds: number): Promise<void>;
}

/** The seconds that a message waits after each number of receives; the last one counts for all further. */
const PAUSES = [5, 30, 120, 600] as const;
const LONGEST_PAUSE_SECONDS = PAUSES[3];
/**
 * The pauses, as in `PAUSES`, of a turn that waits for another of its conversation: they spread many such turns, which
 * would otherwise all ask again at every turn's end.
 */
const BLOCKED_PAUSES = [5, 10, 20, 30] as const;
/** The most by which a pause is shortened, as a part of it, so that messages that failed together come back apart. */
const JITTER = 0.2;
/**
 * The receive at which a message is sent to its queue again: a message that a queue has handed out too often it moves
 * to the dead letters, without a reason. The attempts of its turn are counted in the store.
 */
const RENEWED_FROM = 5;
const FOUR_DAYS_SECONDS = 345_600;
const LONGEST_DELAY_SECONDS = 900;
/**
 * The pause of a message that will never succeed, in seconds, without a queue for dead letters: the message goes
 * through its attempts without delay.
 */
const FAILED_PAUSE_SECONDS = 1;
/** The seconds for which a message stays hidden beyond the lease of its turn, which stores tell in whole seconds. */
const BEYOND_LEASE_SECONDS = 5;
/**
 * The longest time for which a message can be hidden, in seconds: SQS gives it 12 hours from the receive on, of which a
 * function's time is a part.
 */
const LONGEST_VISIBILITY_SECONDS = 43_200 - 900;

/**
 * Makes the handler of a queue's messages. It answers which messages return to the queue; the others are done and
 * deleted. A message is hidden while this function may run, and one that returns becomes visible when a retry makes
 * sense. A message that can never succeed goes to the dead letters with its code, and is then done. The same holds for
 * one that was held up for as long as the queue keeps a message, less a day. Messages of one FIFO group keep their
 * order: after one that returns, the others of its group return too.
 */
export function createSqsHandler(
  options: SqsHandlerOptions,
): (event: SQSEvent, context: LambdaContext) => Promise<SQSBatchResponse> {
  return async ({ Records }, context) => {
    const { awsRequestId: requestId } = context;
    const log = options.log.with(requestId === undefined ? {} : { requestId });
    const own = { ...options, log };
    const groups = [...groupsOf(Records, options.queueUrl)].map((group) =>
      group.map((record) => receive(own, record, context)),
    );
    const returned = await Promise.all(groups.map((group) => deliverInOrder(own, group)));
    return { batchItemFailures: returned.flat().map((itemIdentifier) => ({ itemIdentifier })) };
  };
}

/** Hides the message until the function must have ended: if the worker dies, it comes back then. */
function receive(options: SqsHandlerOptions, record: SQSRecord, context: LambdaContext): Received {
  const sending = sendingOf(record, { nowMs: nowOf(options), longestMs: longestOf(options) });
  let changing = Promise.resolve();
  const hide = (seconds: number): Promise<void> => {
    changing = changing.then(() => changeVisibility(options, record, seconds));
    return changing;
  };
  const hidden = hide(context.getRemainingTimeInMillis() / 1_000 + BEYOND_LEASE_SECONDS);
  return { record, sending, context, hidden, hide };
}

function nowOf({ clock = Date.now }: SqsHandlerOptions): number {
  return clock();
}

/**
 * Answers how long a turn is tried after its first sending, in milliseconds: until a day before the queue drops a
 * message.
 */
function longestOf({ retentionSeconds = FOUR_DAYS_SECONDS }: SqsHandlerOptions): number {
  return retentionSeconds * 1_000 - DAY_MS;
}

/** Delivers the messages of a group in their order, and answers the ids of those that return to the queue. */
async function deliverInOrder(
  options: SqsHandlerOptions,
  group: readonly Received[],
): Promise<readonly string[]> {
  for (const [index, received] of group.entries()) {
    const { record, sending, context, hidden, hide } = received;
    const onTaken = (leaseMs: number): Promise<void> => hide(leaseMs / 1_000 + BEYOND_LEASE_SECONDS);
    const waitedMs = Math.max(0, nowOf(options) - sending.firstMs);
    const delivery = await options.deliver(record.body, { context, onTaken, waitedMs });
    await hidden;
    if (delivery.state === 'answered') continue;
    const seconds = await secondsUntilRetry(options, received, delivery);
    if (seconds === undefined) continue;
    // The others of the group are not received before this one, and must not wait longer than it either.
    const returned = group.slice(index);
    await Promise.all(returned.map((each) => each.hide(seconds)));
    return returned.map(({ record: { messageId } }) => messageId);
  }
  return [];
}

/**
 * Answers the seconds until the retry. Undefined: the message lies in the dead letters, or in the queue a second time,
 * and is done here.
 */
async function secondsUntilRetry(
  options: SqsHandlerOptions,
  received: Received,
  delivery: NotAnswered,
): Promise<number | undefined> {
  const { queueUrl, deadLetterUrl } = options;
  const { record, sending, context } = received;
  if (delivery.state === 'later') {
    const seconds = pauseOf(options, received, delivery);
    const isOver = nowOf(options) - sending.firstMs >= longestOf(options);
    if (!isOver) {
      // In a FIFO queue a renewed message would come after all others of its group.
      if (isFifo(queueUrl) || receivesOf(record) < RENEWED_FROM) return seconds;
      const firstSent = { DataType: 'Number', StringValue: String(sending.firstMs) };
      const isSent = await send(options, {
        to: queueUrl,
        record,
        seconds,
        attributes: { [FIRST_SENT]: firstSent },
      });
      return isSent ? undefined : seconds;
    }
    if (deadLetterUrl === undefined) return seconds;
    const { code, keyHolder, turn } = delivery;
    options.log[keyHolder === undefined ? 'error' : 'warn']('a turn is not tried any more', {
      code,
      ...(keyHolder && { keyHolder }),
      ...(turn !== undefined && { turn }),
    });
  }
  if (deadLetterUrl === undefined) return FAILED_PAUSE_SECONDS;
  const keyHolder = delivery.state === 'later' ? delivery.keyHolder : undefined;
  const told = { code: delivery.code, keyHolder, turn: delivery.turn, requestId: context.awsRequestId };
  const attributes = Object.fromEntries(
    Object.entries(told).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, { DataType: 'String', StringValue: value }]],
    ),
  );
  const to = (keyHolder && options.customerDeadLetterUrl) ?? deadLetterUrl;
  const isBuried = await send(options, { to, record, attributes });
  return isBuried ? undefined : backoff(options, record);
}

function pauseOf(options: SqsHandlerOptions, { record, sending }: Received, delivery: Later): number {
  const { afterSeconds, agoSeconds = 0, isExact, isBlocked, isCondition } = delivery;
  if (isExact) return afterSeconds;
  // Each receive counts in a FIFO queue, so a turn waits for its conversation there as for anything else.
  if (isBlocked && !isFifo(options.queueUrl))
    return Math.max(afterSeconds, backoff(options, record, BLOCKED_PAUSES));
  // A turn that was held up until it was sent on keeps the longest pause, instead of beginning with short ones again.
  const pauses = isCondition && sending.isSentOn ? PAUSES.slice(-1) : PAUSES;
  const longest = Math.max(afterSeconds, LONGEST_PAUSE_SECONDS) - agoSeconds;
  return Math.min(longest, Math.max(afterSeconds, backoff(options, record, pauses)));
}

function backoff(
  { random = Math.random }: SqsHandlerOptions,
  record: SQSRecord,
  pauses: readonly number[] = PAUSES,
): number {
  const seconds = pauses[Math.min(receivesOf(record), pauses.length) - 1] ?? PAUSES[0];
  return seconds * (1 - JITTER * random());
}

/**
 * Sends a message on, and tells whether another queue has it. The message is there twice when this process ends before
 * it is deleted here.
 */
async function send(
  { sqs, queueUrl, log }: SqsHandlerOptions,
  given: {
    readonly to: string;
    readonly record: SQSRecord;
    readonly attributes: Record<string, MessageAttributeValue>;
    readonly seconds?: number;
  },
): Promise<boolean> {
  const { to, record, attributes, seconds = 0 } = given;
  const { SendMessageCommand } = await loadSqs();
  const { MessageGroupId } = record.attributes;
  const command = new SendMessageCommand({
    QueueUrl: to,
    MessageBody: record.body,
    MessageAttributes: attributes,
    ...(MessageGroupId !== undefined && { MessageGroupId }),
    ...(isFifo(queueUrl)
      ? { MessageDeduplicationId: record.messageId }
      : { DelaySeconds: Math.min(LONGEST_DELAY_SECONDS, Math.ceil(seconds)) }),
  });
  return ask((within) => sqs.send(command, within)).then(
    () => true,
    (error: unknown) => {
      log.warn('a message could not be sent on', { code: nameOf(error) });
      return false;
    },
  );
}

/**
 * Hides a message for a time. When this fails, which the log says, the message becomes visible at the end of the
 * queue's own timeout.
 */
async function changeVisibility(
  { sqs, queueUrl, log }: SqsHandlerOptions,
  { receiptHandle }: SQSRecord,
  seconds: number,
): Promise<void> {
  try {
    const { ChangeMessageVisibilityCommand } = await loadSqs();
    const command = new ChangeMessageVisibilityCommand({
      QueueUrl: queueUrl,
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: Math.min(LONGEST_VISIBILITY_SECONDS, Math.max(0, Math.ceil(seconds))),
    });
    await ask((within) => sqs.send(command, within));
  } catch (error) {
    log.warn('the visibility of a message could not be changed', { code: nameOf(error) });
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unexpected';
}
