import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { weightOf } from '../../src/admin/findings.ts';
import type { MemoryError } from '../../src/errors.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import { createMemoryPool } from '../../src/open/pool.ts';
import type { TenantAdmin } from '../../src/open/tenant-admin.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { THOROUGH } from '../runner/thorough.ts';
import { silentLogger } from '../stage/silent-logger.ts';

/*
 * Two processes and an administration stay warm while the clock passes each time for which something is kept or
 * trusted, one by one. Whatever they remember, they must answer as a process that has just begun.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DAYS = 20;

/** Each pause, and what ends within it. */
const PAUSES: readonly (readonly [string, number])[] = [
  ['a lease of a rename, a failure of the keyring', 11 * SECOND],
  ['the time within which a keyring counts as looked at', 31 * SECOND],
  [
    'the count of the tenant’s files, the time after which a file stays, one that is ahead of the clock',
    61 * SECOND,
  ],
  ['the keyring in the cache, the confirmation of a file that stays', 5 * MINUTE + SECOND],
  ['the longest keyring of any process', 15 * MINUTE + SECOND],
  ['the mark of an expiry, a tombstone, a key that is followed, a note of the version saver', HOUR + SECOND],
  ['the name of a conversation', 12 * HOUR + SECOND],
  ['the name of an actor, the record of a read', DAY + SECOND],
  ['the age at which an actor is renewed', 7 * DAY + SECOND],
  ['a prompt', 14 * DAY + SECOND],
  ['the trace of a turn', 15 * DAY + SECOND],
  ['the history, the files and the sessions', DAYS * DAY + HOUR],
  ['the history and the time between two looks for actors', (DAYS + 30) * DAY + HOUR],
  ['the checkpoints', 90 * DAY + HOUR],
  ['the history, the checkpoints and the actors', 150 * DAY],
  ['everything', 3_700 * DAY],
];

let store: ObjectStore;
const options = (): MemoryOptions => ({
  store,
  rootKey: Buffer.alloc(32, 7),
  tenant: 'acme',
  history: { days: DAYS },
  expireAfterDays: DAYS,
  limits: { files: 50 },
  logger: silentLogger,
});

/** The events while nobody is at work; each begins anew, as an operator or a schedule does. */
const MEANWHILE: Readonly<Record<string, (admin: TenantAdmin) => Promise<unknown>>> = {
  nothing: async () => {},
  'two runs of the expiry': async (admin) => {
    await admin.expire();
    await vi.advanceTimersByTimeAsync(2 * HOUR);
    await admin.expire();
  },
  'a new key and a migration to it': async (admin) => {
    await admin.rotate({ force: true });
    await vi.advanceTimersByTimeAsync(HOUR);
    await admin.migrate({ reencrypt: true });
  },
  'history turned on or off': async (admin) => {
    await admin.switchHistory((await admin.history.state()) === 'on' ? 'off' : 'on');
    await vi.advanceTimersByTimeAsync(15 * MINUTE);
  },
};
/** A usual run has the expiry alone, which takes away what a warm process may rely on. */
const USUAL = 'two runs of the expiry';
/** A file that only one of the processes reads. */
const READ = '/memories/read';
/** A file of an actor who writes in the first round, and again once nothing names it any more. */
const RARE = '/memories/rare';

beforeEach(() => {
  const toFake = ['Date', 'performance', 'setTimeout', 'clearTimeout'] as const;
  vi.useFakeTimers({ toFake: [...toFake], now: Date.UTC(2026, 0, 1, 12) });
  store = openSqliteObjectStore({ path: ':memory:' });
});
afterEach(async () => {
  vi.useRealTimers();
  await store[Symbol.asyncDispose]();
});

/** Lets time pass only where the work waits for it. */
async function settled<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  over.catch(() => {});
  for (let turns = 1; !isOver; turns += 1) {
    await turn();
    if (!isOver && turns % 20 === 0) await vi.advanceTimersByTimeAsync(50);
  }
  return over;
}

type Stored = Readonly<Record<string, string | undefined>>;

async function filesOf(memory: Memory): Promise<Stored> {
  const found: Record<string, string | undefined> = {};
  for await (const { path, type } of memory.files.list('/memories', { recursive: true })) {
    if (type === 'file' && path !== READ) found[path] = (await memory.files.read(path))?.text();
  }
  return found;
}

const NAMES = ['a', 'b'] as const;
type Name = (typeof NAMES)[number];
const sessionOf = (name: Name) => ({ projectKey: 'project', sessionId: name });

interface Seen {
  readonly files: Stored;
  readonly [question: string]: unknown;
}

/** All that can be seen of the tenant. */
async function seenBy(memory: Memory): Promise<Seen> {
  const view = async (path: string) => {
    const { isError, content } = await memory.execute({ command: 'view', path });
    return { isError, content };
  };
  return {
    files: await filesOf(memory),
    views: [await view('/memories'), await view('/memories/a/one'), await view('/memories/b/dir')],
    history: await memory.history.list(),
    page: await memory.history.list('/memories/a/one', { limit: 2 }),
    state: await memory.history.state(),
    sessions: await Promise.all(NAMES.map((name) => memory.sessions.load(sessionOf(name)))),
    listed: (await memory.sessions.list('project')).map(({ sessionId }) => sessionId).sort(),
    stat: await memory.files.stat('/memories/b/one'),
  };
}

/** Answers what an undo would do; while the tenant keeps no history it is refused. */
const planOf = ({ history }: TenantAdmin): Promise<unknown> =>
  history.undo({ writer: 'actor a', dryRun: true }).catch(({ code }: MemoryError) => code);

/** The commands of one process, each on what the other has left, and the files that they make. */
async function workOf(name: Name, memory: Memory, round: number): Promise<void> {
  const run = async (input: Record<string, unknown>): Promise<void> => {
    const { isError, content } = await memory.execute(input);
    expect(`${isError} ${content}`).toMatch(/^false /);
  };
  const before = await filesOf(memory);
  for (const other of NAMES) {
    const path = `/memories/${other}/one`;
    const text = before[path];
    if (text === undefined) await run({ command: 'create', path, file_text: `again ${round}\n` });
    else await run({ command: 'str_replace', path, old_str: text, new_str: `${text}${name} ${round}\n` });
    await run({ command: 'insert', path, insert_line: 0, insert_text: `first ${name} ${round}\n` });
    await memory.sessions.append(sessionOf(other), [JSON.stringify({ uuid: `${round} ${name} ${other}` })]);
  }
  const [dir, other] = [`/memories/${name}/dir`, `/memories/${name}/other`];
  if (before[`${dir}/two`] === undefined) {
    await run({ command: 'create', path: `${dir}/two`, file_text: 'two' });
  }
  await run({ command: 'rename', old_path: dir, new_path: other });
  await run({ command: 'rename', old_path: other, new_path: dir });
  await run({ command: 'create', path: `/memories/new ${name}`, file_text: 'new' });
  await run({ command: 'delete', path: `/memories/new ${name}` });
}

describe.each(Object.keys(MEANWHILE).filter((name) => THOROUGH || name === USUAL))(
  'warm processes, with %s in the pauses,',
  (meanwhile) => {
    it('are right after each time for which something is kept', async () => {
      const pool = createMemoryPool({ ...options(), tenant: undefined, actor: 'actor b' } as never);
      const memories = {
        a: await settled(openMemory({ ...options(), actor: 'actor a' })),
        b: await settled(pool.open('acme')),
      };
      const warm = await settled(openAdmin(options()));
      for (const name of NAMES) await settled(workOf(name, memories[name], 0));
      await settled(memories.a.files.write(READ, 'read'));
      for (const [round, [what, ms]] of PAUSES.entries()) {
        if (round === 0 || ms >= 90 * DAY) {
          for (const memory of Object.values(memories)) {
            await settled(memory.files.write(RARE, what, { actor: 'actor c' }));
          }
        }
        await settled(memories.b.files.read(READ));
        for (const memory of Object.values(memories)) await settled(seenBy(memory));
        const taken = await settled(warm.checkpoint());
        await vi.advanceTimersByTimeAsync(ms);
        {
          await using operator = await settled(openAdmin(options()));
          await settled(MEANWHILE[meanwhile]?.(operator) ?? Promise.resolve());
        }
        await using cold = await settled(openMemory(options()));
        await using coldAdmin = await settled(openAdmin(options()));
        const seen = await settled(seenBy(cold));
        const isKept =
          meanwhile !== USUAL ||
          Math.max(0, ...PAUSES.slice(0, round + 1).map(([, each]) => each)) < DAYS * DAY;
        expect(await settled(cold.files.exists(READ)), what).toBe(isKept);
        for (const name of NAMES)
          expect(await settled(seenBy(memories[name])), `${what}: ${name}`).toEqual(seen);
        for (const name of NAMES) await settled(workOf(name, memories[name], round + 1));
        const after = await settled(seenBy(cold));
        for (const name of NAMES)
          expect(await settled(seenBy(memories[name])), `${what}: ${name}`).toEqual(after);
        const list = await settled(cold.history.list());
        // A hash would stand here for an actor whose record has gone; the expiry itself acts for none.
        const known = [undefined, 'actor a', 'actor b', 'actor c'];
        expect(
          list.filter(({ writer }) => !known.includes(writer)),
          what,
        ).toEqual([]);
        for (const admin of [warm, coldAdmin]) {
          expect((await settled(admin.verify())).findings, what).toEqual([]);
          const { findings } = await settled(admin.verify({ since: taken.line }));
          expect(
            findings.filter((each) => weightOf(each) === 'alarm'),
            what,
          ).toEqual([]);
          expect(await settled(admin.keyStatus()), what).toEqual(await settled(coldAdmin.keyStatus()));
          expect(await settled(admin.history.list()), what).toEqual(list);
        }
        expect(await settled(planOf(warm)), what).toEqual(await settled(planOf(coldAdmin)));
      }
      await settled(memories.a.close());
      await settled(pool.close());
      await settled(warm.close());
    });
  },
);
