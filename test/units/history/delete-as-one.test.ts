import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ChangeResult, Changes, ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

const DIRECTORY = '/memories/d';
const [A, B] = [`${DIRECTORY}/a`, `${DIRECTORY}/b`];
const rootKey = new Uint8Array(32).fill(5);
const optionsOf = (store: ObjectStore | string) => ({ store, tenant: 'acme', rootKey, logger: silentLogger });

async function keepHistory(store: ObjectStore | string): Promise<Memory> {
  await using admin = await openAdmin(optionsOf(store));
  await admin.switchHistory('on');
  const memory = await openMemory(optionsOf(store));
  await memory.files.write(A, 'text of a');
  await memory.files.write(B, 'text of b');
  return memory;
}

/** What became of each path: `there`, or how the version ended whose text is kept, and what else the history tells. */
async function fatesOf(memory: Memory): Promise<Readonly<Record<string, readonly string[]>>> {
  const fates: Record<string, readonly string[]> = {};
  for (const path of [A, B]) {
    const told = (await memory.history.list(path)).map((entry) =>
      entry.kind === 'written' ? `${entry.end}, ${entry.text}` : entry.kind,
    );
    fates[path] = (await memory.files.exists(path)) ? ['there', ...told] : told;
  }
  return fates;
}

const GONE = ['deleted', 'deleted, kept'];
const THERE = ['there', 'current, kept'];

describe('a delete with history, on a store that makes several changes as one', () => {
  const opened: Memory[] = [];
  afterEach(async () => {
    for (const memory of opened.splice(0)) await memory.close();
  });

  /** The changes that reach the store, and what happens before each. */
  async function start(): Promise<{
    readonly memory: Memory;
    readonly other: Memory;
    readonly below: ObjectStore;
    readonly changes: Changes[];
    readonly before: { next?: (() => Promise<unknown>) | undefined };
  }> {
    const below = openSqliteObjectStore({ path: ':memory:' });
    const changes: Changes[] = [];
    const before: { next?: (() => Promise<unknown>) | undefined } = {};
    const store: ObjectStore = {
      ...below,
      async changeAll(change, options): Promise<ChangeResult> {
        changes.push(change);
        const { next } = before;
        before.next = undefined;
        await next?.();
        return (await below.changeAll?.(change, options)) ?? { etags: [] };
      },
    };
    const other = await keepHistory(below);
    const memory = await openMemory(optionsOf(store));
    opened.push(memory, other);
    return { memory, other, below, changes, before };
  }

  it('is one change, of a file and of a directory', async () => {
    const { memory, changes } = await start();
    await memory.files.remove(A);
    expect(changes.map(({ puts, deletes }) => [puts.length, deletes.length])).toEqual([[2, 1]]);
    expect(await fatesOf(memory)).toEqual({ [A]: GONE, [B]: THERE });
    await memory.files.write(A, 'another');
    await memory.execute({ command: 'delete', path: DIRECTORY });
    expect(changes.map(({ puts, deletes }) => [puts.length, deletes.length]).at(-1)).toEqual([3, 2]);
    expect((await fatesOf(memory))[B]).toEqual(GONE);
    expect(await memory.files.exists(A)).toBe(false);
  });

  it('takes a file that was edited meanwhile as it is then, and the others with it', async () => {
    const { memory, other, before } = await start();
    before.next = () => other.files.append(B, ', and more');
    await memory.execute({ command: 'delete', path: DIRECTORY });
    const fates = await fatesOf(memory);
    expect(fates[A]).toEqual(GONE);
    expect(fates[B]).toEqual(['deleted', 'deleted, kept', 'replaced, kept']);
  });

  it('goes on where another process deletes the file at the same moment', async () => {
    const { memory, other, before } = await start();
    before.next = () => other.files.remove(B);
    await memory.execute({ command: 'delete', path: DIRECTORY });
    expect(await fatesOf(memory)).toEqual({ [A]: GONE, [B]: GONE });
  });

  it.each([
    ['a delete: it stays', (memory: Memory) => memory.files.remove(A), 'nothing'],
    ['an edit: it says so', (memory: Memory) => memory.files.append(A, ' and more'), 'replaced'],
  ] as const)('meets what was saved for an attempt that came to nothing, for %s', async (_, verb, record) => {
    const { memory, below, changes } = await start();
    const refuse = async (): Promise<never> => {
      throw new MemoryError('access_denied', 'refused by the test');
    };
    const { changeAll: __, ...plain } = below;
    const refusing = await openMemory(
      optionsOf({
        ...plain,
        put: (key, ...rest) => (key.includes('/data/') ? refuse() : plain.put(key, ...rest)),
        delete: refuse,
      }),
    );
    opened.push(refusing);
    await expect(verb(refusing)).rejects.toMatchObject({ code: 'access_denied' });
    await memory.files.remove(A);
    const modes = changes.map(({ puts }) => puts.map(({ mode }) => (mode === 'create' ? mode : 'replaced')));
    expect(modes).toEqual([['create', 'create'], record === 'nothing' ? ['create'] : ['replaced', 'create']]);
    expect((await fatesOf(memory))[A]).toEqual(GONE);
  });
});

describe('a process that is killed while it deletes with history', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-killed-delete-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const SCRIPT = fileURLToPath(new URL('./killed-delete.ts', import.meta.url));
  /** More than a delete takes. */
  const MOST_STATEMENTS = 40;

  it.each([
    ['a file', A, 'as-usual'],
    ['a file, on a full disk', A, 'full'],
    ['a directory, on a full disk', DIRECTORY, 'full'],
  ])('leaves nothing half, at any statement: %s', { timeout: 240_000 }, async (title, path, disk) => {
    const prepared = join(folder, `${disk}-${path.length}.db`);
    await (await keepHistory(`sqlite:${prepared}`)).close();
    const seen = new Set<string>();
    let statement = 0;
    for (let done = false; !done; ) {
      expect(++statement).toBeLessThan(MOST_STATEMENTS);
      const file = `${prepared}-${statement}.copy`;
      copyFileSync(prepared, file);
      const { stdout, stderr, signal } = spawnSync(
        process.execPath,
        [SCRIPT, file, path, String(statement), disk],
        { encoding: 'utf8' },
      );
      expect(stderr).toBe('');
      done = signal === null;
      expect(stdout).toBe(done ? 'done\n' : '');
      const memory = await openMemory(optionsOf(`sqlite:${file}`));
      const fates = await fatesOf(memory);
      for (const each of path === A ? [A] : [A, B]) {
        expect([GONE, THERE], `${title}, statement ${statement}`).toContainEqual(fates[each]);
        seen.add(String(fates[each]));
        if (done) expect(fates[each]).toEqual(GONE);
      }
      // The next write takes the reserve again.
      await memory.files.write('/memories/next', 'text');
      await memory.close();
      expect(statSync(`${file}-reserve`).size).toBe(1_310_720);
    }
    expect(seen.size).toBe(2);
    expect(statement).toBeGreaterThan(4);
  });
});
