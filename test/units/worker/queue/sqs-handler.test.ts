import { ChangeMessageVisibilityCommand, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { createJsonLogger } from '../../../../src/worker/json-log.ts';
import { createSqsHandler } from '../../../../src/worker/queue/sqs-handler.ts';
import { CONVERSATION_BUSY, type Delivery } from '../../../../src/worker/turn/delivery.ts';
import { createFastQueue } from '../fast-queue.ts';

const QUEUE = 'https://sqs.example/queue';
const TIME = { getRemainingTimeInMillis: () => 60_000 };
const ANSWERED = { state: 'answered' } as Delivery;
const LATER: Delivery = { state: 'later', code: 'unavailable', afterSeconds: 17.2 };
const FAILED: Delivery = { state: 'failed', code: 'access_denied' };

function record(messageId: string, group?: string): SQSRecord {
  const attributes = { ...(group !== undefined && { MessageGroupId: group }) };
  return { messageId, body: messageId, receiptHandle: `handle of ${messageId}`, attributes } as SQSRecord;
}

/** Tells the first change of each message's visibility, at its receive, from those behind it. */
function watchVisibility() {
  const hidden = new Map<unknown, unknown>();
  const changed: unknown[] = [];
  return {
    hidden,
    changed,
    take({ input }: ChangeMessageVisibilityCommand) {
      if (hidden.has(input.ReceiptHandle)) changed.push(input);
      else hidden.set(input.ReceiptHandle, input);
    },
  };
}

/** A handler whose messages end as `ends` says, by their id. */
function handlerOf(ends: Readonly<Record<string, Delivery>>, { queueFails = false, queueUrl = QUEUE } = {}) {
  const { hidden, changed: visibility, take } = watchVisibility();
  const lines: string[] = [];
  const delivered: string[] = [];
  const send = async (command: unknown) => {
    if (queueFails) throw new Error('the queue is gone');
    if (!(command instanceof ChangeMessageVisibilityCommand)) throw new Error('unexpected command');
    take(command);
  };
  const handler = createSqsHandler({
    sqs: { send } as unknown as Pick<SQSClient, 'send'>,
    queueUrl,
    deliver: async (text) => {
      delivered.push(text);
      return ends[text] ?? ANSWERED;
    },
    log: createJsonLogger({ write: (line) => lines.push(line) }),
  });
  return { handler, hidden, visibility, lines, delivered };
}

describe('the SQS handler', () => {
  it('keeps nothing in the queue of what was answered', async () => {
    const { handler, visibility } = handlerOf({});
    expect(await handler({ Records: [record('a'), record('b')] }, TIME)).toEqual({ batchItemFailures: [] });
    expect(visibility).toEqual([]);
  });

  it('hides each message at its receive, until its function must have ended', async () => {
    const { handler, hidden } = handlerOf({ b: LATER });
    const Records = [record('a', 'group'), record('b', 'group')];
    await handler({ Records }, { getRemainingTimeInMillis: () => 60_200.5 });
    expect([...hidden.values()]).toEqual(
      ['a', 'b'].map((id) => ({
        QueueUrl: QUEUE,
        ReceiptHandle: `handle of ${id}`,
        VisibilityTimeout: 66,
      })),
    );
  });

  it('has asked for that before it answers, and before it asks for anything else', async () => {
    const asked: unknown[] = [];
    let calls = 0;
    const [begun, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const handler = createSqsHandler({
      sqs: {
        async send({ input }: ChangeMessageVisibilityCommand) {
          if (calls++ === 0) {
            begun.resolve();
            await release.promise;
          }
          asked.push([input.ReceiptHandle, input.VisibilityTimeout]);
        },
      } as unknown as Pick<SQSClient, 'send'>,
      queueUrl: QUEUE,
      deliver: async (_, { onTaken }) => {
        await begun.promise;
        setTimeout(release.resolve, 20);
        await onTaken(90_000);
        return LATER;
      },
      log: createJsonLogger({ write: () => {} }),
      random: () => 0,
    });
    await handler({ Records: [record('a')] }, TIME);
    expect(asked).toEqual([65, 95, 18].map((seconds) => ['handle of a', seconds]));
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
      log: createJsonLogger({ write: () => {} }),
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
    const told = {
      level: 'warn',
      message: 'the visibility of a message could not be changed',
      code: 'Error',
    };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([told, told]);
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
      log: createJsonLogger({ write: () => {} }),
    });
    await handler({ Records: [record('a'), record('b')] }, TIME);
    expect(limit.mock.calls).toEqual(Array.from({ length: 4 }, () => [10_000]));
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
      let { hidden, take } = watchVisibility();
      const send = async (command: unknown): Promise<void> => {
        if (command instanceof ChangeMessageVisibilityCommand) {
          if (hidden.size > 0) waited.push(command.input.VisibilityTimeout);
          take(command);
        }
        if (command instanceof SendMessageCommand) waited.push(command.input.DelaySeconds);
      };
      const handler = createSqsHandler({
        sqs: { send } as unknown as Pick<SQSClient, 'send'>,
        queueUrl: QUEUE,
        deliver: async () => CONVERSATION_BUSY,
        log: createJsonLogger({ write: () => {} }),
        random: () => random,
      });
      for (let receives = 1; receives <= 5; receives++) {
        ({ hidden, take } = watchVisibility());
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
        log: createJsonLogger({ write: () => {} }),
      });
      const often = { ...record('a'), attributes: { ApproximateReceiveCount: '5' } } as SQSRecord;
      expect(await handler({ Records: [often] }, TIME)).toEqual({ batchItemFailures: [] });
      expect(sent).toEqual([delay]);
    },
  );
});

describe('a message that another one’s refusal holds up', () => {
  it.each([
    [4, 5, 600 - 24],
    [4, 780, 780 - 24],
    [3, 5, 120],
  ])(
    'waits no longer at receive %d than that one would from its refusal on',
    async (receives, afterSeconds, seconds) => {
      const { changed, take } = watchVisibility();
      const handler = createSqsHandler({
        sqs: {
          send: async (command: unknown) => take(command as ChangeMessageVisibilityCommand),
        } as unknown as Pick<SQSClient, 'send'>,
        queueUrl: QUEUE,
        deliver: async () => ({ ...LATER, afterSeconds, agoSeconds: 24, isCondition: true }),
        log: createJsonLogger({ write: () => {} }),
        random: () => 0,
      });
      const held = { ...record('a'), attributes: { ApproximateReceiveCount: String(receives) } } as SQSRecord;
      await handler({ Records: [held] }, TIME);
      expect(changed).toEqual([expect.objectContaining({ VisibilityTimeout: seconds })]);
    },
  );
});

describe('a message that waits', () => {
  const HOUR = 3_600;
  const DAY = 24 * HOUR;
  const later = (code: string, more: object = {}): Delivery => ({
    state: 'later',
    code,
    afterSeconds: 5,
    ...more,
  });
  /** Each way in which a delivery ends without an answer, while the turn has attempts left. */
  const ENDS: readonly (readonly [string, Delivery])[] = [
    ['an overload', later('overloaded_error', { isCondition: true })],
    ['a wrong key', later('authentication_error', { isCondition: true, afterSeconds: 900 })],
    ['a spent budget', later('tokens_per_day', { isCondition: true, isExact: true, afterSeconds: 30_000 })],
    ['a conversation at work', CONVERSATION_BUSY],
    ['a lease of another worker', later('running', { isExact: true, afterSeconds: 920 })],
    ['progress', later('unfinished', { hasProgress: true, isExact: true, afterSeconds: 600 })],
    ['a reply that is cut', later('reply_cut')],
    ['what nobody has foreseen', later('unexpected')],
  ];
  const cases = ENDS.flatMap((end) => [false, true].map((fifo) => [...end, fifo] as const));

  const run = async (end: Delivery, { fifo = false, retentionSeconds = 4 * DAY, attributes = {} } = {}) => {
    const queue = createFastQueue({ fifo, retentionSeconds });
    const lines: string[] = [];
    const waited: number[] = [];
    const handler = createSqsHandler({
      sqs: queue.sqs,
      queueUrl: queue.url,
      deadLetterUrl: queue.deadLetterUrl,
      retentionSeconds,
      async deliver(_, { waitedMs }) {
        waited.push(waitedMs / 1_000);
        return end;
      },
      log: createJsonLogger({ write: (line) => lines.push(line) }),
      clock: () => Date.UTC(2026, 0, 1) + queue.now() * 1_000,
    });
    queue.put('message', fifo ? 'group' : undefined, attributes);
    await queue.run(handler, 30 * DAY, () => TIME);
    const [dead, ...others] = queue.deadLetters;
    expect(others).toEqual([]);
    expect(queue.dropped).toEqual([]);
    return { dead, waited, lines, receives: queue.receives.get('message')?.length ?? 0 };
  };

  it.each(cases)('for %s ends with its code, and not by its receives: %o, FIFO: %s', async (_, end, fifo) => {
    const { dead, lines, waited } = await run(end, { fifo });
    const { code } = end as { readonly code: string };
    expect(dead?.attributes).toMatchObject({ code });
    // Retention less a day, and the longest pause.
    expect(dead?.at).toBeGreaterThanOrEqual(3 * DAY);
    expect(dead?.at).toBeLessThan(3 * DAY + 12 * HOUR);
    // The time waited counts from the first sending, however often the message was sent on.
    expect(waited.at(-1)).toBe(dead?.at);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'a turn is not tried any more', code }),
    );
  });

  it.each([2 * DAY, 4 * DAY, 14 * DAY])(
    'is tried for the retention of the queue less a day: %d s',
    async (seconds) => {
      const { dead } = await run(later('unavailable', { isCondition: true }), { retentionSeconds: seconds });
      expect(dead?.at).toBeGreaterThanOrEqual(seconds - DAY);
      expect(dead?.at).toBeLessThan(seconds - DAY + 601);
    },
  );

  it.each([
    ['in the future', { StringValue: String(Date.UTC(2027, 0, 1)), DataType: 'Number' }],
    ['long ago', { StringValue: '1000000000000', DataType: 'Number' }],
    ['of another kind', { StringValue: String(Date.UTC(2025, 11, 31)), DataType: 'String' }],
  ])('is tried for as long where a stranger says that it was sent first %s', async (_, firstSentAt) => {
    const condition = later('unavailable', { isCondition: true });
    const { dead } = await run(condition, { attributes: { firstSentAt } });
    expect(dead?.at).toBeGreaterThanOrEqual(3 * DAY);
    expect(dead?.at).toBeLessThan(3 * DAY + 601);
  });

  it.each([false, true])('is received every eight minutes at most: FIFO: %s', async (fifo) => {
    const { receives } = await run(later('overloaded_error', { isCondition: true }), { fifo });
    expect(receives).toBeLessThanOrEqual((3 * DAY) / (600 * 0.8) + 5);
  });

  it('carries nothing on to one that is sent back from the dead letters', async () => {
    const { dead } = await run(later('overloaded_error', { isCondition: true }));
    expect(Object.keys(dead?.attributes ?? {})).toEqual(['code']);
  });

  it('is moved by the queue itself, without a code, where its function dies each time before it takes the turn', async () => {
    const queue = createFastQueue();
    let die = (): void => {};
    const handler = createSqsHandler({
      sqs: {
        send: async (command: ChangeMessageVisibilityCommand) => {
          await queue.sqs.send(command);
          die();
        },
      } as unknown as Pick<SQSClient, 'send'>,
      queueUrl: queue.url,
      deadLetterUrl: queue.deadLetterUrl,
      deliver: () => new Promise(() => {}),
      log: createJsonLogger({ write: () => {} }),
    });
    queue.put('message');
    const dying: typeof handler = (...event) =>
      new Promise((_, reject) => {
        die = () => reject(new Error('Runtime.ExitError'));
        void handler(...event);
      });
    await queue.run(dying, DAY, () => TIME);
    // The last receive is the one at which the queue itself moves it.
    expect(queue.receives.get('message')).toEqual(Array.from({ length: 21 }, (_, i) => i * 65));
    expect(queue.deadLetters).toMatchObject([{ at: 1_300, attributes: {} }]);
  });
});
