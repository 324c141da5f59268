import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSRecord } from 'aws-lambda';
import type { InvokedFunction } from './local-function.ts';

export interface EventSourceOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  readonly queueUrl: string;
  readonly queueArn: string;
  readonly region: string;
  readonly target: Pick<InvokedFunction, 'invoke'>;
  /** The most messages of one event, 1–10. */
  readonly batchSize: number;
  /** The most events at the same time. */
  readonly maxConcurrency: number;
  /** Hears of an error outside the function; the source goes on. */
  readonly onError: (error: unknown) => void;
}

/** The pause after a queue that was empty, which grows from look to look: a queue that stays empty costs little. */
const PAUSE_MS = { first: 100, last: 800 } as const;
const PAUSE_AFTER_ERROR_MS = 1_000;

/**
 * Does the work of Lambda between a queue and a function, with `ReportBatchItemFailures`: receives messages, invokes,
 * and deletes those that the function did not return. A function that fails keeps them all in the queue.
 */
export function startEventSource(options: EventSourceOptions): AsyncDisposable {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const poll = async (): Promise<void> => {
    let pauseMs: number = PAUSE_MS.first;
    while (!stopping.signal.aborted) {
      if (running.size >= options.maxConcurrency) {
        await Promise.race(running);
        continue;
      }
      const messages = await receive(options, stopping.signal).catch((error: unknown) => {
        if (!stopping.signal.aborted) options.onError(error);
        return undefined;
      });
      if (messages === undefined) await pause(PAUSE_AFTER_ERROR_MS, stopping.signal);
      else if (messages.length === 0) {
        await pause(pauseMs, stopping.signal);
        pauseMs = Math.min(2 * pauseMs, PAUSE_MS.last);
      } else {
        pauseMs = PAUSE_MS.first;
        const work = deliver(options, messages).catch(options.onError);
        running.add(work);
        void work.finally(() => running.delete(work));
      }
    }
  };
  const ended = poll();
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await ended;
      await Promise.all(running);
    },
  };
}

async function receive(
  { sqs, queueUrl, batchSize }: EventSourceOptions,
  abortSignal: AbortSignal,
): Promise<readonly Message[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: queueUrl,
    MaxNumberOfMessages: batchSize,
    WaitTimeSeconds: 0,
    MessageSystemAttributeNames: ['All'],
    MessageAttributeNames: ['All'],
  });
  const { Messages = [] } = await sqs.send(command, { abortSignal });
  return Messages;
}

async function deliver(options: EventSourceOptions, messages: readonly Message[]): Promise<void> {
  const { sqs, queueUrl, target } = options;
  const event: SQSEvent = { Records: messages.map((message) => recordOf(options, message)) };
  const given = await target.invoke(event).then(readFailures, () => undefined);
  const isDone = ({ MessageId = '' }: Message): boolean => given !== undefined && !given.has(MessageId);
  const Entries = messages
    .filter(isDone)
    .map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
  if (Entries.length > 0) await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
}

/**
 * Reads the ids of the messages that return to the queue; undefined, for every message, when Lambda would not
 * understand the answer.
 */
function readFailures(answer: unknown): ReadonlySet<string> | undefined {
  if (answer === null || answer === undefined) return new Set();
  const { batchItemFailures } = answer as { readonly batchItemFailures?: unknown };
  if (batchItemFailures === null || batchItemFailures === undefined) return new Set();
  if (!Array.isArray(batchItemFailures)) return undefined;
  const ids = batchItemFailures.map(
    (failure: { readonly itemIdentifier?: unknown }) => failure?.itemIdentifier,
  );
  const areIds = ids.every((id) => typeof id === 'string' && id !== '');
  return areIds ? new Set(ids as readonly string[]) : undefined;
}

function recordOf({ queueArn, region }: EventSourceOptions, message: Message): SQSRecord {
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    attributes: (message.Attributes ?? {}) as unknown as SQSRecord['attributes'],
    messageAttributes: attributesOf(message),
    md5OfBody: message.MD5OfBody ?? '',
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn,
    awsRegion: region,
  };
}

/** Writes the members of an attribute as Lambda does, which differs from SQS. */
function attributesOf({ MessageAttributes = {} }: Message): SQSRecord['messageAttributes'] {
  return Object.fromEntries(
    Object.entries(MessageAttributes).map(([name, { StringValue, DataType = '' }]) => [
      name,
      {
        ...(StringValue !== undefined && { stringValue: StringValue }),
        stringListValues: [],
        binaryListValues: [],
        dataType: DataType,
      },
    ]),
  );
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => {});
}
