import { afterEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ChangeResult, Changes, ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { A, B, DIRECTORY, fatesOf, GONE, keepHistory, optionsOf, THERE } from './deleted-files.ts';

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
