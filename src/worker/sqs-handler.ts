import type { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { LambdaTime } from './direct-handler.ts';
import type { JsonLog } from './json-log.ts';
import { groupsOf, isFifo, receivesOf } from './queue-records.ts';
import { loadSqs, within } from './replies.ts';
import type { Delivery } from './turn-verdict.ts';

interface SqsHandlerOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  /** Of the queue whose messages arrive. */
  readonly queueUrl: string;
  /** Of its dead letters; absent: what can never succeed is left to the queue's own attempts. */
  readonly deadLetterUrl?: string | undefined;
  /** Delivers the text of one message. Never rejects. */
  readonly deliver: (text: string, request: DeliverRequest) => Promise<Delivery>;
  readonly log: JsonLog;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

export interface DeliverRequest {
  readonly context: LambdaTime;
  /** To be called when the turn is taken: no other worker is shown the message before the lease has ended. */
  readonly onTaken: (leaseMs: number) => Promise<void>;
}

type Delayed = Extract<Delivery, { readonly state: 'later' }>;

/** Seconds that a message waits when it was received so often; the last one counts for all further. */
const PAUSES = [5, 30, 120, 600] as const;
/** The same of a turn that waits for another of its conversation: many of them do not all ask again at every turn's end. */
const BLOCKED_PAUSES = [5, 10, 20, 30] as const;
/** Pauses are shortened by up to this part of them, so that what failed together does not come back together. */
const JITTER = 0.2;
/** A turn that comes further, or waits for another, is sent to its queue again after so many attempts, so that they do not run out. */
const RENEWED_FROM = 5;
const LONGEST_DELAY_SECONDS = 900;
/** Without a queue for dead letters: a message that will never succeed goes through its attempts without delay. */
const FAILED_PAUSE_SECONDS = 1;
/** A message stays hidden so much longer than the lease of its turn, which stores tell in whole seconds. */
const BEYOND_LEASE_SECONDS = 5;
/** Of SQS 12 hours since the message was received, which a function's time is part of. */
const LONGEST_VISIBILITY_SECONDS = 43_200 - 900;

/**
 * Answers which messages return to the queue; the others are done and deleted. A message that returns becomes visible
 * when a retry makes sense. What can never succeed is sent to the dead letters first, and is done then. Messages of one
 * FIFO group keep their order: behind one that returns, the others of its group return too.
 */
export function createSqsHandler(
  options: SqsHandlerOptions,
): (event: SQSEvent, context: LambdaTime) => Promise<SQSBatchResponse> {
  return async ({ Records }, context) => {
    const { awsRequestId: requestId } = context;
    const log = options.log.with(requestId === undefined ? {} : { requestId });
    const groups = [...groupsOf(Records, options.queueUrl)];
    const returned = await Promise.all(
      groups.map((group) => deliverInOrder({ ...options, log }, group, context)),
    );
    return { batchItemFailures: returned.flat().map((itemIdentifier) => ({ itemIdentifier })) };
  };
}

/** Ids of the messages that return to the queue. */
async function deliverInOrder(
  options: SqsHandlerOptions,
  group: readonly SQSRecord[],
  context: LambdaTime,
): Promise<readonly string[]> {
  for (const [index, record] of group.entries()) {
    const onTaken = (leaseMs: number): Promise<void> =>
      hide(options, record, leaseMs / 1_000 + BEYOND_LEASE_SECONDS);
    const delivery = await options.deliver(record.body, { context, onTaken });
    if (delivery.state === 'answered') continue;
    const seconds = await secondsUntilRetry(options, { record, delivery, context });
    if (seconds === undefined) continue;
    // The others of the group are not received before this one, and must not wait longer than it either.
    const returned = group.slice(index);
    await Promise.all(returned.map((each) => hide(options, each, seconds)));
    return returned.map(({ messageId }) => messageId);
  }
  return [];
}

/** Undefined: the message lies in the dead letters, or in the queue a second time, and is done here. */
async function secondsUntilRetry(
  options: SqsHandlerOptions,
  {
    record,
    delivery,
    context,
  }: {
    readonly record: SQSRecord;
    readonly delivery: Exclude<Delivery, { readonly state: 'answered' }>;
    readonly context: LambdaTime;
  },
): Promise<number | undefined> {
  const { queueUrl, deadLetterUrl } = options;
  const { code } = delivery;
  if (delivery.state === 'later') {
    const seconds = pauseOf(options, record, delivery);
    // A sent message has its attempts before it. In a FIFO queue it would stand behind its group.
    const isNoAttempt = delivery.hasProgress || delivery.isBlocked;
    const isRenewed = isNoAttempt && receivesOf(record) >= RENEWED_FROM && !isFifo(queueUrl);
    return isRenewed && (await send(options, { to: queueUrl, record, seconds })) ? undefined : seconds;
  }
  if (deadLetterUrl === undefined) return FAILED_PAUSE_SECONDS;
  const attributes = { code, turn: delivery.turn, requestId: context.awsRequestId };
  const isBuried = await send(options, { to: deadLetterUrl, record, attributes });
  return isBuried ? undefined : backoff(options, record);
}

function pauseOf(options: SqsHandlerOptions, record: SQSRecord, delivery: Delayed): number {
  const { afterSeconds, isExact, isBlocked } = delivery;
  if (isExact) return afterSeconds;
  // In a FIFO queue it uses up attempts to wait, so its pauses grow as those of a failure.
  const pauses = isBlocked && !isFifo(options.queueUrl) ? BLOCKED_PAUSES : PAUSES;
  return Math.max(afterSeconds, backoff(options, record, pauses));
}

function backoff(
  { random = Math.random }: SqsHandlerOptions,
  record: SQSRecord,
  pauses: readonly number[] = PAUSES,
): number {
  const seconds = pauses[Math.min(receivesOf(record), pauses.length) - 1] ?? PAUSES[0];
  return seconds * (1 - JITTER * random());
}

/** Whether another queue has the message. It has it twice when this process ends before the message is deleted here. */
async function send(
  { sqs, queueUrl, log }: SqsHandlerOptions,
  given: {
    readonly to: string;
    readonly record: SQSRecord;
    readonly attributes?: Readonly<Record<string, string | undefined>>;
    readonly seconds?: number;
  },
): Promise<boolean> {
  const { to, record, attributes = {}, seconds = 0 } = given;
  const { SendMessageCommand } = await loadSqs();
  const { MessageGroupId } = record.attributes;
  const command = new SendMessageCommand({
    QueueUrl: to,
    MessageBody: record.body,
    MessageAttributes: Object.fromEntries(
      Object.entries(attributes).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, { DataType: 'String', StringValue: value }]],
      ),
    ),
    ...(MessageGroupId !== undefined && { MessageGroupId }),
    ...(isFifo(queueUrl)
      ? { MessageDeduplicationId: record.messageId }
      : { DelaySeconds: Math.min(LONGEST_DELAY_SECONDS, Math.ceil(seconds)) }),
  });
  return sqs.send(command, within()).then(
    () => true,
    (error: unknown) => {
      log.warn('a message could not be sent on', { code: nameOf(error) });
      return false;
    },
  );
}

/** When this fails the message becomes visible at the end of the queue's own timeout. */
async function hide(
  { sqs, queueUrl, log }: SqsHandlerOptions,
  { receiptHandle }: SQSRecord,
  seconds: number,
): Promise<void> {
  const { ChangeMessageVisibilityCommand } = await loadSqs();
  const command = new ChangeMessageVisibilityCommand({
    QueueUrl: queueUrl,
    ReceiptHandle: receiptHandle,
    VisibilityTimeout: Math.min(LONGEST_VISIBILITY_SECONDS, Math.max(0, Math.ceil(seconds))),
  });
  await sqs.send(command, within()).catch((error: unknown) => {
    log.warn('the visibility of a message could not be changed', { code: nameOf(error) });
  });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unexpected';
}
