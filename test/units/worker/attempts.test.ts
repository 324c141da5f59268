import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type LocalWorker,
  type Play,
  startLocalWorker,
  timeOf,
} from '../../../infra/local/lambda/local-worker.ts';
import type { MessagesClient } from '../../../src/agent/turn-request.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ApiRefusal } from '../../../src/testing/claude/api-refusal.ts';
import { createReplies } from '../../../src/worker/queue/replies.ts';
import type { Worker } from '../../../src/worker/worker.ts';
import { createFastQueue, type FastQueue } from './fast-queue.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;
const turnOf = (i: number) => ({ tenant: 'acme', turn: `turn-${i}`, prompt: `question ${i}` });
const FIRST = JSON.stringify(turnOf(0));
const BEGUN = {
  type: 'message_start',
  message: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [] },
    ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 7, output_tokens: 0 } },
  },
};
const CUT = { fault: 'break', afterEvents: 2, part: { say: 'canary' } } as const;

/** The attempts are counted beside the turn, and so in the same way whatever the queue is. */
describe.each([{ fifo: false }, { fifo: true }])('the attempts of a turn: %o', ({ fifo }) => {
  let store: ObjectStore;
  let queue: FastQueue;
  let site: LocalWorker;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] });
    store = openSqliteObjectStore({ path: ':memory:' });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await site[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  const start = async (play: Play): Promise<Worker> => {
    queue = createFastQueue({ fifo, onTime: (ms) => vi.setSystemTime(ms) });
    const { sqs, url, deadLetterUrl, replyUrl } = queue;
    site = await startLocalWorker(store, play, {
      queue: { sqs, url, deadLetterUrl },
      replies: createReplies({ sqs, queueUrl: replyUrl, mode: 'inline' }),
    });
    return site.worker;
  };
  const put = (...turns: readonly number[]): void => {
    for (const i of turns) queue.put(turnOf(i), fifo ? 'group' : undefined);
  };
  const answered = (): readonly string[] => queue.replies.map(({ body }) => JSON.parse(body).turn);
  const refuse = (): never => {
    throw new ApiRefusal('canary', { status: 529, type: 'overloaded_error' });
  };

  /** A worker whose process ends when it asks Claude, as long as `dies` says so. */
  const mortal = (
    dies: () => boolean,
  ): { readonly handler: Worker['handler']; readonly deaths: () => number } => {
    let deaths = 0;
    let die = (): void => {};
    const dying = {
      async *[Symbol.asyncIterator]() {
        deaths++;
        die();
        await new Promise(() => {});
      },
    };
    const messages = Object.create(site.client.beta.messages, {
      toolRunner: {
        value: (...given: Parameters<MessagesClient['beta']['messages']['toolRunner']>) =>
          dies() ? dying : (site.client as MessagesClient).beta.messages.toolRunner(...given),
      },
    });
    const begin = () => site.another({ client: async () => ({ beta: { messages } }) });
    let worker = begin();
    return {
      deaths: () => deaths,
      handler: (...event) =>
        new Promise((resolve, reject) => {
          die = () => {
            worker = begin();
            reject(new Error('Runtime.ExitError'));
          };
          worker.handler(...event).then(resolve, reject);
        }),
    };
  };

  it('are ten where it kills its worker, and then it is a dead letter with a code; the next of its group goes on', async () => {
    await start(() => ({ say: 'At last.' }));
    let isFirst = true;
    const { handler, deaths } = mortal(() => isFirst);
    put(0);
    await queue.run(handler, DAY);
    expect(deaths()).toBe(10);
    expect(queue.deadLetters).toMatchObject([{ body: FIRST, attributes: { code: 'worker_died' } }]);
    isFirst = false;
    put(1);
    await queue.run(handler, DAY);
    expect(answered()).toEqual(['turn-1']);
  });

  it('are ten where its reply is always cut, and all of them are there again when it is sent back', async () => {
    const { handler } = await start(() => CUT);
    for (const times of [1, 2]) {
      put(0);
      await queue.run(handler, DAY);
      expect(queue.deadLetters).toHaveLength(times);
      expect(queue.deadLetters.at(-1)?.attributes).toMatchObject({ code: 'reply_cut' });
      // Each delivery asks three times for a reply that is cut.
      expect(site.scenes).toHaveLength(times * 30);
    }
  });

  it('are used up by no condition, however often one came between', async () => {
    await start(() => (queue.now() < 20 * HOUR ? refuse() : { say: 'At last.' }));
    let receives = 0;
    const { handler, deaths } = mortal(() => ++receives % 5 === 0 && deaths() < 9);
    put(0, 1);
    await queue.run(handler, DAY);
    expect(deaths()).toBe(9);
    expect(queue.receives.get(FIRST)?.length).toBeGreaterThan(60);
    expect(queue.deadLetters).toEqual([]);
    expect(answered().toSorted()).toEqual(['turn-0', 'turn-1']);
  });

  it('are used up by a reply that is longer than its function at the third time, and its tokens are told', async () => {
    await start(() => ({ say: 'unasked' }));
    let asked = 0;
    const client = new Anthropic({
      apiKey: 'none',
      fetch: async (_, { signal } = {}) => {
        asked++;
        const begun = `event: message_start\ndata: ${JSON.stringify(BEGUN)}\n\n`;
        const body = new ReadableStream({
          start(stream) {
            stream.enqueue(new TextEncoder().encode(begun));
            signal?.addEventListener('abort', () => stream.error(new Error('aborted')));
          },
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      },
    });
    const { handler } = site.another({ client: async () => client });
    put(0);
    await queue.run(handler, DAY, () => timeOf(10_200));
    expect(asked).toBe(3);
    expect(queue.deadLetters).toMatchObject([{ body: FIRST, attributes: { code: 'deadline' } }]);
    const lines = site.lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    const told = lines.filter(({ code }) => code === 'deadline');
    expect(told.map(({ message, inputTokens }) => [message, inputTokens])).toEqual([
      ['turn will be retried', 7],
      ['turn will be retried', 7],
      ['turn failed', 7],
    ]);
  });

  it('are not spent by the client: a message asks once, a caller that waits as often as the client says', async () => {
    await start(refuse);
    const client = new Anthropic({ baseURL: site.client.baseURL, apiKey: 'none', maxRetries: 1 });
    const { handler, invoke } = site.another({ client: async () => client });
    put(0);
    await queue.run(handler, 0);
    expect(site.scenes).toHaveLength(1);
    await expect(invoke(turnOf(1), timeOf(60_000))).rejects.toThrow('overloaded_error');
    expect(site.scenes).toHaveLength(3);
  });

  it('are all there again behind each step that came further', async () => {
    const steps = 4;
    let used = 0;
    await start(({ messages }) => {
      used += 8_000;
      const step = (messages.length + 1) / 2;
      const view = { name: 'memory', input: { command: 'view', path: '/memories' } };
      return step > steps ? { say: 'At last.' } : { calls: [view] };
    });
    let asked = 0;
    const { handler, deaths } = mortal(() => ++asked % 10 !== 0);
    // Each step takes as much of the function's time as leaves none for another one.
    const contextOf = () => {
      const begun = used;
      return { getRemainingTimeInMillis: () => 20_000 - (used - begun), awsRequestId: 'request-1' };
    };
    put(0);
    await queue.run(handler, 2 * DAY, contextOf);
    expect(deaths()).toBeGreaterThan(10);
    expect(queue.deadLetters).toEqual([]);
    expect(answered()).toEqual(['turn-0']);
  });
});
