import { describe, expect, it } from 'vitest';
import { turnTenantHistory } from '../../../src/admin/keys/turn-history.ts';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { createHistory, type History } from '../../../src/history/history.ts';
import type { HistoryEntry } from '../../../src/history/past/entries.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { createKeyringEditor } from '../../../src/keys/keyring-editor.ts';
import type { Progress } from '../../../src/tree/tenant.ts';
import { historyOf, keepingClient } from '../../stage/history-site.ts';
import { countCalls } from '../../stage/store-wrappers.ts';
import {
  at,
  bytes,
  describeOnBothKinds,
  inTime,
  TEST_ROOT_KEY,
  type TestClient,
} from '../../stage/test-tree.ts';

const PATH = '/memories/d/a';

/** Answers what a log says, in words: the newest first. */
async function log(client: TestClient, path?: string): Promise<readonly string[]> {
  const history = historyOf(client);
  const entries = await history.list(path);
  return Promise.all(entries.map((entry) => inWords(history, entry)));
}

async function inWords(history: History, entry: HistoryEntry): Promise<string> {
  const { kind, path, writer = '' } = entry;
  const by = writer === '' ? '' : ` by ${writer}`;
  if (entry.kind !== 'written')
    return `${kind} ${path}${entry.to === undefined ? '' : ` to ${entry.to}`}${by}`;
  const text = (await history.read(entry)).text();
  return `${entry.end} ${path} "${text}"${by}`;
}

async function cost(client: TestClient, call: () => Promise<unknown>): Promise<unknown> {
  client.calls.length = 0;
  await call();
  return countCalls(client.calls);
}

describeOnBothKinds('the history of a tenant that keeps it', (newSite) => {
  it('has every version of a file that was edited, overwritten and replaced', async () => {
    const site = await newSite();
    const [client, other] = [await keepingClient(site), await site.client()];
    await client.create(PATH, 'one');
    await client.append(PATH, ' two');
    await site.time.pause(61_000);
    await other.append(PATH, ' three');
    await other.tree.overwrite(at(PATH), bytes('four'));
    const version = (await client.tree.readVersion(at(PATH)))?.etag;
    if (version === undefined) throw new Error('there is no file');
    await client.tree.replace(at(PATH), { content: bytes('five'), version });
    expect(await log(client, PATH)).toEqual([
      `current ${PATH} "five"`,
      `replaced ${PATH} "four"`,
      `replaced ${PATH} "one two three"`,
      `replaced ${PATH} "one two"`,
      `replaced ${PATH} "one"`,
    ]);
    expect(await log(client)).toEqual(await log(client, PATH));
  });

  it('costs a PUT for what is replaced, and nothing for what is created or read', async () => {
    const site = await newSite();
    const client = await keepingClient(site);
    expect(await cost(client, () => client.create(PATH, 'one'))).toMatchObject({ put: 2 });
    expect(await cost(client, () => client.create('/memories/b', 'b'))).toMatchObject({ put: 1 });
    expect(await cost(client, () => client.append(PATH, ' two'))).toEqual({ put: 2 });
    expect(await cost(client, () => client.tree.overwrite(at(PATH), bytes('three')))).toEqual({ put: 2 });
    expect(await cost(client, () => client.text(PATH))).toEqual({ get: 1 });
  });

  it('names the actors of versions', async () => {
    const site = await newSite();
    const [client, other] = [await keepingClient(site), await site.client()];
    await client.tree.create(at(PATH), bytes('one'), { actor: 'ann' });
    await other.tree.overwrite(at(PATH), bytes('two'), { actor: 'turn 7' });
    await other.append(PATH, ' three');
    await other.tree.remove(at(PATH), { actor: 'bob' });
    expect(await log(client, PATH)).toEqual([
      `deleted ${PATH} by bob`,
      `deleted ${PATH} "two three"`,
      `replaced ${PATH} "two" by turn 7`,
      `replaced ${PATH} "one" by ann`,
    ]);
  });

  it('names an actor by what stands for it where its record is that of another one', async () => {
    const site = await newSite();
    const [client, other] = [await keepingClient(site), await site.client()];
    await client.tree.create(at(PATH), bytes('one'), { actor: 'ann' });
    await other.tree.overwrite(at(PATH), bytes('two'), { actor: 'bob' });
    const prefix = `${client.layout.tenantPrefix}actors/`;
    const keys: ObjectKey[] = [];
    for await (const { objects } of site.base.list({ prefix })) keys.push(...objects.map(({ key }) => key));
    const [first, second] = keys;
    const record = first && (await site.base.get(first));
    if (record === undefined || record === 'not_modified' || second === undefined) throw new Error('no two');
    await site.base.put(second, record.body, { mode: 'overwrite' });
    const writers = (await historyOf(client).list(PATH)).map(({ writer }) => writer);
    expect(writers).toHaveLength(2);
    expect(writers.filter((writer) => writer === 'ann' || writer === 'bob')).toHaveLength(1);
    expect(writers.filter((writer) => /^[A-Za-z0-9_-]{22}$/.test(writer ?? ''))).toHaveLength(1);
  });

  it('puts edits of two actors into two versions, and those of one into one', async () => {
    const site = await newSite();
    const client = await keepingClient(site);
    await client.create(PATH, '');
    const append = (text: string, actor?: string): Promise<void> =>
      client.tree.edit(
        at(PATH),
        (content) => ({ content: bytes(new TextDecoder().decode(content) + text), result: undefined }),
        { actor },
      );
    await Promise.all([
      append('a', 'ann'),
      append('b', 'bob'),
      append('c', 'bob'),
      append('d'),
      append('e', 'ann'),
    ]);
    expect(await log(client, PATH)).toEqual([
      `current ${PATH} "abcde" by ann`,
      `replaced ${PATH} "abcd"`,
      `replaced ${PATH} "abc" by bob`,
      `replaced ${PATH} "a" by ann`,
      `replaced ${PATH} ""`,
    ]);
  });

  it('follows a file that was renamed, from both of its names', async () => {
    const site = await newSite();
    const client = await keepingClient(site);
    await client.create(PATH, 'one');
    await client.append(PATH, ' two');
    await client.rename(PATH, '/memories/e/b');
    await client.append('/memories/e/b', ' three');
    await client.create(PATH, 'another');
    const moved = [
      'current /memories/e/b "one two three"',
      `renamed ${PATH} to /memories/e/b`,
      'replaced /memories/e/b "one two"',
      `replaced ${PATH} "one"`,
    ];
    expect(await log(client, '/memories/e/b')).toEqual(moved);
    const old = await log(client, PATH);
    expect(old).toContain(`current ${PATH} "another"`);
    expect(old).toEqual(expect.arrayContaining(moved.slice(1)));
  });

  it('follows the files of a directory that was renamed', async () => {
    const site = await newSite();
    const client = await keepingClient(site);
    for (const name of ['a', 'b', 'c/d']) await client.create(`/memories/d/${name}`, name);
    await client.append('/memories/d/c/d', '!');
    expect(await cost(client, () => client.rename('/memories/d', '/memories/e'))).toMatchObject({
      put: 3 + 3 + 1,
    });
    expect(await log(client, '/memories/e/c/d')).toEqual([
      'renamed /memories/d/c/d to /memories/e/c/d',
      'current /memories/e/c/d "c/d!"',
      'replaced /memories/d/c/d "c/d"',
    ]);
    expect(await log(client, '/memories/e/a')).toHaveLength(2);
  });

  it('keeps what was deleted, file by file and with its directory', async () => {
    const site = await newSite();
    const [client, other] = [await keepingClient(site), await site.client()];
    for (const name of ['a', 'b', 'c']) await client.create(`/memories/d/${name}`, name);
    await other.remove('/memories/d/c');
    await other.remove('/memories/d');
    await site.time.pause(1_000);
    await client.create('/memories/d/a', 'again');
    expect(await log(client, '/memories/d/a')).toEqual([
      'current /memories/d/a "again"',
      'deleted /memories/d/a',
      'deleted /memories/d/a "a"',
    ]);
    expect(await log(client)).toHaveLength(7);
  });

  it('begins when it is turned on, and ends when it is turned off, within a time to live', async () => {
    const site = await newSite();
    const client = await site.client({ ttlMs: 60_000 });
    const turn = (to: 'on' | 'off') => {
      const { store, layout, clock, random } = client.tenant;
      const rootKeys = [envRootKey(TEST_ROOT_KEY)];
      const editor = createKeyringEditor({ store, layout, rootKeys, clock, random });
      return turnTenantHistory({ editor, stamps: inTime(clock) }, to);
    };
    await client.create(PATH, 'a');
    await client.append(PATH, 'b');
    expect(await turn('on')).toEqual({ history: 'on', changed: true, epoch: 2 });
    expect(await turn('on')).toEqual({ history: 'on', changed: false, epoch: 2 });
    await client.append(PATH, 'c');
    await site.time.pause(61_000);
    await client.append(PATH, 'd');
    await client.append(PATH, 'e');
    expect(await turn('off')).toEqual({ history: 'off', changed: true, epoch: 3 });
    await site.time.pause(61_000);
    await client.append(PATH, 'f');
    await client.append(PATH, 'g');
    expect(await log(client, PATH)).toEqual([
      `current ${PATH} "abcdefg"`,
      `unrecorded ${PATH} "abcd"`,
      `replaced ${PATH} "abc"`,
    ]);
  });

  it('restores a version of a file that is there, and of one that is gone', async () => {
    const site = await newSite();
    const client = await keepingClient(site);
    const history = historyOf(client);
    await client.create(PATH, 'one');
    await client.append(PATH, ' two');
    const oldest = (await history.list(PATH)).at(-1);
    if (oldest === undefined) throw new Error('there is no version');
    expect(await history.restore(oldest, { actor: 'ann' })).toMatchObject({ path: PATH, restored: true });
    expect(await history.restore(oldest)).toMatchObject({ restored: false });
    await client.remove(PATH);
    await history.restore({ path: PATH, version: oldest.version.slice(0, 8) });
    expect(await client.text(PATH)).toBe('one');
    expect(await log(client, PATH)).toEqual([
      `current ${PATH} "one"`,
      `deleted ${PATH}`,
      `deleted ${PATH} "one" by ann`,
      `replaced ${PATH} "one two"`,
      `replaced ${PATH} "one"`,
    ]);
  });

  it('names the newest earlier version of the file with the same text, and none of another file', async () => {
    const client = await keepingClient(await newSite());
    const history = historyOf(client);
    await client.create(PATH, 'one');
    for (const text of ['two', 'one', 'two', 'one', 'three']) {
      await client.tree.overwrite(at(PATH), bytes(text));
    }
    await client.create('/memories/other.md', 'one');
    const same = async (path: string): Promise<readonly number[]> => {
      const listed = (await history.list()).flatMap((entry) => (entry.kind === 'written' ? [entry] : []));
      const versions = listed.filter((entry) => entry.path === path).reverse();
      return versions.map(({ sameTextAs }) => versions.findIndex(({ version }) => version === sameTextAs));
    };
    expect(await same(PATH)).toEqual([-1, -1, 0, 1, 2, -1]);
    expect(await same('/memories/other.md')).toEqual([-1]);
    const oldest = (await history.list(PATH)).at(-1);
    if (oldest === undefined) throw new Error('there is no version');
    await client.remove('/memories/other.md');
    await history.redact(oldest);
    expect(await same(PATH)).toEqual([-1, -1, -1, 1, -1, -1]);
  });

  it('is listed by pages, also where entries share a time', async () => {
    const client = await keepingClient(await newSite());
    const history = historyOf(client);
    await client.create(PATH, 'one');
    await client.append(PATH, ' two');
    await client.rename(PATH, '/memories/b');
    await client.remove('/memories/b');
    for (const path of [undefined, PATH]) {
      const all = await history.list(path);
      for (const limit of [1, 2, 3, 4, 5]) {
        const pages: HistoryEntry[] = [];
        for (let page = await history.list(path, { limit }); page.length > 0; ) {
          expect(page.length).toBeLessThanOrEqual(limit);
          pages.push(...page);
          const before = page.at(-1);
          page = before === undefined ? [] : await history.list(path, { limit, before });
        }
        expect(pages).toEqual(all);
      }
    }
    const [first] = await history.list(PATH);
    if (first === undefined) throw new Error('there is no entry');
    const gone = { ...first, version: 'a'.repeat(22) };
    await expect(history.list(PATH, { before: gone })).rejects.toMatchObject({ code: 'not_found' });
    for (const limit of [0, -1, 1.5, Number.NaN]) {
      await expect(history.list(PATH, { limit })).rejects.toMatchObject({ code: 'misconfigured' });
    }
  });

  it('is in order where all of it happened in one millisecond', async () => {
    const site = await newSite();
    const [start, b] = [Math.floor(site.time.clock()), '/memories/b'];
    const now = { ms: start };
    const client = await site.client({ keepsHistory: true, clock: () => now.ms });
    await client.create(b, 'b');
    now.ms += 1;
    await client.create(PATH, 'one');
    now.ms += 1;
    await client.append(PATH, ' two');
    await client.remove(PATH);
    await client.rename(b, PATH);
    await client.append(PATH, ' here');
    await client.rename(PATH, '/memories/c');
    await client.rename('/memories/c', b);
    await client.create(PATH, 'new');
    await client.append(PATH, ' text');
    const happened = [
      `current ${PATH} "new text"`,
      `replaced ${PATH} "new"`,
      `renamed /memories/c to ${b}`,
      `renamed ${PATH} to /memories/c`,
      `current ${b} "b here"`,
      `renamed ${b} to ${PATH}`,
      `deleted ${PATH}`,
      `deleted ${PATH} "one two"`,
      `replaced ${PATH} "b"`,
      `replaced ${PATH} "one"`,
    ];
    for (const path of [PATH, undefined]) {
      const told = await log(client, path);
      expect(told.toSorted()).toEqual(happened.toSorted());
      // Deeds to different files at different paths have no order.
      const at = (line: string): number => told.indexOf(line);
      const inOrder = happened.filter((line) => line !== `replaced ${PATH} "b"`);
      expect(inOrder.toSorted((x, y) => at(x) - at(y))).toEqual(inOrder);
      for (const reader of [await site.client({ delayMs: 20 }), await site.client({ delayMs: 20 })]) {
        expect(await log(reader, path)).toEqual(told);
      }
    }
  });

  it('is in the order of a file where the clocks of its writers differ', async () => {
    const site = await newSite();
    const client = await site.client({ keepsHistory: true });
    const ahead = await site.client({ clock: () => site.time.clock() + 60_000 });
    await client.create(PATH, 'one');
    await ahead.rename(PATH, '/memories/b');
    await site.time.pause(1_000);
    await client.append('/memories/b', ' two');
    await client.rename('/memories/b', '/memories/c');
    const told = [
      'renamed /memories/b to /memories/c',
      'current /memories/c "one two"',
      `renamed ${PATH} to /memories/b`,
      'replaced /memories/b "one"',
    ];
    expect(await log(client, '/memories/c')).toEqual(told);
    expect(await log(client)).toEqual(told);
  });

  it('tells how much of all that is kept it has read', async () => {
    const client = await keepingClient(await newSite());
    await client.create(PATH, 'one');
    await client.append(PATH, ' two');
    await client.create('/memories/b', 'b');
    const told: Progress[] = [];
    await historyOf(client).list(undefined, { onProgress: (progress) => told.push(progress) });
    expect(told.map(({ done }) => done)).toEqual([1, 2, 3]);
    expect(told.at(-1)).toEqual({ done: 3, total: 3 });
  });

  it('has nothing of a path at which nothing was, and of a tenant without a keyring', async () => {
    const site = await newSite();
    const client = await keepingClient(site);
    expect(await historyOf(client).list()).toEqual([]);
    expect(await historyOf(client).list(PATH)).toEqual([]);
    await expect(historyOf(client).read({ path: PATH, version: 'abcd' })).rejects.toMatchObject({
      code: 'not_found',
    });
    await client.create(PATH, 'one');
    expect(await historyOf(client).list('/memories/x')).toEqual([]);
    await expect(historyOf(client).read({ path: PATH, version: 'abcd' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('keeps a version that is larger than the file limit, and one that is empty', async () => {
    const site = await newSite();
    const client = await keepingClient(site);
    await client.create(PATH, 'x'.repeat(200_000));
    const small = await site.client({ maxFileBytes: 10 });
    await small.tree.overwrite(at(PATH), bytes(''));
    await small.append(PATH, 'new');
    await small.remove(PATH);
    const sizes = (await historyOf(client).list(PATH)).flatMap((entry) =>
      'size' in entry ? entry.size : [],
    );
    expect(sizes).toEqual([3, 0, 200_000]);
  });

  it('does not stand in the way of a file that is damaged, and counts what it leaves out', async () => {
    const site = await newSite();
    const client = await keepingClient(site);
    for (const path of [PATH, '/memories/d/b']) await client.create(path, 'one');
    const damage = async (): Promise<void> => {
      for await (const { objects } of site.base.list({ prefix: client.layout.data })) {
        for (const { key } of objects)
          await site.base.put(key, bytes('x'.repeat(300)), { mode: 'overwrite' });
      }
    };
    await damage();
    const counts: number[] = [];
    const onDamaged = (count: number): void => {
      counts.push(count);
    };
    const reader = historyOf(await keepingClient(site));
    expect([
      ...(await reader.list(PATH, { onDamaged })),
      ...(await reader.list(undefined, { onDamaged })),
    ]).toEqual([]);
    expect(counts).toEqual([1, 2]);
    const other = await site.client();
    await other.tree.overwrite(at(PATH), bytes('mended'));
    expect(await other.text(PATH)).toBe('mended');
    await other.remove('/memories/d/b');
    expect(await other.paths()).toEqual([PATH]);
  });
});

describe('the name of a version', () => {
  it.each(['', 'abc', 'abcd!', 'a'.repeat(23), 7, undefined])('is never %j', async (version) => {
    const history = createHistory({} as never, {} as never);
    const outcome = await history
      .read({ path: PATH, version: version as string })
      .catch((error: unknown) => error);
    expect(outcome).toBeInstanceOf(MemoryError);
    expect(outcome).toMatchObject({ code: 'invalid_command' });
  });
});
