import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type LocalWorker, startLocalWorker, timeOf } from '../../../infra/local/lambda/local-worker.ts';
import { MemoryError, type MemoryErrorCode } from '../../../src/errors.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ApiRefusal } from '../../../src/testing/claude/api-refusal.ts';
import { createReplies } from '../../../src/worker/queue/replies.ts';
import type { WorkerOptions } from '../../../src/worker/worker.ts';
import { oneIn, rowsOf } from '../../runner/thorough.ts';
import { interceptStore } from '../../stage/store-wrappers.ts';
import { createFastQueue, type FastQueue } from './fast-queue.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const turnOf = (i: number) => ({ tenant: `tenant-${i % 2}`, turn: `turn-${i}`, prompt: `question ${i}` });
const failure = (code: MemoryErrorCode) => new MemoryError(code, 'canary');

const CREDENTIALS = {
  accessKeyId: 'none',
  secretAccessKey: 'none',
  sessionToken: 'none',
  expiration: new Date(Date.UTC(2100, 0)),
};

/** The services that do not work, for as long as they do not. */
interface Outage {
  readonly claude?: Error;
  readonly store?: Error;
  readonly rootKey?: Error;
  readonly options?: (isOver: () => boolean) => Partial<WorkerOptions>;
}

const untilOver =
  (isOver: () => boolean, error: Error) =>
  async <T>(proceed: () => Promise<T>): Promise<T> => {
    if (!isOver()) throw error;
    return proceed();
  };

/** Each condition of a deployment, under the code that its turns are told with. */
const OUTAGES: Readonly<Record<string, readonly [code: string, outage: Outage]>> = {
  'Claude is overloaded': [
    'overloaded_error',
    { claude: new ApiRefusal('canary', { status: 529, type: 'overloaded_error' }) },
  ],
  'Claude is not available': [
    'api_error',
    { claude: new ApiRefusal('canary', { status: 503, type: 'api_error' }) },
  ],
  'Claude asks for fewer requests': [
    'rate_limit_error',
    { claude: new ApiRefusal('canary', { status: 429, type: 'rate_limit_error' }) },
  ],
  'Claude refuses the key': [
    'authentication_error',
    { claude: new ApiRefusal('canary', { status: 401, type: 'authentication_error' }) },
  ],
  'Claude forbids the key': [
    'permission_error',
    { claude: new ApiRefusal('canary', { status: 403, type: 'permission_error' }) },
  ],
  'Claude cannot be reached': [
    'connection',
    {
      options(isOver) {
        const nobody = new Anthropic({ baseURL: 'http://127.0.0.1:9', apiKey: 'none', maxRetries: 0 });
        return { client: async () => (isOver() ? site.client : nobody) };
      },
    },
  ],
  'the key of Claude cannot be read': [
    'api_key_unavailable',
    {
      options: (isOver) => ({
        client: () => untilOver(isOver, new Error('canary'))(async () => site.client),
      }),
    },
  ],
  'the store cannot be reached': ['unavailable', { store: failure('unavailable') }],
  'the store answers too late': ['timeout', { store: failure('timeout') }],
  'the store denies access': ['access_denied', { store: failure('access_denied') }],
  'the root key is throttled': ['unavailable', { rootKey: failure('unavailable') }],
  'the root key is disabled': ['key_unavailable', { rootKey: failure('key_unavailable') }],
  'the root key is denied': ['access_denied', { rootKey: failure('access_denied') }],
  'no tenant can be become': [
    'access_denied',
    {
      options: (isOver) => ({
        credentials: () => () => untilOver(isOver, failure('access_denied'))(async () => CREDENTIALS),
      }),
    },
  ],
  'no reply can be sent': [
    'unavailable',
    {
      options: (isOver) => ({
        replies: {
          send: (...reply) => untilOver(isOver, failure('unavailable'))(() => site.replies.send(...reply)),
        },
      }),
    },
  ],
};

interface Site {
  readonly queue: FastQueue;
  readonly worker: LocalWorker;
  readonly client: Anthropic;
  readonly replies: ReturnType<typeof createReplies>;
}

let site: Site;
/** Ended after each test, the last one first. Node 22 has no `AsyncDisposableStack`. */
let opened: AsyncDisposable[];
function use<T extends AsyncDisposable>(each: T): T {
  opened.push(each);
  return each;
}

beforeEach(() => {
  opened = [];
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(async () => {
  vi.useRealTimers();
  for (const each of opened.reverse()) await each[Symbol.asyncDispose]();
});

/** A worker on a queue of a clock of its own, without what is out until `over`, in seconds. */
async function start(
  { claude, store: storeFailure, rootKey: keyFailure, options }: Outage,
  { over, fifo = false }: { readonly over: number; readonly fifo?: boolean },
): Promise<Site> {
  const queue = createFastQueue({ fifo, onTime: (ms) => vi.setSystemTime(ms) });
  const isOver = (): boolean => queue.now() >= over;
  const base = use(openSqliteObjectStore({ path: ':memory:' }));
  const store: ObjectStore = interceptStore(base, (_, proceed) =>
    storeFailure === undefined ? proceed() : untilOver(isOver, storeFailure)(proceed),
  );
  const held = envRootKey(randomBytes(32));
  const rootKey: RootKey = {
    get id() {
      return held.id;
    },
    unwrap: held.unwrap,
    generate: (...given) =>
      keyFailure === undefined
        ? held.generate(...given)
        : untilOver(isOver, keyFailure)(() => held.generate(...given)),
  };
  const { sqs, url, deadLetterUrl, replyUrl } = queue;
  const replies = createReplies({ sqs, queueUrl: replyUrl, mode: 'inline' });
  const worker = use(
    await startLocalWorker(
      store,
      ({ messages }) => {
        if (claude !== undefined && !isOver()) throw claude;
        return { say: `Answer to ${JSON.stringify(messages)}` };
      },
      { memory: { store, rootKey }, queue: { sqs, url, deadLetterUrl }, replies, ...options?.(isOver) },
    ),
  );
  site = { queue, worker, replies, client: worker.client };
  return site;
}

const WAITS = [
  { fifo: false, over: HOUR, count: 3 },
  { fifo: false, over: 10 * HOUR, count: 1 },
  { fifo: true, over: HOUR, count: 3 },
  { fifo: true, over: 10 * HOUR, count: 3 },
];

describe.each(rowsOf(OUTAGES))('for as long as $name', ({ row: [code, outage], at }) => {
  it.each(oneIn(2, WAITS, at))(
    'a turn waits, and is answered a quarter of an hour behind it: %o',
    async ({ fifo, over, count }) => {
      const { queue, worker } = await start(outage, { over, fifo });
      const turns = [0, 1, 2].slice(0, count).map(turnOf);
      for (const turn of turns) queue.put(turn, fifo ? turn.tenant : undefined);
      await queue.run(worker.worker.handler, 3 * DAY);
      expect(queue.deadLetters).toEqual([]);
      expect(queue.dropped).toEqual([]);
      const answered = queue.replies.map(({ body }) => JSON.parse(body).turn as string);
      expect(answered.toSorted()).toEqual(turns.map(({ turn }) => turn));
      // Both of one tenant, and so of one group.
      if (fifo) expect(answered.indexOf('turn-0')).toBeLessThan(answered.indexOf('turn-2'));
      for (const { at } of queue.replies) expect(at).toBeLessThanOrEqual(over + 15 * MINUTE);
      expect(codesOf(worker.lines)).toContain(code);
      expect(worker.lines.join()).not.toMatch(/canary|question/);
    },
  );
});

it.each([
  { fifo: false, name: 'Claude is overloaded' },
  { fifo: true, name: 'Claude is overloaded' },
  { fifo: false, name: 'Claude refuses the key' },
  { fifo: true, name: 'Claude refuses the key' },
  { fifo: false, name: 'the store cannot be reached' },
])(
  'asks Claude once a minute and process at most, of thirty turns, behind the first five: %o',
  async ({ fifo, name }) => {
    const over = 10 * HOUR;
    const { queue, worker } = await start(OUTAGES[name]?.[1] ?? {}, { over, fifo });
    const asked: number[] = [];
    for (let i = 0; i < 30; i++) queue.put(turnOf(i), fifo ? `group-${i % 10}` : undefined);
    const handler: typeof worker.worker.handler = async (...event) => {
      const before = worker.scenes.length;
      const answer = await worker.worker.handler(...event);
      if (worker.scenes.length > before) asked.push(queue.now());
      return answer;
    };
    await queue.run(handler, 3 * DAY);
    const meanwhile = asked.filter((at) => at < over).slice(5);
    for (const [i, at] of meanwhile.slice(1).entries()) {
      expect(at - (meanwhile[i] ?? 0)).toBeGreaterThanOrEqual(MINUTE);
    }
    expect(worker.scenes).toHaveLength(asked.filter((at) => at < over).length + 30);
    expect(queue.deadLetters).toEqual([]);
    expect(queue.replies).toHaveLength(30);
    const order = queue.replies.map(({ body }) => Number(JSON.parse(body).turn.slice('turn-'.length)));
    for (const i of order) if (fifo && i >= 10) expect(order.indexOf(i - 10)).toBeLessThan(order.indexOf(i));
    // The first turn of a FIFO group is answered within it, and the others after it.
    for (const { at } of queue.replies) expect(at).toBeLessThanOrEqual(over + 15 * MINUTE);
  },
);

it('tells with its code which turn is not tried any more, and does not keep it for longer than its queue would', async () => {
  const { queue, worker } = await start({ store: failure('unavailable') }, { over: 30 * DAY });
  queue.put(turnOf(0));
  await queue.run(worker.worker.handler, 30 * DAY);
  expect(queue.dropped).toEqual([]);
  expect(queue.deadLetters).toMatchObject([{ attributes: { code: 'unavailable' } }]);
  expect(queue.deadLetters[0]?.at).toBeGreaterThanOrEqual(3 * DAY);
  expect(queue.deadLetters[0]?.at).toBeLessThan(3 * DAY + 16 * MINUTE);
  expect(worker.lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ level: 'error', message: 'a turn is not tried any more', code: 'unavailable' }),
  );
});

it('is gone through by a turn of a FIFO queue for three days, in its order, and its end has a code', async () => {
  const { queue, worker } = await start(OUTAGES['Claude is overloaded']?.[1] ?? {}, {
    over: 30 * DAY,
    fifo: true,
  });
  for (const i of [0, 2]) queue.put(turnOf(i), 'group');
  await queue.run(worker.worker.handler, 30 * DAY);
  const [first, second, ...others] = queue.deadLetters;
  expect(others).toEqual([]);
  expect(first).toMatchObject({ body: JSON.stringify(turnOf(0)), attributes: { code: 'overloaded_error' } });
  expect(second).toMatchObject({ body: JSON.stringify(turnOf(2)), attributes: { code: 'overloaded_error' } });
  expect(first?.at).toBeGreaterThanOrEqual(3 * DAY);
  expect(queue.receives.get(JSON.stringify(turnOf(0)))?.length).toBeLessThan(1_000);
});

it('of a Claude that never answers is told from a reply that takes too long', async () => {
  let isSilent = true;
  const { queue, worker } = await start({}, { over: 0 });
  const hanging = new Anthropic({
    apiKey: 'none',
    baseURL: site.client.baseURL,
    maxRetries: 0,
    fetch: (url, { signal, ...init } = {}) =>
      isSilent
        ? new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
        : fetch(url, { ...init, signal: signal ?? null }),
  });
  const other = worker.another({ client: async () => hanging });
  queue.put(turnOf(0));
  await queue.run(other.handler, 2 * HOUR, () => timeOf(10_050));
  expect(queue.receives.get(JSON.stringify(turnOf(0)))?.length).toBeGreaterThan(10);
  expect(new Set(codesOf(worker.lines))).toEqual(new Set(['deadline']));
  isSilent = false;
  await queue.run(other.handler, 3 * HOUR);
  expect(queue.deadLetters).toEqual([]);
  expect(queue.replies).toHaveLength(1);
});

function codesOf(lines: readonly string[]): readonly unknown[] {
  return lines
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter(({ message }) => message === 'turn will be retried')
    .map(({ code }) => code);
}
