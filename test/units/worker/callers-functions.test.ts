import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type LocalWorker, startLocalWorker } from '../../../infra/local/lambda/local-worker.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { JsonLogger } from '../../../src/worker/json-log.ts';
import { createTenantCredentials } from '../../../src/worker/tenant-credentials.ts';
import type { WorkerOptions } from '../../../src/worker/worker.ts';

const TURN = { tenant: 'acme', turn: 'turn-1', prompt: 'hello' };
const DONE = { batchItemFailures: [] };
const BACK = { batchItemFailures: [{ itemIdentifier: 'm0' }] };
const IDENTITY = { accessKeyId: 'id', secretAccessKey: 's', sessionToken: 't', expiration: new Date(2e14) };

type Wrong = () => unknown;

const FAILING: Readonly<Record<string, Wrong>> = {
  throws: () => {
    throw new Error('words of the host');
  },
  rejects: () => Promise.reject(new Error('words of the host')),
  'rejects with nothing': () => Promise.reject(),
  'never answers': () => new Promise(() => {}),
};
const RUBBISH: Readonly<Record<string, Wrong>> = {
  'answers nothing': () => undefined,
  'answers a number': async () => 1,
  'answers an empty object': async () => ({}),
};

/** A function of the deployment's; `wrong` stands in its place while it is set. */
interface Given {
  readonly wrongs: Readonly<Record<string, Wrong>>;
  readonly options: (ask: (right: Wrong) => unknown) => Partial<WorkerOptions>;
  /** The outcome of the first delivery; the second one, which meets no mistake, is always done. */
  readonly first: typeof DONE | typeof BACK;
  /** How often Claude was asked, both deliveries together. */
  readonly claude: number;
}

const GIVEN: Readonly<Record<string, Given>> = {
  credentials: {
    wrongs: { ...FAILING, ...RUBBISH, 'answers a text': () => 'role' },
    options: (ask) => ({ credentials: () => ask(() => async () => IDENTITY) as never }),
    first: BACK,
    claude: 1,
  },
  'provider of credentials': {
    wrongs: { ...FAILING, ...RUBBISH },
    options: (ask) => ({ credentials: () => () => ask(async () => IDENTITY) as never }),
    first: BACK,
    claude: 1,
  },
  client: {
    wrongs: { ...FAILING, ...RUBBISH },
    options: (ask) => ({ client: () => ask(async () => site.client) as never }),
    first: BACK,
    claude: 1,
  },
  replies: {
    wrongs: FAILING,
    options: (ask) => ({ replies: { send: () => ask(async () => {}) as never } }),
    first: BACK,
    claude: 1,
  },
  onTurn: {
    wrongs: { ...FAILING, ...RUBBISH },
    options: (ask) => ({ onTurn: () => ask(() => ({})) as never }),
    first: DONE,
    claude: 1,
  },
  queue: {
    wrongs: { ...FAILING, ...RUBBISH },
    options: (ask) => ({
      queue: { sqs: { send: () => ask(async () => {}) } as never, url: 'https://queue.example/turns' },
    }),
    first: DONE,
    claude: 1,
  },
  logger: {
    wrongs: FAILING,
    options(ask) {
      const log = () => ask(() => {}) as undefined;
      const logger: JsonLogger = { debug: log, info: log, warn: log, error: log, with: () => logger };
      return { logger };
    },
    first: DONE,
    claude: 1,
  },
};

let store: ObjectStore;
let site: LocalWorker;
const unhandled: unknown[] = [];
const note = (error: unknown): void => {
  unhandled.push(error);
};
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
  store = openSqliteObjectStore({ path: ':memory:' });
});
afterEach(async () => {
  vi.useRealTimers();
  process.off('unhandledRejection', note);
  await site[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

/** Lets a minute and more pass, in which nobody waits for real. */
async function passing<T>(work: Promise<T>): Promise<T | 'waits'> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  for (let second = 0; second < 300 && !isOver; second += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
    await turn();
  }
  return isOver ? over : 'waits';
}

describe.each(Object.entries(GIVEN))('a worker whose %s', (_, { wrongs, options, first, claude }) => {
  it.each(Object.entries(wrongs))('%s ends the delivery, and leaves the turn free', async (_name, wrong) => {
    let isWrong = true;
    const asked = Promise.withResolvers<void>();
    const ask = (right: Wrong): unknown => {
      if (!isWrong) return right();
      asked.resolve();
      return wrong();
    };
    site = await startLocalWorker(store, undefined, options(ask));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const delivered = site.deliver([TURN], { remainingMs: 90_000 });
    await asked.promise;
    expect(await passing(delivered)).toEqual(first);
    isWrong = false;
    vi.useRealTimers();
    expect(await site.deliver([TURN])).toEqual(DONE);
    expect(site.scenes).toHaveLength(claude);
    await turn();
    expect(unhandled).toEqual([]);
    expect(site.lines.join()).not.toContain('words of the host');
  });
});

describe('a token service that never answers', () => {
  it('is given up after ten seconds', async () => {
    site = await startLocalWorker(store);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const sts = { send: () => new Promise(() => {}) } as never;
    const provider = createTenantCredentials({ sts, roleArn: 'arn' })('acme' as never);
    const asked = provider().catch((error: unknown) => error);
    expect(await passing(asked)).toMatchObject({ code: 'unavailable' });
  });
});
