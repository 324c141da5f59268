import {
  ChangeMessageVisibilityCommand,
  SendMessageCommand,
  type SendMessageCommandInput,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { LambdaTime } from '../../src/worker/index.ts';
import { timeOf } from '../support/test-worker.ts';

/** What a queue took, and at which second of its own clock. */
export interface Taken {
  readonly at: number;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string | undefined>>;
  readonly input: SendMessageCommandInput | undefined;
}

/** Three queues of SQS, for turns, dead letters and replies, on a clock that jumps to where something happens next. */
export interface FastQueue {
  readonly sqs: Pick<SQSClient, 'send'>;
  readonly url: string;
  readonly deadLetterUrl: string;
  readonly replyUrl: string;
  /** Seconds. */
  now(): number;
  readonly deadLetters: readonly Taken[];
  readonly replies: readonly Taken[];
  /** Seconds at which each receive happened, by body. */
  readonly receives: ReadonlyMap<string, readonly number[]>;
  put(message: unknown, group?: string): void;
  /** Delivers one message an event, until none is left or `until` is past, in seconds. */
  run(handler: Handler, until: number, contextOf?: () => LambdaTime): Promise<void>;
  /** The next so many deletes are lost. */
  loseDeletes(count: number): void;
  /** What the queue of dead letters does instead of taking a message. */
  refuseDeadLetters(error: Error | undefined): void;
}

type Handler = (event: SQSEvent, context: LambdaTime) => Promise<SQSBatchResponse>;

interface Message {
  readonly id: string;
  readonly body: string;
  readonly group: string | undefined;
  readonly attributes: SendMessageCommandInput['MessageAttributes'];
  visibleAt: number;
  receives: number;
}

const VISIBILITY_SECONDS = 1_800;

export function createFastQueue({
  fifo = false,
  maxReceiveCount = 10,
}: {
  readonly fifo?: boolean;
  readonly maxReceiveCount?: number;
} = {}): FastQueue {
  const suffix = fifo ? '.fifo' : '';
  const [url, deadLetterUrl, replyUrl] = ['turns', 'dead', 'replies'].map(
    (name) => `https://queue.example/${name}${name === 'replies' ? '' : suffix}`,
  ) as [string, string, string];
  const messages: Message[] = [];
  const deadLetters: Taken[] = [];
  const replies: Taken[] = [];
  const receives = new Map<string, number[]>();
  let [now, sent, lost] = [0, 0, 0];
  let refusal: Error | undefined;

  const put = (body: string, given: Partial<Pick<Message, 'group' | 'attributes' | 'visibleAt'>>): void => {
    const { group, attributes, visibleAt = now } = given;
    messages.push({ id: `m${sent++}`, body, group, attributes, visibleAt, receives: 0 });
  };
  const send = async (command: unknown): Promise<unknown> => {
    if (command instanceof ChangeMessageVisibilityCommand) {
      const { ReceiptHandle, VisibilityTimeout = 0 } = command.input;
      const message = messages.find(({ id, receives: count }) => ReceiptHandle === `${id}/${count}`);
      if (message) message.visibleAt = now + VisibilityTimeout;
      return {};
    }
    if (!(command instanceof SendMessageCommand)) throw new Error('unexpected command');
    const { input } = command;
    const { QueueUrl, MessageBody: body = '', MessageAttributes: attributes, DelaySeconds = 0 } = input;
    if (QueueUrl === url) {
      put(body, { group: input.MessageGroupId, attributes, visibleAt: now + DelaySeconds });
    } else if (QueueUrl === deadLetterUrl && refusal !== undefined) throw refusal;
    else
      (QueueUrl === deadLetterUrl ? deadLetters : replies).push({ at: now, body, ...readable(input), input });
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
    ...{ url, deadLetterUrl, replyUrl, deadLetters, replies, receives },
    sqs: { send } as unknown as Pick<SQSClient, 'send'>,
    now: () => now,
    put: (message, group) => put(typeof message === 'string' ? message : JSON.stringify(message), { group }),
    loseDeletes(count) {
      lost = count;
    },
    refuseDeadLetters(error) {
      refusal = error;
    },
    async run(handler, until, contextOf = () => timeOf(60_000)) {
      for (let next = nextOne(); next !== undefined && next.visibleAt <= until; next = nextOne()) {
        now = Math.max(now, next.visibleAt);
        next.receives++;
        receives.set(next.body, [...(receives.get(next.body) ?? []), now]);
        if (next.receives > maxReceiveCount) {
          remove(next);
          deadLetters.push({ at: now, body: next.body, attributes: {}, input: undefined });
          continue;
        }
        next.visibleAt = now + VISIBILITY_SECONDS;
        const { batchItemFailures } = await handler({ Records: [recordOf(next)] }, contextOf());
        const isDone = !batchItemFailures.some(({ itemIdentifier }) => itemIdentifier === next?.id);
        if (isDone && lost > 0) lost--;
        else if (isDone) remove(next);
      }
    },
  };
}

function readable({ MessageAttributes = {} }: SendMessageCommandInput): Pick<Taken, 'attributes'> {
  const entries = Object.entries(MessageAttributes).map(
    ([name, value]) => [name, value.StringValue] as const,
  );
  return { attributes: Object.fromEntries(entries) };
}

function recordOf({ id, body, group, attributes = {}, receives }: Message): SQSRecord {
  const messageAttributes = Object.fromEntries(
    Object.entries(attributes).map(([name, { StringValue }]) => [
      name,
      { stringValue: StringValue, dataType: 'String' },
    ]),
  );
  return {
    messageId: id,
    receiptHandle: `${id}/${receives}`,
    body,
    attributes: {
      ApproximateReceiveCount: String(receives),
      ...(group !== undefined && { MessageGroupId: group }),
    },
    messageAttributes,
  } as unknown as SQSRecord;
}
