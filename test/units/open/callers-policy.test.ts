import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { hasCode, MemoryError, type MemoryErrorCode } from '../../../src/errors.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import type { Policy, PolicyVerdict } from '../../../src/tree/admission/policy.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

const rootKey = Buffer.alloc(32, 7);
const AT = '/memories/a';
const BOUND_MS = 60_000;

let store: ObjectStore;
let policy: Policy;
let memory: Memory;

beforeEach(async () => {
  policy = () => 'allow';
  store = openSqliteObjectStore({ path: ':memory:' });
  memory = await openMemory({
    store,
    rootKey,
    tenant: 'acme',
    logger: silentLogger,
    policy: (file) => policy(file),
  });
  await memory.files.write(AT, 'one');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await memory.close();
  await store[Symbol.asyncDispose]();
});

type Ask = (signal?: AbortSignal) => Promise<unknown>;

async function execute(input: unknown, signal: AbortSignal | undefined): Promise<void> {
  const result = await memory.execute(input, { signal });
  if (result.isError) throw result.error;
}

/** Each call that a policy judges. */
const ASKED: Readonly<Record<string, Ask>> = {
  create: (signal) => execute({ command: 'create', path: '/memories/b', file_text: 'two' }, signal),
  str_replace: (signal) =>
    execute({ command: 'str_replace', path: AT, old_str: 'one', new_str: 'two' }, signal),
  insert: (signal) => execute({ command: 'insert', path: AT, insert_line: 0, insert_text: 'two\n' }, signal),
  rename: (signal) => execute({ command: 'rename', old_path: AT, new_path: '/memories/b' }, signal),
  'files.write': (signal) => memory.files.write(AT, 'two', { signal }),
  'files.append': (signal) => memory.files.append(AT, 'two', { signal }),
  'files.copy': (signal) => memory.files.copy(AT, '/memories/b', { signal }),
  'files.rename': (signal) => memory.files.rename(AT, '/memories/b', { signal }),
};

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'done';
  } catch (error) {
    return hasCode(error, 'unavailable', 'aborted', 'policy_refused') ? error.code : String(error);
  }
}

async function stored(): Promise<Readonly<Record<string, string | undefined>>> {
  const paths: string[] = [];
  for await (const { path } of memory.files.list()) paths.push(path);
  const read = async (path: string) => [path, (await memory.files.read(path))?.text()] as const;
  return Object.fromEntries(await Promise.all(paths.map(read)));
}

const throwing =
  (code: MemoryErrorCode): Policy =>
  () => {
    throw new MemoryError(code, 'text');
  };

const rubbish =
  (value: unknown): Policy =>
  () =>
    value as PolicyVerdict;

/** The policies that do something wrong without holding anything. */
const WRONG: readonly (readonly [string, Policy])[] = [
  [
    'throws',
    () => {
      throw new Error('text');
    },
  ],
  ['rejects', () => Promise.reject(new Error('text'))],
  ['throws that the file exists', throwing('already_exists')],
  ['throws that the outcome is unknown', throwing('outcome_unknown')],
  ['throws that a file is damaged', throwing('integrity')],
  ['throws that it was cancelled', throwing('aborted')],
  ['rejects with nothing', () => Promise.reject()],
  ['answers nothing', rubbish(undefined)],
  ['answers true', rubbish(true)],
  ['answers an empty object', rubbish({})],
  ['refuses for no reason it can name', rubbish({ refuse: [null] })],
  ['refuses with a text', rubbish({ refuse: 'secrets' })],
  ['redacts to a text', rubbish({ redact: 'two', findings: [] })],
  ['redacts without findings', rubbish({ redact: new Uint8Array(), findings: undefined })],
  [
    'answers with an object that cannot be read',
    rubbish({
      get refuse() {
        throw new Error('text');
      },
    }),
  ],
  [
    'fails twice, and answers then',
    rubbish({
      // biome-ignore lint/suspicious/noThenProperty: such an object is handed in on purpose
      then(resolve: (verdict: PolicyVerdict) => void, reject: (error: Error) => void) {
        reject(new Error('first'));
        reject(new Error('second'));
        resolve('allow');
      },
    }),
  ],
];

describe.each(Object.entries(ASKED))('"%s" under a policy', (_, ask) => {
  it.each(WRONG)('that %s is refused as unavailable, and leaves the path free', async (_name, wrong) => {
    policy = wrong;
    expect(await codeOf(ask())).toBe('unavailable');
    policy = () => 'allow';
    expect(await stored()).toEqual({ [AT]: 'one' });
    expect(await codeOf(ask())).toBe('done');
  });

  it('that never answers ends when its caller cancels, and a late answer writes nothing', async () => {
    const caller = new AbortController();
    const { promise, resolve } = Promise.withResolvers<PolicyVerdict>();
    const asked = Promise.withResolvers<void>();
    policy = () => {
      asked.resolve();
      return promise;
    };
    const outcome = codeOf(ask(caller.signal));
    await asked.promise;
    caller.abort();
    expect(await outcome).toBe('aborted');
    policy = () => 'allow';
    resolve('allow');
    expect(await stored()).toEqual({ [AT]: 'one' });
    expect(await codeOf(ask())).toBe('done');
    await memory.close();
  });

  it.each([
    ['allows', (late: PromiseWithResolvers<PolicyVerdict>) => late.resolve('allow')],
    ['rejects', (late: PromiseWithResolvers<PolicyVerdict>) => late.reject(new Error('late'))],
  ])('that %s after a minute is refused at the minute, and a close waits no longer', async (_name, end) => {
    const late = Promise.withResolvers<PolicyVerdict>();
    const asked = Promise.withResolvers<void>();
    policy = () => {
      asked.resolve();
      return late.promise;
    };
    const outcome = codeOf(ask());
    await asked.promise;
    const closed = memory.close();
    await vi.advanceTimersByTimeAsync(BOUND_MS - 1);
    expect(await Promise.race([outcome, 'waits'])).toBe('waits');
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toBe('unavailable');
    await closed;
    end(late);
    policy = () => 'allow';
    memory = await openMemory({ store, rootKey, tenant: 'acme', logger: silentLogger });
    expect(await stored()).toEqual({ [AT]: 'one' });
  });
});

describe('edits of one path under a policy that never answers to one of them', () => {
  it('wait a minute for all of those that it holds, and not a minute for each', async () => {
    policy = ({ content }) => (Buffer.from(content ?? []).includes('held') ? new Promise(() => {}) : 'allow');
    const held = [1, 2, 3, 4].map((each) => codeOf(memory.files.append(AT, ` held ${each}`)));
    const outcomes = Promise.all([...held, codeOf(memory.files.append(AT, ' two'))]);
    const closed = memory.close();
    for (let second = 0; second < 130; second += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await Promise.race([outcomes, 'waits'])).toEqual([...held.map(() => 'unavailable'), 'done']);
    await closed;
    policy = () => 'allow';
    memory = await openMemory({ store, rootKey, tenant: 'acme', logger: silentLogger });
    expect(await stored()).toEqual({ [AT]: 'one two' });
  });

  it('go on without it once its caller has cancelled', async () => {
    const caller = new AbortController();
    const asked = Promise.withResolvers<void>();
    policy = ({ content }) => {
      if (!Buffer.from(content ?? []).includes('held')) return 'allow';
      asked.resolve();
      return new Promise(() => {});
    };
    const held = codeOf(memory.files.append(AT, ' held', { signal: caller.signal }));
    await asked.promise;
    const behind = memory.files.append(AT, ' two');
    caller.abort();
    expect(await held).toBe('aborted');
    await behind;
    expect(await stored()).toEqual({ [AT]: 'one two' });
  });
});
