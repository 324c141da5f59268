import type { SQSClient } from '@aws-sdk/client-sqs';
import type {
  Context,
  LambdaFunctionURLEvent,
  LambdaFunctionURLResult,
  SQSBatchResponse,
  SQSEvent,
  SQSRecord,
} from 'aws-lambda';
import { fromBase64 } from '../format/encoding.ts';
import type { Delivery } from './deliver-turn.ts';
import type { JsonLog } from './json-log.ts';
import { loadSqs } from './replies.ts';
import type { TurnAnswer } from './turn-answer.ts';

/**
 * What a state machine catches: `error.name` is `TurnLater` or `TurnFailed`, the message is the code alone.
 */
export class TurnNotAnswered extends Error {
  override readonly name: 'TurnLater' | 'TurnFailed';

  constructor({ state, code }: Exclude<Delivery, { readonly state: 'answered' }>) {
    super(code);
    this.name = state === 'later' ? 'TurnLater' : 'TurnFailed';
  }
}

/**
 * For callers that wait for the answer: a function URL, which must be guarded by IAM because it takes the tenant from
 * the message, or Step Functions and `Invoke`, where the event is the message.
 */
export function createDirectHandler({
  deliver,
}: {
  /** Delivers one message, as JSON text or as the value itself. Never rejects. */
  readonly deliver: (message: unknown, context: LambdaTime) => Promise<Delivery>;
}): (event: unknown, context: LambdaTime) => Promise<TurnAnswer | LambdaFunctionURLResult> {
  return async (event, context) => {
    if (isUrlEvent(event)) return httpAnswer(await deliver(bodyOf(event), context));
    const delivery = await deliver(event, context);
    if (delivery.state !== 'answered') throw new TurnNotAnswered(delivery);
    return delivery.answer;
  };
}

function isUrlEvent(event: unknown): event is LambdaFunctionURLEvent {
  return typeof event === 'object' && event !== null && 'requestContext' in event;
}

function bodyOf({ body = '', isBase64Encoded }: LambdaFunctionURLEvent): string {
  return isBase64Encoded ? new TextDecoder().decode(fromBase64(body)) : body;
}

const STATUS: Readonly<Record<string, number>> = {
  invalid_command: 400,
  limit_exceeded: 413,
  access_denied: 403,
  running: 409,
};

function httpAnswer(delivery: Delivery): LambdaFunctionURLResult {
  const headers = { 'content-type': 'application/json' };
  switch (delivery.state) {
    case 'answered':
      return { statusCode: 200, headers, body: JSON.stringify(delivery.answer) };
    case 'later':
      return {
        statusCode: STATUS[delivery.code] ?? 503,
        headers: { ...headers, 'retry-after': String(delivery.afterSeconds) },
        body: JSON.stringify({ code: delivery.code }),
      };
    case 'failed':
      return {
        statusCode: STATUS[delivery.code] ?? 500,
        headers,
        body: JSON.stringify({ code: delivery.code }),
      };
  }
}

interface SqsHandlerOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  /** Of the queue whose messages arrive. */
  readonly queueUrl: string;
  /** Delivers the text of one message. Never rejects. */
  readonly deliver: (text: string, context: LambdaTime) => Promise<Delivery>;
  readonly log: JsonLog;
}

/** What Lambda tells about the time that is left. */
export type LambdaTime = Pick<Context, 'getRemainingTimeInMillis'>;

/** A message that will never succeed goes through its attempts, and so to the dead letters, without delay. */
const FAILED_PAUSE_SECONDS = 1;
const LONGEST_VISIBILITY_SECONDS = 43_200;

/**
 * Answers which messages return to the queue; the others are done and deleted. A message that returns becomes visible
 * when a retry makes sense. Messages of one FIFO group keep their order: behind one that returns, the others of its
 * group return too.
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
    const delivery = await options.deliver(record.body, context);
    if (delivery.state === 'answered') continue;
    const seconds = delivery.state === 'later' ? delivery.afterSeconds : FAILED_PAUSE_SECONDS;
    await makeVisible(options, record, seconds);
    return group.slice(index).map(({ messageId }) => messageId);
  }
  return [];
}

/** When this fails the message becomes visible at the end of the queue's own timeout. */
async function makeVisible(
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
    const code = error instanceof Error ? error.name : 'unexpected';
    log.warn('the visibility of a message could not be changed', { code });
  });
}

/** Messages without a group stand alone. */
function groupsOf(records: readonly SQSRecord[]): Iterable<readonly SQSRecord[]> {
  const groups = new Map<string, SQSRecord[]>();
  for (const record of records) {
    const group = record.attributes.MessageGroupId;
    const name = group === undefined ? `message ${record.messageId}` : `group ${group}`;
    groups.set(name, [...(groups.get(name) ?? []), record]);
  }
  return groups.values();
}
