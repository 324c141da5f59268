import { ChangeMessageVisibilityCommand, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { createJsonLog } from '../../src/worker/json-log.ts';
import { createSqsHandler } from '../../src/worker/sqs-handler.ts';
import { CONVERSATION_BUSY, type Delivery } from '../../src/worker/turn-verdict.ts';

const QUEUE = 'https://sqs.example/queue';
const TIME = { getRemainingTimeInMillis: () => 60_000 };
const ANSWERED = { state: 'answered' } as Delivery;
const LATER: Delivery = { state: 'later', code: 'unavailable', afterSeconds: 17.2 };
const FAILED: Delivery = { state: 'failed', code: 'access_denied' };

function record(messageId: string, group?: string): SQSRecord {
  const attributes = { ...(group !== undefined && { MessageGroupId: group }) };
  return { messageId, body: messageId, receiptHandle: `handle of ${messageId}`, attributes } as SQSRecord;
}

/** A handler whose messages end as `ends` says, by their id. */
function handlerOf(ends: Readonly<Record<string, Delivery>>, { queueFails = false, queueUrl = QUEUE } = {}) {
  const visibility: unknown[] = [];
  const lines: string[] = [];
  const delivered: string[] = [];
  const send = async (command: unknown) => {
    if (queueFails) throw new Error('the queue is gone');
    if (!(command instanceof ChangeMessageVisibilityCommand)) throw new Error('unexpected command');
    visibility.push(command.input);
  };
  const handler = createSqsHandler({
    sqs: { send } as unknown as Pick<SQSClient, 'send'>,
    queueUrl,
    deliver: async (text) => {
      delivered.push(text);
      return ends[text] ?? ANSWERED;
    },
    log: createJsonLog({ write: (line) => lines.push(line) }),
  });
  return { handler, visibility, lines, delivered };
}

describe('the SQS handler', () => {
  it('keeps nothing in the queue of what was answered', async () => {
    const { handler, visibility } = handlerOf({});
    expect(await handler({ Records: [record('a'), record('b')] }, TIME)).toEqual({ batchItemFailures: [] });
    expect(visibility).toEqual([]);
  });

  it('gives back what did not succeed, to be tried when that makes sense', async () => {
    const { handler, visibility } = handlerOf({ b: LATER, c: FAILED });
    const answer = await handler({ Records: [record('a'), record('b'), record('c')] }, TIME);
    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: 'b' }, { itemIdentifier: 'c' }] });
    expect(visibility).toEqual([
      { QueueUrl: QUEUE, ReceiptHandle: 'handle of b', VisibilityTimeout: 18 },
      { QueueUrl: QUEUE, ReceiptHandle: 'handle of c', VisibilityTimeout: 1 },
    ]);
  });

  it('asks for no time below zero, and has asked before it answers', async () => {
    let asked: unknown;
    const send = async (command: ChangeMessageVisibilityCommand) => {
      await new Promise((resolve) => setImmediate(resolve));
      asked = command.input.VisibilityTimeout;
    };
    const handler = createSqsHandler({
      sqs: { send } as unknown as Pick<SQSClient, 'send'>,
      queueUrl: QUEUE,
      deliver: async () => ({ state: 'later', code: 'unavailable', afterSeconds: -5, isExact: true }),
      log: createJsonLog({ write: () => {} }),
    });
    await handler({ Records: [record('a')] }, TIME);
    expect(asked).toBe(0);
  });

  it('keeps the order within a FIFO group, and runs the groups side by side', async () => {
    const { handler, delivered } = handlerOf({ a1: LATER }, { queueUrl: `${QUEUE}.fifo` });
    const Records = [record('a1', 'a'), record('b1', 'b'), record('a2', 'a'), record('b2', 'b')];
    const { batchItemFailures } = await handler({ Records }, TIME);
    expect(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)).toEqual(['a1', 'a2']);
    expect(delivered).toEqual(['a1', 'b1', 'b2']);
  });

  it('takes no order from the groups of a standard queue, which say who sent', async () => {
    const { handler, delivered } = handlerOf({ a1: LATER });
    const Records = [record('a1', 'a'), record('b1', 'b'), record('a2', 'a')];
    const { batchItemFailures } = await handler({ Records }, TIME);
    expect(batchItemFailures).toEqual([{ itemIdentifier: 'a1' }]);
    expect(new Set(delivered)).toEqual(new Set(['a1', 'b1', 'a2']));
  });

  it('gives a message back even when its visibility cannot be changed, and says so', async () => {
    const { handler, lines } = handlerOf({ a: LATER }, { queueFails: true });
    const { batchItemFailures } = await handler({ Records: [record('a')] }, TIME);
    expect(batchItemFailures).toEqual([{ itemIdentifier: 'a' }]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', code: 'Error' }]);
  });

  it('waits for the queue no longer than ten seconds', async () => {
    const signals: unknown[] = [];
    const limit = vi.spyOn(AbortSignal, 'timeout');
    const handler = createSqsHandler({
      sqs: {
        async send(_command: unknown, { abortSignal }: { readonly abortSignal?: AbortSignal } = {}) {
          signals.push(abortSignal);
        },
      } as unknown as Pick<SQSClient, 'send'>,
      queueUrl: QUEUE,
      deadLetterUrl: `${QUEUE}-dead`,
      deliver: async (text) => (text === 'a' ? LATER : FAILED),
      log: createJsonLog({ write: () => {} }),
    });
    await handler({ Records: [record('a'), record('b')] }, TIME);
    expect(limit.mock.calls).toEqual([[10_000], [10_000]]);
    expect(signals).toEqual(limit.mock.results.map(({ value }) => value));
    limit.mockRestore();
  });

  it('never asks for more than is left of the twelve hours of SQS when a function has had its time', async () => {
    const { handler, visibility } = handlerOf({ a: { ...LATER, afterSeconds: 1e9 } as Delivery });
    await handler({ Records: [record('a')] }, TIME);
    expect(visibility).toMatchObject([{ VisibilityTimeout: 42_300 }]);
  });

  it.each([
    [0, [5, 10, 20, 30, 30]],
    [0.5, [5, 9, 18, 27, 27]],
  ])(
    'lets a turn wait longer for its conversation each time, half a minute at most (random %d)',
    async (random, pauses) => {
      const waited: unknown[] = [];
      const send = async (command: unknown): Promise<void> => {
        if (command instanceof ChangeMessageVisibilityCommand) waited.push(command.input.VisibilityTimeout);
        if (command instanceof SendMessageCommand) waited.push(command.input.DelaySeconds);
      };
      const handler = createSqsHandler({
        sqs: { send } as unknown as Pick<SQSClient, 'send'>,
        queueUrl: QUEUE,
        deliver: async () => CONVERSATION_BUSY,
        log: createJsonLog({ write: () => {} }),
        random: () => random,
      });
      for (let receives = 1; receives <= 5; receives++) {
        const attributes = { ApproximateReceiveCount: String(receives) };
        const { batchItemFailures } = await handler(
          { Records: [{ ...record('a'), attributes } as SQSRecord] },
          TIME,
        );
        // From then on it is a message of its own, with all its attempts before it.
        expect(batchItemFailures).toHaveLength(receives < 5 ? 1 : 0);
      }
      expect(waited).toEqual(pauses);
    },
  );

  it.each([
    [899.2, 900],
    [900, 900],
    [900.1, 900],
    [7_200, 900],
  ])(
    'sends a message again that is to wait %d s with a delay that SQS takes: %d s',
    async (afterSeconds, delay) => {
      const sent: unknown[] = [];
      const send = async (command: unknown): Promise<void> => {
        if (command instanceof SendMessageCommand) sent.push(command.input.DelaySeconds);
      };
      const handler = createSqsHandler({
        sqs: { send } as unknown as Pick<SQSClient, 'send'>,
        queueUrl: QUEUE,
        deliver: async () => ({ ...LATER, afterSeconds, isExact: true, hasProgress: true }) as Delivery,
        log: createJsonLog({ write: () => {} }),
      });
      const often = { ...record('a'), attributes: { ApproximateReceiveCount: '5' } } as SQSRecord;
      expect(await handler({ Records: [often] }, TIME)).toEqual({ batchItemFailures: [] });
      expect(sent).toEqual([delay]);
    },
  );
});
