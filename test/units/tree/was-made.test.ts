import { describe, expect, it } from 'vitest';
import { createOnce } from '../../../src/agent/once.ts';
import { MemoryError } from '../../../src/errors.ts';
import { fileKey } from '../../../src/format/object-keys.ts';
import { sealedSize } from '../../../src/format/sizes.ts';
import type { MemoryPath } from '../../../src/language/path.ts';
import type { MemoryResult } from '../../../src/tool/memory-tool.ts';
import { drawId } from '../../../src/tree/draw-id.ts';
import type { KeptCall, Once } from '../../../src/tree/tenant.ts';
import type { Touch } from '../../../src/tree/touches.ts';
import { memoryOf } from '../../stage/client-memory.ts';
import { at, bytes, openSite, type TestClient } from '../../stage/test-tree.ts';

const KEY = Uint8Array.from({ length: 12 }, (_, index) => 200 + index);
const NOW = Date.UTC(2026, 5, 1);
const A = '/memories/a.md';
const B = '/memories/b.md';
const INSERT = { command: 'insert', path: A, insert_line: 0, insert_text: 'new' };
const REPLACE = { command: 'str_replace', path: A, old_str: 'end', new_str: 'the end' };
const CREATE = { command: 'create', path: A, file_text: 'made' };
const DELETE = { command: 'delete', path: A };
const RENAME = { command: 'rename', old_path: A, new_path: B };
const MAYBE = 'Error: The edit may have been applied. View /memories/a.md before trying again.';

const once = (index = 0, again?: Once['again']): Once => createOnce({ key: KEY, index }, again);

interface Place {
  readonly other: TestClient;
  /** Runs a command as a process that dies behind it, unless it is a later process that judges it first. */
  make(input: unknown, index?: number): Promise<MemoryResult>;
  judge(
    input: unknown,
    options?: { readonly index?: number; readonly seen?: readonly string[] },
  ): Promise<string>;
  readonly touches: Touch[];
  /** The name of the version at the path. */
  version(path?: string): Promise<string>;
}

/** A place where a file was written a minute before the call. */
async function open({ keepsHistory = false, text = 'one\nend\n' } = {}): Promise<Place> {
  const site = await openSite('guarded', 1, undefined, NOW);
  const other = await site.client({ keepsHistory });
  await other.open();
  if (text !== '') await other.create(A, text);
  await site.time.pause(60_000);
  const since = site.time.clock();
  const touches: Touch[] = [];
  const run = async (input: unknown, given: Once): Promise<MemoryResult> => {
    const { tree, tenant } = await site.client();
    const memory = memoryOf({ tree, tenant });
    const call: KeptCall = { once: given, onTouch: (touch) => touches.push(touch) };
    return memory.execute(input, call);
  };
  return {
    other,
    touches,
    make: (input, index) => run(input, once(index)),
    async judge(input, { index, seen = [] } = {}) {
      await site.time.pause(1_000);
      const again = { since, seen: new Set(seen) };
      return String((await run(input, once(index, again))).content);
    },
    async version(path = A) {
      const heard: Touch[] = [];
      await other.tree.read(path as MemoryPath, { onTouch: (touch) => heard.push(touch) });
      const [touch] = heard;
      return touch && 'version' in touch ? touch.version : expect.unreachable();
    },
  };
}

describe('a write that may have been made before', () => {
  it.each([
    [INSERT, 'The file /memories/a.md has been edited.', 'new\none\nend\n'],
    [
      REPLACE,
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     2\tthe end\n     3\t',
      'one\nthe end\n',
    ],
  ])('is answered as it was where its version is there: %o', async (input, said, text) => {
    const { make, judge, touches, other, version } = await open();
    const first = await make(input);
    const before = [...touches];
    touches.length = 0;
    expect(await judge(input)).toBe(first.content);
    expect(first.content).toBe(said);
    expect(await other.text(A)).toBe(text);
    // The trace of the turn is that of the first time.
    expect(touches.filter(({ kind }) => kind === 'written')).toEqual(
      before.filter(({ kind }) => kind === 'written'),
    );
    expect(touches).toContainEqual({ kind: 'written', path: A, version: await version() });
  });

  it('is answered as it was where another writer has built on its version', async () => {
    const { make, judge, other } = await open();
    await make(REPLACE);
    await other.append(A, 'by another\n');
    expect(await judge(REPLACE)).toContain('The memory file has been edited. Here is the snippet');
    expect(await other.text(A)).toBe('one\nthe end\nby another\n');
  });

  it('is answered without the place of a text that cannot be found', async () => {
    const { make, judge } = await open();
    const cut = { ...REPLACE, new_str: '' };
    await make(cut);
    expect(await judge(cut)).toBe('The memory file has been edited.');
  });

  it('is made where the version is one that was met before', async () => {
    const { judge, other, version } = await open();
    expect(await judge(INSERT, { seen: [await version()] })).toBe('The file /memories/a.md has been edited.');
    expect(await other.text(A)).toBe('new\none\nend\n');
  });

  it('is not made where nobody knows the version, and no history is kept', async () => {
    const { judge, other } = await open();
    expect(await judge(INSERT)).toBe(MAYBE);
    expect(await other.text(A)).toBe('one\nend\n');
  });

  it('is made where the version is days older than the call', async () => {
    const site = await openSite('guarded', 1, undefined, NOW);
    const other = await site.client();
    await other.create(A, 'one\n');
    const { tree } = await site.client();
    const deed = { kind: 'written', path: at(A) } as const;
    const day = 86_400_000;
    const ask = (since: number) => tree.wasMade(deed, { once: once(0, { since, seen: new Set() }) });
    expect([await ask(NOW + 4 * day), await ask(NOW + 2 * day)]).toEqual([false, undefined]);
  });

  it('is not made behind two edits of another writer, and no history is kept', async () => {
    const { make, judge, other, version } = await open();
    const seen = [await version()];
    await make(INSERT);
    for (const text of ['x\n', 'y\n']) await other.append(A, text);
    expect(await judge(INSERT, { seen })).toBe(MAYBE);
    expect(await other.text(A)).toBe('new\none\nend\nx\ny\n');
  });

  it('is told by the history, however many edits are behind it', async () => {
    const { make, judge, other } = await open({ keepsHistory: true });
    await make(INSERT);
    for (const text of ['x\n', 'y\n']) await other.append(A, text);
    expect(await judge(INSERT)).toBe('The file /memories/a.md has been edited.');
    expect(await other.text(A)).toBe('new\none\nend\nx\ny\n');
  });

  it('is made where the history has none of it', async () => {
    const { judge, other } = await open({ keepsHistory: true });
    for (const text of ['x\n', 'y\n']) await other.append(A, text);
    expect(await judge(INSERT)).toBe('The file /memories/a.md has been edited.');
    expect(await other.text(A)).toBe('new\none\nend\nx\ny\n');
  });

  it('is told by the history where another writer has moved its version away', async () => {
    const { make, judge, other } = await open({ keepsHistory: true });
    await make(INSERT);
    await other.rename(A, B);
    await other.create(A, 'another\n');
    expect(await judge(INSERT)).toBe('The file /memories/a.md has been edited.');
    expect(await other.text(A)).toBe('another\n');
  });

  it('is not made on a version that may have come back to its path', async () => {
    const { judge, other, version } = await open();
    const seen = [await version()];
    await other.rename(A, B);
    await other.rename(B, A);
    expect(await judge(INSERT, { seen })).toBe(MAYBE);
  });

  it('is told of each of several calls of a reply', async () => {
    const { make, judge, other, version } = await open();
    const seen = [await version()];
    const inputs = ['w0', 'w1', 'w2'].map((insert_text) => ({ ...INSERT, insert_text }));
    await Promise.all(inputs.slice(0, 2).map((input, index) => make(input, index)));
    for (const [index, input] of inputs.entries())
      expect(await judge(input, { index, seen })).not.toBe(MAYBE);
    const words = (await other.text(A))?.match(/w\d/g)?.sort();
    expect(words).toEqual(['w0', 'w1', 'w2']);
  });

  it.each([false, true])(
    'is told of each of two replies that edit one file at once (history: %s)',
    async (keepsHistory) => {
      const site = await openSite('guarded', 1, undefined, NOW);
      const first = await site.client({ keepsHistory });
      await first.create(A, '');
      const since = site.time.clock();
      const keys = [KEY, KEY.toReversed()];
      const add = (text: string) => (content: Uint8Array) => ({
        content: bytes(new TextDecoder().decode(content) + text),
        result: undefined,
      });
      const calls = [undefined, ...keys.map((key) => createOnce({ key, index: 0 }, undefined))];
      await Promise.all(calls.map((call, n) => first.tree.edit(at(A), add(`${n}`), { once: call })));
      expect(await first.text(A)).toBe('012');
      const { tree } = await site.client();
      const again = { since, seen: new Set<string>() };
      const deed = { kind: 'written', path: at(A) } as const;
      for (const key of keys)
        expect(await tree.wasMade(deed, { once: createOnce({ key, index: 0 }, again) })).toBe(true);
    },
  );

  it('is not made where it is the seventeenth of its reply', async () => {
    const { judge, version } = await open();
    expect(await judge(INSERT, { index: 16, seen: [await version()] })).toBe(MAYBE);
  });

  it('fails in a process that stood still, once another one has made it', async () => {
    const { make, other } = await open();
    await make(INSERT);
    const late = await make(INSERT);
    expect(late).toMatchObject({ isError: true, content: MAYBE });
    expect(await other.text(A)).toBe('new\none\nend\n');
  });
});

describe('a create that may have been made before', () => {
  it('is answered as it was where its file is there', async () => {
    const { make, judge, other } = await open({ text: '' });
    await make(CREATE);
    expect(await judge(CREATE)).toBe('File created successfully at: /memories/a.md');
    await other.append(A, ' by another');
    expect(await judge(CREATE)).toBe('File created successfully at: /memories/a.md');
  });

  it('finds a file that was there before', async () => {
    const { judge, version } = await open();
    expect(await judge(CREATE, { seen: [await version()] })).toBe(
      'Error: File /memories/a.md already exists',
    );
  });

  it.each([false, true])(
    'is not made where nothing is there, which may have been deleted (history: %s)',
    async (keepsHistory) => {
      const { judge, other } = await open({ text: '', keepsHistory });
      expect(await judge(CREATE)).toBe(MAYBE);
      expect(await other.text(A)).toBeUndefined();
    },
  );

  it('is told by the history where another writer has deleted its file', async () => {
    const { make, judge, other } = await open({ text: '', keepsHistory: true });
    await make(CREATE);
    await other.remove(A);
    expect(await judge(CREATE)).toBe('File created successfully at: /memories/a.md');
    expect(await other.text(A)).toBeUndefined();
  });
});

describe('a delete that may have been made before', () => {
  it('is made where the file is what it was', async () => {
    const { judge, other, version } = await open();
    expect(await judge(DELETE, { seen: [await version()] })).toBe('Successfully deleted /memories/a.md');
    expect(await other.text(A)).toBeUndefined();
  });

  it('is told by the history alone', async () => {
    for (const [keepsHistory, said] of [
      [true, 'Successfully deleted /memories/a.md'],
      [false, MAYBE],
    ] as const) {
      const { make, judge } = await open({ keepsHistory });
      await make(DELETE);
      expect(await judge(DELETE)).toBe(said);
    }
  });

  it('takes no file that another writer has put there', async () => {
    for (const keepsHistory of [true, false]) {
      const { make, judge, other, version } = await open({ keepsHistory });
      const seen = [await version()];
      await make(DELETE);
      await other.create(A, 'another\n');
      await judge(DELETE, { seen });
      expect(await other.text(A)).toBe('another\n');
    }
  });
});

describe('a command on a file whose name is not in NFC', () => {
  const NFD = '/memories/cafe\u0301.md';

  it.each([
    ['delete', { command: 'delete', path: NFD }],
    ['rename', { command: 'rename', old_path: NFD, new_path: B }],
  ])('that was made touches no other file of that name: %s', async (_, input) => {
    const { make, judge, other, version } = await open({ text: '' });
    const path = NFD.normalize('NFC');
    await other.create(path, 'another');
    await other.tree.create(NFD as MemoryPath, bytes('own'));
    const seen = [await version(path), await version(NFD)];
    await make(input);
    await other.remove(B).catch(() => {});
    expect(await judge(input, { seen })).toContain('may have been applied');
    expect(await other.paths()).toEqual([path]);
  });
});

it.each([CREATE, REPLACE, DELETE])(
  'nothing is told by a damaged file, and nothing done: %o',
  async (input) => {
    const { judge, other } = await open();
    const { tenant, keyring } = await other.open();
    const key = fileKey(tenant.layout, keyring.names, at(A));
    const damaged = new Uint8Array(sealedSize(0));
    await tenant.store.put(key, damaged, { mode: 'overwrite' });
    expect(await judge(input)).toBe(MAYBE);
    expect(await tenant.store.get(key)).toMatchObject({ body: damaged });
  },
);

describe('a rename that may have been made before', () => {
  const DONE = 'Successfully renamed /memories/a.md to /memories/b.md';
  const EITHER = MAYBE.replace('View /memories/a.md', 'View /memories/a.md and /memories/b.md');

  it('is answered as it was where its copy is there', async () => {
    const { make, judge, touches } = await open();
    await make(RENAME);
    touches.length = 0;
    expect(await judge(RENAME)).toBe(DONE);
    expect(touches).toEqual([{ kind: 'renamed', path: A, to: B }]);
  });

  it('is made where the source is what it was', async () => {
    const { judge, other, version } = await open();
    expect(await judge(RENAME, { seen: [await version()] })).toBe(DONE);
    expect(await other.paths()).toEqual([B]);
  });

  it('is told by the history where its copy was edited', async () => {
    for (const [keepsHistory, said] of [
      [true, DONE],
      [false, EITHER],
    ] as const) {
      const { make, judge, other } = await open({ keepsHistory });
      await make(RENAME);
      await other.append(B, 'x\n');
      expect(await judge(RENAME)).toBe(said);
    }
  });

  it('is not made again where it was cut off between its two places', async () => {
    const { other, judge, version } = await open();
    const seen = [await version()];
    let isCut = false;
    other.intercept((call, proceed) => {
      isCut ||= call.verb === 'delete';
      return isCut ? Promise.reject(new MemoryError('aborted', 'the process is dead')) : proceed();
    });
    const rename = { from: at(A), to: at(B) };
    await expect(other.tree.rename(rename, { once: once() })).rejects.toThrow();
    other.intercept((_, proceed) => proceed());
    expect(await other.paths()).toEqual([A, B]);
    expect(await judge(RENAME, { seen })).toBe(EITHER);
  });

  it('is told of a directory by what lies at its target', async () => {
    const { make, judge, other } = await open({ text: '' });
    for (const name of ['a', 'b']) await other.create(`/memories/room/${name}.md`, name);
    const move = { command: 'rename', old_path: '/memories/room', new_path: '/memories/hall' };
    expect(await judge(move)).toContain('may have been applied');
    await make(move);
    expect(await judge(move)).toBe('Successfully renamed /memories/room to /memories/hall');
    expect(await other.paths()).toEqual(['/memories/hall/a.md', '/memories/hall/b.md']);
  });
});

it('an id bears the calls that a version is made of, and is another one at each draw', async () => {
  const site = await openSite();
  const client = await site.client();
  const work = await client.open();
  const draw = (index: number, replaced?: Uint8Array): Uint8Array =>
    drawId({ ...work, call: { once: once(index) } }, { replaced });
  const bearing = (id: Uint8Array) =>
    Array.from({ length: 17 }, (_, at) => at).filter((at) => once(at).bears(id));
  const first = draw(1);
  expect(bearing(first)).toEqual([1]);
  expect(bearing(draw(15, first))).toEqual([1, 15]);
  expect(bearing(first.subarray(0, 6))).toEqual([1]);
  expect(first).not.toEqual(draw(1));
  const other = createOnce({ key: KEY.map((byte) => byte + 1), index: 1 }, undefined);
  expect(other.bears(first)).toBe(false);
  expect([bearing(drawId(work)), bearing(draw(16, first))]).toEqual([[], []]);
  expect([0, 1, 2].map((at) => once(at).follows(first))).toEqual([false, false, true]);
  expect(once(2).follows(draw(3, first))).toBe(false);
  const onces = [once(0), once(3)];
  expect(bearing(drawId(work, { onces, replaced: first }))).toEqual([0, 1, 3]);
});
