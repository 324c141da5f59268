import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { SessionFold } from '../../../src/sessions/fold.ts';
import type { SessionKey } from '../../../src/sessions/session-key.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

const KEY: SessionKey = { projectKey: 'project', sessionId: 'session' };
const [FIRST, SECOND] = ['{"uuid":"a"}', '{"uuid":"b"}'];

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

/** The mistakes of a fold. None of them may cost a line. */
const WRONG: Readonly<Record<string, Partial<SessionFold>>> = {
  'that throws': {
    fold: () => {
      throw new Error('text');
    },
  },
  'that answers nothing': { fold: () => undefined },
  'that answers a function': { fold: () => () => 1 },
  'that answers a symbol': { fold: () => Symbol('text') },
  'that answers a number too large for JSON': { fold: () => 1n },
  'that answers an object within itself': { fold: () => cyclic },
  'that answers an object that cannot be written': {
    fold: () => ({
      toJSON() {
        throw new Error('text');
      },
    }),
  },
  'that answers later': { fold: async () => 1 },
  'that fails later': { fold: () => Promise.reject(new Error('text')) },
  'that never ends': { fold: () => new Promise(() => {}) },
  'that changes what it is given': {
    fold(previous, key, lines) {
      Object.assign(Object(previous), { more: 1 });
      Object.assign(key, { sessionId: 'another' });
      (lines as string[]).length = 0;
      throw new Error('text');
    },
  },
  'without a name': { by: undefined as never, fold: () => 1 },
  'that is none': { fold: undefined as never },
};

const RIGHT: SessionFold = {
  by: 'test',
  fold: (previous, _, lines) => ({ count: Number(Object(previous).count ?? 0) + lines.length }),
};

let store: ObjectStore;
const open = (): Promise<Memory> =>
  openMemory({ store, rootKey: Buffer.alloc(32, 7), tenant: 'acme', logger: silentLogger });

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
  process.off('unhandledRejection', note);
  await store[Symbol.asyncDispose]();
});

describe.each(Object.entries(WRONG))('a fold %s', (_, given) => {
  const wrong: SessionFold = { ...RIGHT, ...given };

  it.each([
    ['at the first lines', wrong, RIGHT],
    ['behind a summary', RIGHT, wrong],
    ['always', wrong, wrong],
  ])('loses no line, %s, and leaves the summary to another fold', async (_name, first, second) => {
    {
      await using memory = await open();
      await memory.sessions.append(KEY, [FIRST], { fold: first });
      await memory.sessions.append(KEY, [SECOND], { fold: second });
    }
    await using memory = await open();
    expect(await memory.sessions.load(KEY)).toEqual([FIRST, SECOND]);
    const [failed, told] = [
      await memory.sessions.list('project', { fold: wrong }),
      await memory.sessions.list('project', { fold: RIGHT }),
    ];
    expect(failed.map(({ sessionId }) => sessionId)).toEqual(['session']);
    expect(told).toMatchObject([{ sessionId: 'session', summary: { count: 2 } }]);
    await turn();
    expect(unhandled).toEqual([]);
  });
});
