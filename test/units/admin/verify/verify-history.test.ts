import { describe, expect, it } from 'vitest';
import { expireTree } from '../../../../src/admin/expiry/expire.ts';
import type { HistoryFinding } from '../../../../src/admin/findings.ts';
import { turnTenantHistory } from '../../../../src/admin/keys/turn-history.ts';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { classKey, type ObjectKey } from '../../../../src/format/object-keys.ts';
import type { VersionIdBytes } from '../../../../src/format/version.ts';
import { NO_ID } from '../../../../src/format/wrap.ts';
import { createHistory } from '../../../../src/history/history.ts';
import { readWholePast } from '../../../../src/history/past/read.ts';
import { historyRecordId } from '../../../../src/history/save/history-record.ts';
import { VERSION_SAVER } from '../../../../src/history/save/version-saver.ts';
import { writeKept } from '../../../../src/history/save/write-kept.ts';
import { sayProved } from '../../../history-proof/say-proved.ts';
import { createChance } from '../../../simulation/chance.ts';
import { keysOf } from '../../../stage/bucket.ts';
import { createOperator, editorOf } from '../../../stage/key-operator.ts';
import { at, bytes, createSite, inTime, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

/** How many attempts and honest runs: all of docs/testing.md by the environment, some of each otherwise. */
const ATTEMPTS = Number(process.env['HISTORY_ATTEMPTS'] ?? 100);
const RUNS = Number(process.env['HISTORY_RUNS'] ?? 30);
const SEED = Number(process.env['HISTORY_SEED'] ?? 1);

const PATH = '/memories/d/a';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Numbers from 0 up to the bound, from a seed. */
function drawer(seed: number): (bound: number) => number {
  const chance = createChance(String(seed));
  return (bound) => chance.between(0, bound - 1);
}

async function keeping(site: TestSite): Promise<TestClient> {
  const client = await site.client({ keepsHistory: true });
  client.intercept(async (_, proceed) => {
    await site.time.pause(2);
    return proceed();
  });
  return client;
}

async function findingsOf(client: TestClient): Promise<readonly HistoryFinding[]> {
  const { findings } = await verifyTree(client.tenant);
  return findings.filter((finding) => finding.kind === 'history');
}

async function bodyOf(site: TestSite, key: ObjectKey): Promise<Uint8Array> {
  const found = await site.base.get(key);
  if (typeof found !== 'object') throw new Error('nothing is there');
  return found.body;
}

const put = (site: TestSite, key: ObjectKey, body: Uint8Array) =>
  site.base.put(key, body, { mode: 'overwrite' });

/** The versions of one file, the oldest first. */
async function chainOf({ tenant, tree }: TestClient, path = PATH): Promise<readonly string[]> {
  const entries = await createHistory(tenant, tree).list(path);
  return entries.flatMap((entry) => (entry.kind === 'written' ? [entry.version] : [])).reverse();
}

async function keyOfVersion(site: TestSite, version: string): Promise<ObjectKey> {
  const found = (await keysOf(site, 'history')).find((key) => key.endsWith(`_${version.slice(0, 8)}`));
  if (found === undefined) throw new Error('there is no record of that version');
  return found;
}

const nameOf = (key: ObjectKey): string => key.slice('tenants/acme'.length);

async function threeEdits(site: TestSite): Promise<{ client: TestClient; chain: readonly string[] }> {
  const client = await keeping(site);
  await client.create(PATH, 'one');
  for (const text of [' two', ' three', ' four']) await client.append(PATH, text);
  return { client, chain: await chainOf(client) };
}

describe('verify over the history', () => {
  it('names a version that was dropped, with the one that replaced it', async () => {
    const site = await createSite();
    const { client, chain } = await threeEdits(site);
    expect(await findingsOf(client)).toEqual([]);
    await site.base.delete([{ key: await keyOfVersion(site, chain[1] ?? '') }]);
    expect(await findingsOf(client)).toEqual([
      { kind: 'history', state: 'missing', path: PATH, expected: chain[1], replacedBy: chain[2] },
    ]);
  });

  it('names records that were exchanged, doubled or damaged, and what lies in their places', async () => {
    const site = await createSite();
    const { client, chain } = await threeEdits(site);
    const [first = '', second = '', third = ''] = chain;
    const [a, b] = [await keyOfVersion(site, first), await keyOfVersion(site, second)];
    const [left, right] = [await bodyOf(site, a), await bodyOf(site, b)];
    await put(site, a, right);
    await put(site, b, left);
    const exchanged = await findingsOf(client);
    expect(exchanged).toHaveLength(2);
    expect(exchanged).toEqual(
      expect.arrayContaining([
        { kind: 'history', state: 'misplaced', path: PATH, expected: first, found: second, name: nameOf(a) },
        { kind: 'history', state: 'misplaced', path: PATH, expected: second, found: first, name: nameOf(b) },
      ]),
    );
    await put(site, a, left);
    await put(site, b, right);
    expect(await findingsOf(client)).toEqual([]);

    const unknown = `${a.slice(0, -8)}abcdefgh` as ObjectKey;
    await put(site, unknown, left);
    expect(await findingsOf(client)).toEqual([
      {
        kind: 'history',
        state: 'misplaced',
        path: PATH,
        name: nameOf(unknown),
        expected: 'abcdefgh',
        found: first,
      },
    ]);
    await site.base.delete([{ key: unknown }]);
    await put(site, await keyOfVersion(site, third), bytes('x'.repeat(300)));
    expect(await findingsOf(client)).toMatchObject([{ state: 'damaged', expected: third, path: PATH }]);
  });

  it('holds nothing against a tenant from before it kept history, nor while it did not', async () => {
    const site = await createSite();
    const client = await site.client({ ttlMs: 60_000 });
    const editor = editorOf(client.tenant);
    const turn = (to: 'on' | 'off') => turnTenantHistory({ editor, stamps: inTime(site.time.clock) }, to);
    const dropped = async (): Promise<readonly HistoryFinding[]> => {
      await client.append(PATH, '.');
      await client.append(PATH, '.');
      const [version = ''] = (await chainOf(client)).slice(-2);
      const key = await keyOfVersion(site, version);
      const body = await bodyOf(site, key);
      await site.base.delete([{ key }]);
      const findings = await findingsOf(client);
      await put(site, key, body);
      return findings;
    };
    await client.create(PATH, 'a');
    await client.append(PATH, 'b');
    await turn('on');
    await client.append(PATH, 'c');
    await site.time.pause(61_000);
    expect(await dropped()).toEqual([]);
    await site.time.pause(HOUR);
    expect(await dropped()).toHaveLength(1);
    await turn('off');
    await site.time.pause(61_000);
    for (const text of ['d', 'e', 'f']) await client.append(PATH, text);
    expect(await findingsOf(client)).toEqual([]);
    await turn('on');
    await site.time.pause(61_000);
    expect(await dropped()).toEqual([]);
    await site.time.pause(2 * HOUR);
    expect(await dropped()).toHaveLength(1);
    expect(await findingsOf(client)).toEqual([]);
  });

  it('holds nothing against what has expired, and all against what has not', async () => {
    const site = await createSite();
    const { client } = await threeEdits(site);
    await site.time.pause(20 * DAY);
    await client.append(PATH, ' five');
    await site.time.pause(15 * DAY);
    await client.append(PATH, ' six');
    expect(await expireTree(client.tenant, { historyDays: 30 })).toMatchObject({ history: 3 });
    expect(await findingsOf(client)).toEqual([]);
    expect(await expireTree(client.tenant, { historyDays: 30 })).toMatchObject({ history: 0 });
    const chain = await chainOf(client);
    await site.base.delete([{ key: await keyOfVersion(site, chain.at(-2) ?? '') }]);
    expect(await findingsOf(client)).toMatchObject([{ state: 'missing', expected: chain.at(-2) }]);
  });

  it('is not deceived by an attacker who takes away what tells of the expiry', async () => {
    const site = await createSite();
    const { client } = await threeEdits(site);
    await site.time.pause(35 * DAY);
    await client.append(PATH, ' five');
    await expireTree(client.tenant, { historyDays: 30 });
    const note = classKey(client.layout, 'journal', 'history');
    await put(site, note, bytes('x'.repeat(300)));
    expect((await findingsOf(client)).length).toBeGreaterThan(0);
    await site.base.delete([{ key: note }]);
    expect((await findingsOf(client)).length).toBeGreaterThan(0);
  });

  it('keeps for its whole time what an earlier attempt had saved long before', async () => {
    const site = await createSite();
    const client = await keeping(site);
    await client.create(PATH, 'one');
    const work = await client.open();
    const version = await client.tree.readVersion(at(PATH));
    if (version === undefined) throw new Error('there is no file');
    await VERSION_SAVER.saveReplaced(work, at(PATH), version);
    await site.time.pause(29 * DAY);
    await client.append(PATH, ' two');
    await site.time.pause(2 * DAY);
    await expireTree(client.tenant, { historyDays: 30 });
    const [first = ''] = await chainOf(client);
    expect(
      (await createHistory(client.tenant, client.tree).read({ path: PATH, version: first })).text(),
    ).toBe('one');
    expect(await findingsOf(client)).toEqual([]);
  });

  it('lets a version expire as old as it was when keys are migrated', async () => {
    const site = await createSite();
    const { client } = await threeEdits(site);
    const operator = await createOperator(site);
    await site.time.pause(20 * DAY);
    await operator.rotate();
    await site.time.pause(HOUR);
    await operator.migrate();
    await site.time.pause(11 * DAY);
    expect(await expireTree(client.tenant, { historyDays: 30 })).toMatchObject({ history: 3 });
    expect(await findingsOf(client)).toEqual([]);
  });

  it('takes nothing that is replaced while it reads for missing', async () => {
    const site = await createSite();
    const { client } = await threeEdits(site);
    const reader = await site.client();
    let edits = 0;
    reader.intercept(async (call, proceed) => {
      if (call.verb === 'get' && edits++ < 6) await client.append(PATH, '.');
      return proceed();
    });
    expect(await findingsOf(reader)).toEqual([]);
    expect(edits).toBeGreaterThan(3);
  });

  it('names a text that came back after it was redacted', async () => {
    const site = await createSite();
    const { client, chain } = await threeEdits(site);
    const [first = ''] = chain;
    const history = createHistory(client.tenant, client.tree);
    await history.redact({ path: PATH, version: first });
    expect(await findingsOf(client)).toEqual([]);
    const work = await client.open();
    const mtime = (await readWholePast(work)).versions.get(first)?.mtime ?? 0;
    const facts = { mtime, bound: 1n, previous: NO_ID, writer: NO_ID };
    const id = Uint8Array.from(Buffer.from(first, 'base64url')) as Uint8Array as VersionIdBytes;
    await VERSION_SAVER.saveReplaced(work, at('/memories/e'), { ...facts, id, content: bytes('one') });
    const [finding] = await findingsOf(client);
    expect(finding).toEqual({
      ...{ kind: 'history', state: 'unredacted', expected: first, path: '/memories/e' },
      name: expect.stringMatching(/^\/history\/[\w-]{43}_[\w-]{11}_[\w-]{8}$/),
    });
    await history.redact({ path: PATH, version: first });
    expect(await findingsOf(client)).toEqual([]);
  });

  it('names an id that two texts bear, and a record that says what none may say', async () => {
    const site = await createSite();
    const { client, chain } = await threeEdits(site);
    const [first = ''] = chain;
    const work = await client.open();
    const version = (await readWholePast(work)).versions.get(first);
    const id = Uint8Array.from(Buffer.from(first, 'base64url')) as Uint8Array as VersionIdBytes;
    const facts = { mtime: version?.mtime ?? 0, bound: 1n, previous: NO_ID, writer: NO_ID };
    await VERSION_SAVER.saveReplaced(work, at('/memories/e'), { ...facts, id, content: bytes('eno') });
    expect(await findingsOf(client)).toMatchObject([{ state: 'doubled', expected: first }]);

    const record = historyRecordId(work, { path: at(PATH), bound: 2n, id });
    await writeKept(work, { cls: 'history', id: record, content: bytes('{}') });
    expect(await findingsOf(client)).toMatchObject([
      { state: 'damaged', path: PATH, name: `/history/${record}` },
      { state: 'doubled', expected: first },
    ]);
  });
});

type Attack = (site: TestSite, keys: readonly ObjectKey[], draw: (bound: number) => number) => Promise<void>;

const one = <T>(of: readonly T[], draw: (bound: number) => number): T => {
  const chosen = of[draw(of.length)];
  if (chosen === undefined) throw new Error('there is nothing to choose from');
  return chosen;
};

/** The attacks of a bucket writer on records in the middle of a chain. */
const ATTACKS: Readonly<Record<string, Attack>> = {
  async drop(site, keys, draw) {
    await site.base.delete([{ key: one(keys, draw) }]);
  },
  async exchange(site, keys, draw) {
    const [a, b] = [one(keys.slice(0, -1), draw), keys.at(-1) ?? one(keys, draw)];
    const [left, right] = [await bodyOf(site, a), await bodyOf(site, b)];
    await put(site, a, right);
    await put(site, b, left);
  },
  async double(site, keys, draw) {
    const key = one(keys, draw);
    const id = `${key.slice(0, -8)}${String(draw(90_000_000) + 10_000_000)}`;
    await put(site, id as ObjectKey, await bodyOf(site, key));
  },
  async overwrite(site, keys, draw) {
    const key = one(keys.slice(0, -1), draw);
    await put(site, key, await bodyOf(site, keys.at(-1) ?? key));
  },
  async 'replay at another place and drop'(site, keys, draw) {
    const key = one(keys, draw);
    const bound = key.length - 20;
    const other = `${key.slice(0, bound)}${'0'.repeat(11)}${key.slice(bound + 11)}`;
    await put(site, other as ObjectKey, await bodyOf(site, key));
    await site.base.delete([{ key }]);
  },
  async damage(site, keys, draw) {
    const key = one(keys, draw);
    const body = await bodyOf(site, key);
    const where = draw(body.length);
    body[where] = (body[where] ?? 0) ^ (1 << draw(8));
    await put(site, key, body);
  },
  async cut(site, keys, draw) {
    const key = one(keys, draw);
    const body = await bodyOf(site, key);
    await put(site, key, body.subarray(0, draw(body.length)));
  },
};

describe('a bucket writer in the middle of a chain', { timeout: 36_000_000 }, () => {
  it('is named by verify, whatever record it drops, exchanges, doubles, damages or puts elsewhere', async () => {
    const kinds = Object.entries(ATTACKS);
    for (let attempt = 0; attempt < ATTEMPTS; ) {
      const draw = drawer(SEED * 1_000_003 + attempt);
      const site = await createSite('guarded', attempt + 1);
      const client = await keeping(site);
      const paths = ['/memories/a', '/memories/b/c'];
      for (const path of paths) {
        await client.create(path, 'text');
        for (let edits = 3 + draw(4); edits > 0; edits--) await client.append(path, `${draw(10)}`);
      }
      if (draw(2) === 0) await client.rename('/memories/b', '/memories/d');
      const reader = await site.client();
      const before = await findingsOf(reader);
      expect(before).toEqual([]);
      const all = new Map<ObjectKey, Uint8Array>();
      for (const key of await keysOf(site, 'history')) all.set(key, await bodyOf(site, key));
      const chain = await chainOf(client, '/memories/a');
      // All but the version that the file has are in records, each named by the one behind.
      const keys: ObjectKey[] = [];
      for (const version of chain.slice(0, -1)) keys.push(await keyOfVersion(site, version));
      for (let each = 0; each < 50 && attempt < ATTEMPTS; each++, attempt++) {
        const [kind, attack] = one(kinds, draw);
        await attack(site, keys, draw);
        const { findings } = await verifyTree((await site.client()).tenant);
        const what = `seed ${SEED}, attempt ${attempt}, ${kind}`;
        expect(findings.length, what).toBeGreaterThan(0);
        for (const finding of findings) {
          expect(['history', 'unknown_key'], what).toContain(finding.kind);
          if (finding.kind !== 'history') continue;
          expect(finding.path, what).toBe('/memories/a');
          expect(finding.expected.length, what).toBeGreaterThanOrEqual(8);
        }
        for (const key of await keysOf(site, 'history')) if (!all.has(key)) await site.base.delete([{ key }]);
        for (const [key, body] of all) await put(site, key, body);
      }
      await site.base[Symbol.asyncDispose]();
    }
    sayProved(`${ATTEMPTS} attempts were named`);
  });
});

describe('honest runs', { timeout: 36_000_000 }, () => {
  it('raise no alarm, with deaths, races, renames, migrations and expiry', async () => {
    for (let run = 0; run < RUNS; run++) await honestRun(run);
    sayProved(`${RUNS} honest runs raised no alarm`);
  });
});

async function honestRun(run: number): Promise<void> {
  const draw = drawer(SEED * 7_000_003 + run);
  const site = await createSite(draw(2) === 0 ? 'guarded' : 'unguarded', run + 1);
  const first = await site.client({ keepsHistory: true, delayMs: 5, ttlMs: 60_000 });
  const paths = ['/memories/a', '/memories/d/b', '/memories/d/c', '/memories/e/b'];
  await first.create('/memories/a', 'text');
  const operator = await createOperator(site);
  const done: string[] = [];
  const act = async (client: TestClient): Promise<void> => {
    const path = one(paths, draw);
    const kind = draw(16);
    done.push(`${kind}`);
    if (kind < 6) return client.append(path, `${draw(10)}`);
    if (kind < 8) return void (await client.tree.overwrite(at(path), bytes(`${draw(1000)}`)));
    if (kind < 9) return client.remove(path);
    if (kind < 10) return client.rename(path, one(paths, draw));
    if (kind < 11) return client.rename('/memories/d', `/memories/${one(['e', 'f', 'd/x'], draw)}`);
    if (kind < 12) return client.rename('/memories/f', '/memories/d');
    if (kind < 13) return operator.rotate();
    if (kind < 14) return void (await operator.migrate({ reencrypt: draw(2) === 0 }));
    if (kind < 15) return void (await expireTree(client.tenant, { historyDays: 1 + draw(3) }));
    return void (await turnTenantHistory(
      { editor: operator.editor, stamps: inTime(site.time.clock) },
      draw(3) === 0 ? 'off' : 'on',
    ));
  };
  for (let step = 0; step < 8; step++) {
    const client = await site.client({ delayMs: 5, ttlMs: 60_000 });
    const death = draw(3) === 0 ? draw(12) : Number.POSITIVE_INFINITY;
    let sent = 0;
    client.intercept(async (_, proceed) => {
      if (sent++ < death) return proceed();
      if (sent === death + 1 && draw(2) === 0) await proceed();
      throw new MemoryError('aborted', 'the process is dead');
    });
    await Promise.allSettled([act(client), ...(draw(2) === 0 ? [act(client), act(first)] : [])]);
    await site.time.pause([10, 70_000, HOUR, DAY][draw(4)] ?? 0);
  }
  const findings = await findingsOf(await site.client());
  expect(findings, `seed ${SEED}, run ${run}: ${done.join(' ')}`).toEqual([]);
  await site.base[Symbol.asyncDispose]();
}
