import type { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { Delivery } from './deliver-turn.ts';
import type { LambdaTime } from './direct-handler.ts';
import type { JsonLog } from './json-log.ts';
import { groupsOf, isFifo, receivesOf } from './queue-records.ts';
import { loadSqs } from './replies.ts';

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
/** Pauses are shortened by up to this part of them, so that what failed together does not come back together. */
const JITTER = 0.2;
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
    const groups = [...groupsOf(Records)];
    const returned = await Promise.all(groups.map((group) => deliverInOrder(options, group, context)));
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

/** Undefined: the message lies in the dead letters, and is done here. */
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
  if (delivery.state === 'later') return pauseOf(options, record, delivery);
  if (options.deadLetterUrl === undefined) return FAILED_PAUSE_SECONDS;
  const isBuried = await bury(options, options.deadLetterUrl, { record, code: delivery.code, context });
  return isBuried ? undefined : backoff(options, record);
}

function pauseOf(options: SqsHandlerOptions, record: SQSRecord, { afterSeconds, isExact }: Delayed): number {
  return isExact ? afterSeconds : Math.max(afterSeconds, backoff(options, record));
}

function backoff({ random = Math.random }: SqsHandlerOptions, record: SQSRecord): number {
  const seconds = PAUSES[Math.min(receivesOf(record), PAUSES.length) - 1] ?? PAUSES[0];
  return seconds * (1 - JITTER * random());
}

/** Whether the message lies in the dead letters. It may lie there twice when this process ends before it is deleted. */
async function bury(
  { sqs, queueUrl, log }: SqsHandlerOptions,
  deadLetterUrl: string,
  {
    record,
    code,
    context,
  }: { readonly record: SQSRecord; readonly code: string; readonly context: LambdaTime },
): Promise<boolean> {
  const { SendMessageCommand } = await loadSqs();
  const attributes = { code, requestId: context.awsRequestId };
  const { MessageGroupId } = record.attributes;
  const command = new SendMessageCommand({
    QueueUrl: deadLetterUrl,
    MessageBody: record.body,
    MessageAttributes: Object.fromEntries(
      Object.entries(attributes).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, { DataType: 'String', StringValue: value }]],
      ),
    ),
    ...(isFifo(queueUrl) && {
      MessageGroupId: MessageGroupId ?? record.messageId,
      MessageDeduplicationId: record.messageId,
    }),
  });
  return sqs.send(command).then(
    () => true,
    (error: unknown) => {
      log.warn('a message could not be sent to the dead letters', { code: nameOf(error) });
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
  await sqs.send(command).catch((error: unknown) => {
    log.warn('the visibility of a message could not be changed', { code: nameOf(error) });
  });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unexpected';
}
