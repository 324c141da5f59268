import {
  ChangeMessageVisibilityCommand,
  SendMessageCommand,
  type SendMessageCommandInput,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { timeOf } from '../../../infra/local/lambda/local-worker.ts';
import type { LambdaContext } from '../../../src/worker/index.ts';

/** A message that a queue took, and the second of the queue's own clock at which it took it. */
interface Taken {
  readonly at: number;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string | undefined>>;
  readonly input: SendMessageCommandInput | undefined;
}

/** Queues of SQS, for turns, dead letters, those of customers and replies, on a clock that jumps to where something happens next. */
export interface FastQueue {
  readonly sqs: Pick<SQSClient, 'send'>;
  readonly url: string;
  readonly deadLetterUrl: string;
  readonly customerDeadLetterUrl: string;
  readonly replyUrl: string;
  /** Seconds. */
  now(): number;
  readonly deadLetters: readonly Taken[];
  readonly customerDeadLetters: readonly Taken[];
  readonly replies: readonly Taken[];
  /** Seconds at which each receive happened, by body. */
  readonly receives: ReadonlyMap<string, readonly number[]>;
  /** Messages that the queue itself dropped, because they were there for longer than it keeps them. */
  readonly dropped: readonly Taken[];
  put(message: unknown, group?: string, attributes?: SendMessageCommandInput['MessageAttributes']): void;
  /**
   * Delivers one message an event, until none is left or `until` is past, in seconds. A handler that rejects gives
   * nothing back.
   */
  run(handler: Handler, until: number, contextOf?: () => LambdaContext): Promise<void>;
  /** The next so many deletes are lost. */
  loseDeletes(count: number): void;
  /** Sets the error with which the queue of dead letters refuses a message. */
  refuseDeadLetters(error: Error | undefined): void;
}

type Handler = (event: SQSEvent, context: LambdaContext) => Promise<SQSBatchResponse>;

interface Message {
  readonly id: string;
  readonly body: string;
  readonly group: string | undefined;
  readonly attributes: SendMessageCommandInput['MessageAttributes'];
  readonly sentAt: number;
  visibleAt: number;
  receivedAt: number;
  receives: number;
}

const VISIBILITY_SECONDS = 1_800;
const LONGEST_VISIBILITY_SECONDS = 43_200;

/**
 * It refuses what SQS refuses: a delay above 15 min, or any in a FIFO queue, a visibility beyond 12 hours from the
 * receive, one of a message that is not in flight, and attributes that are none.
 */
export function createFastQueue({
  fifo = false,
  maxReceiveCount = fifo ? 1_000 : 20,
  retentionSeconds = 345_600,
  startMs = Date.UTC(2026, 0, 1),
  onTime = () => {},
}: {
  readonly fifo?: boolean;
  readonly maxReceiveCount?: number;
  readonly retentionSeconds?: number;
  /** When the queue's clock is at 0, in milliseconds since the epoch. */
  readonly startMs?: number;
  /** Hears each time to which the clock jumps, in milliseconds since the epoch. */
  readonly onTime?: (ms: number) => void;
} = {}): FastQueue {
  const suffix = fifo ? '.fifo' : '';
  const urlOf = (name: string): string => `https://queue.example/${name}`;
  const [url, deadLetterUrl, customerDeadLetterUrl] = ['turns', 'dead', 'customers'].map((name) =>
    urlOf(`${name}${suffix}`),
  ) as [string, string, string];
  const replyUrl = urlOf('replies');
  const messages: Message[] = [];
  const deadLetters: Taken[] = [];
  const customerDeadLetters: Taken[] = [];
  const replies: Taken[] = [];
  const dropped: Taken[] = [];
  const receives = new Map<string, number[]>();
  let [now, sent, lost] = [0, 0, 0];
  let refusal: Error | undefined;

  const put = (body: string, given: Partial<Pick<Message, 'group' | 'attributes' | 'visibleAt'>>): void => {
    const { group, attributes, visibleAt = now } = given;
    const id = `m${sent++}`;
    messages.push({ id, body, group, attributes, sentAt: now, visibleAt, receivedAt: 0, receives: 0 });
  };
  const send = async (command: unknown): Promise<unknown> => {
    if (command instanceof ChangeMessageVisibilityCommand) {
      const { ReceiptHandle, VisibilityTimeout = 0 } = command.input;
      const message = messages.find(({ id, receives: count }) => ReceiptHandle === `${id}/${count}`);
      if (message === undefined || message.visibleAt <= now) throw refused('MessageNotInflight');
      const until = now + VisibilityTimeout;
      const isTooLate = until > message.receivedAt + LONGEST_VISIBILITY_SECONDS;
      if (!isSeconds(VisibilityTimeout, LONGEST_VISIBILITY_SECONDS) || isTooLate) {
        throw refused('InvalidParameterValue');
      }
      message.visibleAt = until;
      return {};
    }
    if (!(command instanceof SendMessageCommand)) throw new Error('unexpected command');
    const { input } = command;
    checkSent(input);
    const { QueueUrl, MessageBody: body = '', MessageAttributes: attributes, DelaySeconds = 0 } = input;
    if (QueueUrl === url) {
      put(body, { group: input.MessageGroupId, attributes, visibleAt: now + DelaySeconds });
    } else if (QueueUrl === deadLetterUrl && refusal !== undefined) throw refusal;
    else {
      const buried = QueueUrl === deadLetterUrl ? deadLetters : customerDeadLetters;
      (QueueUrl === replyUrl ? replies : buried).push({ at: now, body, ...readable(input), input });
    }
    return {};
  };
  const isFree = (message: Message, index: number): boolean =>
    !fifo || !messages.slice(0, index).some(({ group }) => group === message.group);
  const nextOne = (): Message | undefined =>
    messages.filter(isFree).reduce<Message | undefined>((first, message) => {
      return first === undefined || message.visibleAt < first.visibleAt ? message : first;
    }, undefined);
  const remove = (message: Message): void => void messages.splice(messages.indexOf(message), 1);

  return {
    url,
    deadLetterUrl,
    customerDeadLetterUrl,
    replyUrl,
    deadLetters,
    customerDeadLetters,
    replies,
    receives,
    dropped,
    sqs: { send } as unknown as Pick<SQSClient, 'send'>,
    now: () => now,
    put(message, group, attributes) {
      put(typeof message === 'string' ? message : JSON.stringify(message), { group, attributes });
    },
    loseDeletes(count) {
      lost = count;
    },
    refuseDeadLetters(error) {
      refusal = error;
    },
    async run(handler, until, contextOf = () => timeOf(60_000)) {
      for (let next = nextOne(); next !== undefined && next.visibleAt <= until; next = nextOne()) {
        now = Math.max(now, next.visibleAt);
        onTime(startMs + now * 1_000);
        if (now - next.sentAt > retentionSeconds) {
          remove(next);
          dropped.push({ at: now, body: next.body, attributes: {}, input: undefined });
          continue;
        }
        next.receives++;
        next.receivedAt = now;
        receives.set(next.body, [...(receives.get(next.body) ?? []), now]);
        if (next.receives > maxReceiveCount) {
          remove(next);
          const { attributes: MessageAttributes } = next;
          deadLetters.push({
            at: now,
            body: next.body,
            ...readable({ MessageAttributes }),
            input: undefined,
          });
          continue;
        }
        next.visibleAt = now + VISIBILITY_SECONDS;
        const event = { Records: [recordOf(next, startMs)] };
        const { batchItemFailures } = await handler(event, contextOf()).catch(() => ({
          batchItemFailures: [{ itemIdentifier: next?.id }],
        }));
        const isDone = !batchItemFailures.some(({ itemIdentifier }) => itemIdentifier === next?.id);
        if (isDone && lost > 0) lost--;
        else if (isDone) remove(next);
      }
    },
  };
}

function refused(name: string): Error {
  return Object.assign(new Error(name), { name });
}

function isSeconds(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= most;
}

function checkSent({
  QueueUrl,
  DelaySeconds,
  MessageAttributes = {},
  ...input
}: SendMessageCommandInput): void {
  const isOrdered = QueueUrl?.endsWith('.fifo') === true;
  const isDelay = DelaySeconds === undefined || (!isOrdered && isSeconds(DelaySeconds, 900));
  const isNamed =
    !isOrdered || (input.MessageGroupId !== undefined && input.MessageDeduplicationId !== undefined);
  const areAttributes = Object.entries(MessageAttributes).every(([name, { DataType, StringValue = '' }]) => {
    const isValue = DataType === 'Number' ? /^-?[0-9]{1,38}$/.test(StringValue) : DataType === 'String';
    return /^[A-Za-z0-9_.-]{1,256}$/.test(name) && StringValue !== '' && isValue;
  });
  const count = Object.keys(MessageAttributes).length;
  if (!isDelay || !isNamed || !areAttributes || count > 10) throw refused('InvalidParameterValue');
}

function readable({
  MessageAttributes = {},
}: Pick<SendMessageCommandInput, 'MessageAttributes'>): Pick<Taken, 'attributes'> {
  const entries = Object.entries(MessageAttributes).map(
    ([name, value]) => [name, value.StringValue] as const,
  );
  return { attributes: Object.fromEntries(entries) };
}

function recordOf(
  { id, body, group, attributes = {}, receives, sentAt }: Message,
  startMs: number,
): SQSRecord {
  const messageAttributes = Object.fromEntries(
    Object.entries(attributes).map(([name, { StringValue, DataType }]) => [
      name,
      { stringValue: StringValue, dataType: DataType },
    ]),
  );
  return {
    messageId: id,
    receiptHandle: `${id}/${receives}`,
    body,
    attributes: {
      ApproximateReceiveCount: String(receives),
      SentTimestamp: String(startMs + Math.floor(sentAt * 1_000)),
      ...(group !== undefined && { MessageGroupId: group }),
    },
    messageAttributes,
  } as unknown as SQSRecord;
}
