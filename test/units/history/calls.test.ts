import { describe, expect, it } from 'vitest';
import { toBase64url } from '../../../src/format/encoding.ts';
import { createHistory } from '../../../src/history/history.ts';
import type { HistoryEntry } from '../../../src/history/past/entries.ts';
import { keyOf, keysOf } from '../../stage/bucket.ts';
import { historyOf, keepingClient, textsOf } from '../../stage/history-site.ts';
import { at, bytes, openSite, type TestClient, type TestSite } from '../../stage/test-tree.ts';

const [A, B] = ['/memories/a', '/memories/d/b'];
/** A path as a person may type it, and as this library makes names of it. */
const [TYPED, MADE] = ['/memories/cafe\u0301', '/memories/caf\u00e9'];

interface Scene {
  readonly site: TestSite;
  readonly client: TestClient;
  /** The versions of the first file, the oldest first. */
  readonly versions: readonly string[];
}

/** A file that ann wrote and bob replaced, another of ann's, and one without an actor. */
async function newScene(): Promise<Scene> {
  const site = await openSite();
  const client = await keepingClient(site);
  await client.tree.create(at(A), bytes('one'), { actor: 'ann' });
  await client.tree.overwrite(at(A), bytes('two'), { actor: 'bob' });
  await client.tree.create(at(B), bytes('b'), { actor: 'ann' });
  await client.create(MADE, 'nobody');
  const versions = (await historyOf(client).list(A)).map(({ version }) => version).reverse();
  return { site, client, versions };
}

const wordsOf = (entries: readonly HistoryEntry[]) =>
  entries.map(({ kind, path, writer }) => `${kind} ${path}${writer === undefined ? '' : ` by ${writer}`}`);

const refusal = (code: string, details: object = {}) => ({ code, details: expect.objectContaining(details) });

describe('the list of the history', () => {
  it('has the entries of one actor, by its text or its hash, of a file or of all', async () => {
    const { client } = await newScene();
    const { keyring } = await client.open();
    for (const writer of ['ann', toBase64url(keyring.names.writerId('ann'))]) {
      expect(wordsOf(await historyOf(client).list(undefined, { writer }))).toEqual([
        `written ${B} by ann`,
        `written ${A} by ann`,
      ]);
      expect(wordsOf(await historyOf(client).list(A, { writer }))).toEqual([`written ${A} by ann`]);
      expect(wordsOf(await historyOf(client).list(undefined, { writer, limit: 1 }))).toEqual([
        `written ${B} by ann`,
      ]);
      expect(wordsOf(await historyOf(client).list(A, { writer, limit: 1 }))).toEqual([`written ${A} by ann`]);
    }
    expect(await historyOf(client).list(undefined, { writer: 'nobody' })).toEqual([]);
  });

  it('is that of the root where the root is named', async () => {
    const { client } = await newScene();
    expect(await historyOf(client).list('/memories')).toEqual(await historyOf(client).list());
    expect(await historyOf(client).list('/memories')).toHaveLength(4);
  });

  it('finds a file by its path as it was typed', async () => {
    const { client } = await newScene();
    expect(wordsOf(await historyOf(client).list(TYPED))).toEqual([`written ${MADE}`]);
    expect(wordsOf(await historyOf(client).list(TYPED, { limit: 1 }))).toEqual([`written ${MADE}`]);
  });

  it('counts what it leaves out, and says nothing where that is nothing', async () => {
    const { site, client } = await newScene();
    const told: number[] = [];
    const onDamaged = (count: number): unknown => told.push(count);
    await historyOf(client).list(undefined, { onDamaged });
    expect(told).toEqual([]);
    await site.base.put(await keyOf(client, B), bytes('x'.repeat(300)), { mode: 'overwrite' });
    const [record] = await keysOf(site, 'history');
    if (record === undefined) throw new Error('nothing is kept');
    await site.base.put(record, bytes('x'.repeat(300)), { mode: 'overwrite' });
    const other = await site.client();
    await historyOf(other).list(undefined, { onDamaged });
    expect(told).toEqual([2]);
  });

  it('is empty for a tenant that was never written to, whose options are read all the same', async () => {
    const history = historyOf(await (await openSite()).client());
    expect(await history.list(undefined, { writer: 'ann' })).toEqual([]);
    await expect(history.list(undefined, { limit: 0 })).rejects.toMatchObject({ code: 'misconfigured' });
    await expect(history.list(undefined, { writer: '' })).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it.each([7, null, {}])('is of no path that is %j', async (path) => {
    const history = historyOf(await (await openSite()).client());
    await expect(history.list(path as never)).rejects.toMatchObject({ code: 'invalid_command' });
  });

  it('ends where the call is cancelled', async () => {
    const { client } = await newScene();
    const signal = AbortSignal.abort();
    for (const options of [{ signal }, { signal, limit: 1 }])
      await expect(historyOf(client).list(A, options)).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('the state of the history', () => {
  it('is absent before the first write, on or off behind it', async () => {
    const [keeping, other] = [await openSite(), await openSite()];
    for (const [site, keepsHistory, state] of [
      [keeping, true, 'on'],
      [other, false, 'off'],
    ] as const) {
      const client = await site.client({ keepsHistory });
      expect(await historyOf(client).state()).toBe('absent');
      await client.create(A, 'text');
      expect(await historyOf(client).state()).toBe(state);
    }
  });
});

describe('the text of a version', () => {
  it('is read by the beginning of its name, with the whole name', async () => {
    const { client, versions } = await newScene();
    const [first = ''] = versions;
    const read = await historyOf(client).read({ path: A, version: first.slice(0, 4) });
    expect({ ...read, text: read.text() }).toEqual({
      path: A,
      version: first,
      bytes: bytes('one'),
      text: 'one',
    });
  });

  it('is no text where its bytes are none', async () => {
    const client = await keepingClient(await openSite());
    await client.tree.create(at(A), new Uint8Array([255, 254]));
    const [entry] = await historyOf(client).list(A);
    if (entry === undefined) throw new Error('nothing was written');
    const read = await historyOf(client).read(entry);
    expect(read.bytes).toEqual(new Uint8Array([255, 254]));
    expect(() => read.text()).toThrow(expect.objectContaining(refusal('not_text', { size: 2 })));
  });
});

describe('a version that is restored', () => {
  it('is written where the file is what was named, and only then', async () => {
    const { client, versions } = await newScene();
    const history = historyOf(client);
    const [version = ''] = versions;
    const restore = (ifUnchanged?: string | null) => history.restore({ path: A, version }, { ifUnchanged });
    const current = await client.tree.readVersion(at(A), {});
    await expect(restore(null)).rejects.toMatchObject({ code: 'already_exists', retry: 'never' });
    await expect(restore('"other"')).rejects.toMatchObject({ code: 'version_conflict', retry: 'never' });
    expect(await client.text(A)).toBe('two');
    expect(await restore(current?.etag)).toEqual({ path: A, version, restored: true });
    expect(await client.text(A)).toBe('one');
    await client.remove(A);
    await expect(restore(current?.etag)).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await restore(null)).toEqual({ path: A, version, restored: true });
    expect(await client.text(A)).toBe('one');
  });

  it('stays unwritten where the file has its text', async () => {
    const { client, versions } = await newScene();
    const [version = ''] = versions.slice(-1);
    const entries = (await historyOf(client).list(A)).length;
    expect(await historyOf(client).restore({ path: A, version })).toEqual({
      path: A,
      version,
      restored: false,
    });
    expect(await historyOf(client).list(A)).toHaveLength(entries);
  });

  it('is written on behalf of the actor of the history, or of the one of the call', async () => {
    const { client, versions } = await newScene();
    const [version = '', later = ''] = versions;
    const history = createHistory(client.tenant, client.tree, { actor: 'cora' });
    await history.restore({ path: A, version });
    await history.restore({ path: A, version: later }, { actor: 'dan' });
    expect(wordsOf(await history.list(A, { limit: 2 }))).toEqual([
      `written ${A} by dan`,
      `written ${A} by cora`,
    ]);
  });
});

describe('what a mount hides', () => {
  /** The history of a tenant at whose directory `d` another memory is mounted. */
  async function hiding() {
    const scene = await newScene();
    const { tenant, tree } = scene.client;
    await scene.client.append(B, ', edited');
    const seen = { isAlwaysDirectory: (path: string) => path === '/memories/d' };
    return { ...scene, history: createHistory(tenant, tree, { seen }) };
  }

  it('is read, and not restored', async () => {
    const { history, versions } = await hiding();
    const below = (await history.list(B)).at(-1);
    if (below === undefined) throw new Error('nothing was written');
    expect((await history.read(below)).text()).toBe('b');
    await expect(history.restore(below)).rejects.toMatchObject(
      refusal('invalid_command', { reason: 'hidden_by_mount' }),
    );
    await expect(history.restore({ path: A, version: versions[0] ?? '' })).resolves.toMatchObject({
      restored: true,
    });
  });

  it('is left by a restore of a moment, and by an undo', async () => {
    const { client, history } = await hiding();
    const undo = await history.undo({ writer: 'ann', force: true, dryRun: true });
    expect(undo.left.map(({ path, reason }) => `${reason} ${path}`)).toEqual([`hidden_by_mount ${B}`]);
    const texts = await textsOf(client);
    const restored = await history.restoreAt(new Date(1), { dryRun: true });
    expect(restored.left).toContainEqual(expect.objectContaining({ reason: 'hidden_by_mount', path: B }));
    expect(await textsOf(client)).toEqual(texts);
  });
});

describe('a restore of a moment', () => {
  it('means the files below a path as it was typed', async () => {
    const { site, client } = await newScene();
    await site.time.pause(10);
    const then = new Date(Math.floor(site.time.clock()));
    await site.time.pause(10);
    for (const path of [MADE, A]) await client.append(path, '!');
    const changed = async (below: string) => {
      const { changes } = await historyOf(client).restoreAt(then, { below, dryRun: true });
      return changes.map(({ path }) => path);
    };
    expect(await changed(TYPED)).toEqual([MADE]);
    expect(await changed('/memories')).toEqual([A, MADE]);
    expect(await changed('/memories/d')).toEqual([]);
  });

  it('knows from the days of retention what may have expired', async () => {
    const { site, client } = await newScene();
    const then = new Date(Math.floor(site.time.clock()));
    await site.time.pause(3 * 86_400_000);
    await client.append(A, '!');
    const left = async (retentionDays: number | undefined) => {
      const history = createHistory(client.tenant, client.tree, { retentionDays });
      return (await history.restoreAt(then, { dryRun: true })).left.map(
        ({ reason, path }) => `${reason} ${path}`,
      );
    };
    expect(await left(2)).toEqual(['too_early /memories']);
    expect(await left(4)).toEqual([]);
    expect(await left(undefined)).toEqual([]);
  });

  it('names in a dry run the actors whose texts would go', async () => {
    const { site, client, versions } = await newScene();
    await site.time.pause(10);
    const then = new Date(Math.floor(site.time.clock()));
    await site.time.pause(10);
    await client.tree.overwrite(at(A), bytes('three'), { actor: 'cora' });
    await client.append(MADE, '!');
    const [now] = await historyOf(client).list(A);
    const { outcome, changes, left } = await historyOf(client).restoreAt(then, { dryRun: true });
    expect({ outcome, left }).toEqual({ outcome: 'planned', left: [] });
    expect(changes).toStrictEqual([
      { path: A, what: 'replace', fromVersion: now?.version, toVersion: versions[1], writer: 'cora' },
      { path: MADE, what: 'replace', fromVersion: expect.any(String), toVersion: expect.any(String) },
    ]);
    expect(
      await historyOf(client).restoreAt(new Date(Math.floor(site.time.clock())), { dryRun: true }),
    ).toEqual({
      ...{ outcome: 'nothing', changes: [], left: [], digest: expect.stringMatching(/^[\w-]{43}$/) },
    });
  });

  it('is refused where nothing may be written, but for a dry run', async () => {
    const { client } = await newScene();
    const reader = createHistory({ ...client.tenant, readOnly: true }, client.tree);
    await expect(reader.restoreAt(new Date(1))).rejects.toMatchObject({ code: 'read_only' });
    await expect(reader.undo({ writer: 'ann' })).rejects.toMatchObject({ code: 'read_only' });
    await expect(reader.restoreAt(new Date(1), { dryRun: true })).resolves.toMatchObject({
      outcome: 'planned',
    });
  });
});

describe('a call that makes no sense', () => {
  it.each(['undo', 'list'] as const)('names no actor: %s', async (verb) => {
    const { client } = await newScene();
    const history = historyOf(client);
    const asked =
      verb === 'undo' ? history.undo({ writer: 7 as never }) : history.list(A, { writer: 7 as never });
    await expect(asked).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('traces what was never there', async () => {
    const { client } = await newScene();
    const [empty, history] = [historyOf(await (await openSite()).client()), historyOf(client)];
    for (const each of [empty, history]) {
      await expect(each.trace({ path: '/memories/none' })).rejects.toMatchObject({
        code: 'not_found',
        message: expect.stringContaining('no file'),
      });
      await expect(each.trace({ path: '/memories/none', version: 'abcd' })).rejects.toMatchObject({
        code: 'not_found',
        message: expect.stringContaining('no version'),
      });
    }
    await expect(history.trace({ path: A, version: 'a!' })).rejects.toMatchObject({
      code: 'invalid_command',
    });
    await expect(history.trace({ path: 7 as never })).rejects.toMatchObject({ code: 'invalid_command' });
  });

  it('redacts in a tenant that was never written to', async () => {
    const history = historyOf(await (await openSite()).client());
    await expect(history.redact({ path: A, version: 'abcd' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(history.redact({ path: A, version: 7 as never })).rejects.toMatchObject({
      code: 'invalid_command',
    });
  });
});

it('a version is traced by the beginning of its name, at its path as it was typed', async () => {
  const { client, versions } = await newScene();
  const [version = ''] = versions;
  const history = historyOf(client);
  const named = await history.trace({ path: A, version: version.slice(0, 4) });
  expect(named).toEqual(await history.trace({ path: A, version }));
  expect(named).not.toEqual(await history.trace({ path: A }));
  expect(await history.trace({ path: TYPED })).toEqual(await history.trace({ path: MADE }));
});
