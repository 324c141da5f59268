import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Memory, type MemoryOptions, openMemory, type Touch } from '../../../src/index.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { collectTouches, MOST_TOUCHES } from '../../../src/tree/touches.ts';

const PATH = '/memories/a.md';

describe('what a call tells of the files that it touches', () => {
  let store: ObjectStore;
  let memory: Memory;
  let touches: Touch[];
  const open = (more: Partial<MemoryOptions> = {}): Promise<Memory> =>
    openMemory({
      store,
      tenant: 'acme',
      rootKey: new Uint8Array(32).fill(1),
      history: { days: 30 },
      ...more,
    });
  const run = async (input: unknown): Promise<void> => {
    await memory.execute(input, { onTouch: (touch) => touches.push(touch) });
  };
  /** The versions of a file as the history names them, the oldest first. */
  const versions = async (path: string): Promise<readonly string[]> =>
    (await memory.history.list(path))
      .flatMap((entry) => (entry.kind === 'written' ? entry.version : []))
      .reverse();

  beforeEach(async () => {
    store = openSqliteObjectStore({ path: ':memory:' });
    memory = await open();
    touches = [];
  });
  afterEach(async () => {
    await memory.close();
    await store[Symbol.asyncDispose]();
  });

  it('names the versions that were written and read, by whichever call', async () => {
    await run({ command: 'create', path: PATH, file_text: 'one\n' });
    await run({ command: 'view', path: PATH });
    await run({ command: 'str_replace', path: PATH, old_str: 'one', new_str: 'two' });
    await run({ command: 'insert', path: PATH, insert_line: 0, insert_text: 'three' });
    await memory.files.write(PATH, 'four', { onTouch: (touch) => touches.push(touch) });
    const [one, two, three, four] = await versions(PATH);
    expect(touches).toEqual([
      { kind: 'written', path: PATH, version: one },
      { kind: 'read', path: PATH, version: one },
      { kind: 'read', path: PATH, version: one },
      { kind: 'written', path: PATH, version: two },
      { kind: 'read', path: PATH, version: two },
      { kind: 'written', path: PATH, version: three },
      { kind: 'written', path: PATH, version: four },
    ]);
  });

  it('names the same version behind a rename, and what was renamed and deleted', async () => {
    await run({ command: 'create', path: PATH, file_text: 'one' });
    await run({ command: 'rename', old_path: PATH, new_path: '/memories/d/b.md' });
    await run({ command: 'view', path: '/memories/d/b.md' });
    await run({ command: 'rename', old_path: '/memories/d', new_path: '/memories/e' });
    await run({ command: 'view', path: '/memories/e/b.md' });
    await run({ command: 'delete', path: '/memories/e' });
    const version = touches[0]?.kind === 'written' ? touches[0].version : undefined;
    expect(version).toMatch(/^[\w-]{22}$/);
    expect(touches.slice(1)).toEqual([
      { kind: 'renamed', path: PATH, to: '/memories/d/b.md' },
      { kind: 'read', path: '/memories/d/b.md', version },
      { kind: 'renamed', path: '/memories/d', to: '/memories/e' },
      { kind: 'read', path: '/memories/e/b.md', version },
      { kind: 'deleted', path: '/memories/e' },
    ]);
  });

  it('tells nothing of a listing, of what is not there, and of what was refused', async () => {
    await run({ command: 'create', path: PATH, file_text: 'one' });
    touches = [];
    await run({ command: 'view', path: '/memories' });
    await run({ command: 'view', path: '/memories/none' });
    await run({ command: 'str_replace', path: PATH, old_str: 'no such text', new_str: 'x' });
    await run({ command: 'rename', old_path: '/memories/none', new_path: '/memories/x' });
    await run({ command: 'delete', path: '/memories/none' });
    expect(touches).toEqual([]);
  });

  it('tells each of several edits that were written together of the version that carries it', async () => {
    await run({ command: 'create', path: PATH, file_text: 'a\nb\nc\n' });
    touches = [];
    await Promise.all(
      ['a', 'b', 'missing', 'c'].map((old) =>
        run({ command: 'str_replace', path: PATH, old_str: old, new_str: old.toUpperCase() }),
      ),
    );
    const written = touches.flatMap((touch) => (touch.kind === 'written' ? touch.version : []));
    expect(written).toHaveLength(3);
    expect(new Set(written)).toEqual(new Set((await versions(PATH)).slice(1)));
  });

  it('tells applications of their files, and of mounted ones under the paths that they have there', async () => {
    await using mounted = await open({ mounts: [{ at: '/memories/handbook', tenant: 'org' }] });
    const onTouch = (touch: Touch): unknown => touches.push(touch);
    const path = '/memories/handbook/a.md';
    await mounted.files.write(path, 'x', { onTouch });
    await mounted.files.read(path, { onTouch });
    await mounted.files.rename(path, '/memories/handbook/b.md', { onTouch });
    await mounted.files.remove('/memories/handbook/b.md', { onTouch });
    const version = touches[0]?.kind === 'written' ? touches[0].version : undefined;
    expect(touches).toEqual([
      { kind: 'written', path, version },
      { kind: 'read', path, version },
      { kind: 'renamed', path, to: '/memories/handbook/b.md' },
      { kind: 'deleted', path: '/memories/handbook/b.md' },
    ]);
  });
});

describe('collected touches', () => {
  const read = (number: number): Touch => ({
    kind: 'read',
    path: `/memories/${number}`,
    version: `v${number}`,
  });

  it('list a version that is read again once, also behind those of an earlier run', () => {
    const first = collectTouches();
    for (const number of [1, 2, 1]) first.add(read(number));
    expect(first.touches()).toEqual({ list: [read(1), read(2)], unlisted: 0 });
    const next = collectTouches(first.touches());
    for (const number of [2, 3]) next.add(read(number));
    expect(next.touches().list).toEqual([read(1), read(2), read(3)]);
  });

  it('are bounded, and say how many more there were', () => {
    const collected = collectTouches();
    for (let number = 0; number < 10_000; number++) collected.add(read(number));
    const { list, unlisted } = collected.touches();
    expect(list).toHaveLength(MOST_TOUCHES);
    expect(list.length + unlisted).toBe(10_000);
  });
});
