import { describe, expect, it } from 'vitest';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { seal } from '../../../../src/format/object.ts';
import { classKey, fileKey, logicalName, type ObjectKey } from '../../../../src/format/object-keys.ts';
import { MAX_CONTENT_BYTES, MOST_KEPT_BYTES } from '../../../../src/format/sizes.ts';
import { newVersion } from '../../../../src/format/version.ts';
import { NO_ID } from '../../../../src/format/wrap.ts';
import { createHistory } from '../../../../src/history/history.ts';
import { readHistoryRecord } from '../../../../src/history/past/records.ts';
import {
  encodeHistoryRecord,
  type HistoryRecord,
  historyHash,
  historyRecordId,
} from '../../../../src/history/save/history-record.ts';
import { VERSION_SAVER } from '../../../../src/history/save/version-saver.ts';
import type { MemoryPath } from '../../../../src/language/path.ts';
import type { ChangeResult, Changes, ETag } from '../../../../src/store/port.ts';
import { textWrite } from '../../../../src/tree/create-file.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { listIds } from '../../../../src/tree/records/list-ids.ts';
import type { EndedFile, ListedFile, Work } from '../../../../src/tree/tenant.ts';
import { keepingClient } from '../../../stage/history-site.ts';
import { createOperator, putRecord } from '../../../stage/key-operator.ts';
import { countCalls, noAnswer, type StoreCall } from '../../../stage/store-wrappers.ts';
import {
  at,
  bytes,
  createSite,
  TEST_ROOT_KEY,
  type TestClient,
  type TestSite,
  withTenant,
} from '../../../stage/test-tree.ts';
import { whereTextIs } from '../../../stage/traces.ts';

const PATH = '/memories/d/a';

async function start(): Promise<{ readonly site: TestSite; readonly client: TestClient }> {
  const site = await createSite();
  const client = await site.client({ keepsHistory: true });
  await client.create(PATH, 'one');
  client.calls.length = 0;
  return { site, client };
}

const isPut = (call: StoreCall, cls: string): boolean => call.verb === 'put' && call.key.includes(`/${cls}/`);
const putsOf = ({ calls }: TestClient, cls: string): number =>
  calls.filter((call) => isPut(call, cls)).length;

const recordsOf = async (work: Work): Promise<readonly HistoryRecord[]> => {
  const listed = await listIds(work, 'history');
  const records = await Promise.all(listed.map(({ id }) => readHistoryRecord(work, id)));
  return records.filter((record) => record !== undefined);
};

const overwrite = ({ tree }: TestClient): Promise<unknown> => tree.overwrite(at(PATH), bytes('two'));

describe('what is replaced or removed', () => {
  const replace = async ({ tree }: TestClient): Promise<unknown> => {
    const version = (await tree.readVersion(at(PATH)))?.etag;
    if (version === undefined) throw new Error('there is no file');
    return tree.replace(at(PATH), { content: bytes('two'), version });
  };

  it.each<readonly [string, (client: TestClient) => Promise<unknown>, string]>([
    ['an edit', (client) => client.append(PATH, ' two'), 'unavailable'],
    ['an overwrite', overwrite, 'unavailable'],
    ['a replacement', replace, 'unavailable'],
    ['a delete of the file', (client) => client.remove(PATH), 'unavailable'],
    ['a delete of its directory', (client) => client.remove('/memories/d'), 'unavailable'],
    // Its copies are there already.
    ['a rename of its directory', (client) => client.rename('/memories/d', '/memories/e'), 'outcome_unknown'],
  ])('stays where it cannot be saved: %s', async (_, change, code) => {
    const { site, client } = await start();
    client.intercept((call, proceed) => (isPut(call, 'history') ? Promise.reject(noAnswer()) : proceed()));
    await expect(change(client)).rejects.toMatchObject({ code });
    const other = await site.client();
    const kept = await other.tree.readVersion(at(PATH));
    expect(new TextDecoder().decode(kept?.content)).toBe('one');
  });

  it('is saved as the version that a listing showed, or as the next one shows', async () => {
    const { site, client } = await start();
    const other = await site.client();
    client.intercept(async (call, proceed) => {
      if (call.verb === 'get' && call.key.includes('/data/')) {
        client.intercept((_, go) => go());
        await other.append(PATH, ' two');
      }
      return proceed();
    });
    await client.remove(PATH);
    // The newer version once, and that it was deleted.
    expect(putsOf(client, 'history')).toBe(2);
  });

  it('is saved with the greatest time of writing that a file may have', async () => {
    const { site, client } = await start();
    const work = await client.open();
    const mtime = Number.MAX_SAFE_INTEGER;
    const { random } = work.tenant;
    const sealed = seal({
      keys: work.keyring.keys,
      name: logicalName(at(PATH)),
      content: bytes('late'),
      random,
      version: newVersion({ mtime, random }),
      clock: site.time.clock(),
    });
    const key = fileKey(work.tenant.layout, work.keyring.names, at(PATH));
    await site.base.put(key, sealed, { mode: 'overwrite' });
    const other = await keepingClient(site);
    await other.append(PATH, ', and later');
    expect(await recordsOf(await other.open())).toMatchObject([
      { kind: 'replaced', version: { mtime, size: 4 } },
    ]);
    const { findings } = await verifyTree(other.tenant);
    expect(findings).toEqual([]);
  });

  it('is saved though it is larger than the limit of the process that deletes it', async () => {
    const { site, client } = await start();
    await (await site.client({ maxFileBytes: 2 })).remove(PATH);
    const history = createHistory(client.tenant, client.tree);
    const written = (await history.list(PATH)).find(({ kind }) => kind === 'written');
    if (written === undefined) throw new Error('there is no version');
    expect((await history.read(written)).text()).toBe('one');
  });

  it('is not what a restored version replaces where it was changed meanwhile', async () => {
    const { site, client } = await start();
    await client.append(PATH, ' two');
    const history = createHistory(client.tenant, client.tree);
    const oldest = (await history.list(PATH)).at(-1);
    if (oldest === undefined) throw new Error('there is no version');
    const other = await site.client();
    client.intercept(async (call, proceed) => {
      if (isPut(call, 'history')) {
        client.intercept((_, go) => go());
        await other.append(PATH, ' three');
      }
      return proceed();
    });
    await expect(history.restore(oldest)).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await client.text(PATH)).toBe('one two three');
  });

  it('is not saved for a replacement of a version that is not there any more', async () => {
    const { site, client } = await start();
    const version = (await client.tree.readVersion(at(PATH)))?.etag;
    if (version === undefined) throw new Error('there is no file');
    await client.append(PATH, ' two');
    const other = await site.client();
    const replacing = other.tree.replace(at(PATH), { content: bytes('three'), version });
    await expect(replacing).rejects.toMatchObject({ code: 'version_conflict' });
    expect(putsOf(other, 'history')).toBe(0);
  });

  it('is read once for a replacement by a process that does not hold it', async () => {
    const { site } = await start();
    const other = await site.client();
    await other.open();
    const version = (await site.client().then(({ tree }) => tree.readVersion(at(PATH))))?.etag;
    if (version === undefined) throw new Error('there is no file');
    await other.paths('/memories/none');
    other.calls.length = 0;
    await other.tree.replace(at(PATH), { content: bytes('two'), version });
    // A file that young may be taken back, so a LIST and a HEAD of the directory make sure.
    expect(countCalls(other.calls)).toEqual({ get: 1, list: 1, head: 1, put: 2 });
  });

  it('is noted as deleted where the delete of its directory stopped half-way', async () => {
    const { site, client } = await start();
    await client.create('/memories/d/b', 'two');
    client.intercept(async <T>(call: StoreCall, proceed: () => Promise<T>) => {
      if (call.verb !== 'delete') return proceed();
      const [first, second] = call.targets;
      await site.base.delete(call.targets.slice(0, 1));
      expect(first?.key).not.toBe(second?.key);
      return [{ key: second?.key, error: new MemoryError('access_denied', 'not that one') }] as T;
    });
    await expect(client.remove('/memories/d')).rejects.toMatchObject({ code: 'outcome_unknown' });
    const entries = await createHistory(client.tenant, client.tree).list();
    expect(entries.filter(({ kind }) => kind === 'deleted')).toHaveLength(1);
  });

  it.each([PATH, '/memories/d'])(
    'may be gone where neither its delete is answered nor the look behind it: %s',
    async (path) => {
      const { client } = await start();
      let isSent = false;
      client.intercept(async (call, proceed) => {
        if (isSent && call.verb === 'get') throw new MemoryError('unavailable', 'not now');
        const answer = await proceed();
        if (call.verb !== 'delete') return answer;
        isSent = true;
        throw noAnswer();
      });
      await expect(client.remove(path)).rejects.toMatchObject({ code: 'outcome_unknown' });
    },
  );

  it('is noted as deleted when its caller cancels meanwhile', async () => {
    const { client } = await start();
    const controller = new AbortController();
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'delete') controller.abort();
      return answer;
    });
    await client.tree.remove(at(PATH), { signal: controller.signal }).catch(() => {});
    const entries = await createHistory(client.tenant, client.tree).list(PATH);
    expect(entries.map(({ kind }) => kind)).toContain('deleted');
  });
});

describe('the record of a version', () => {
  /** Answers the purposes for which the records say that their versions were saved, the newest record last. */
  const purposes = async (client: TestClient): Promise<readonly unknown[]> => {
    const work = await client.open();
    const records = (await listIds(work, 'history')).map(({ id }) => readHistoryRecord(work, id));
    return (await Promise.all(records)).flatMap((record) =>
      record?.kind === 'replaced' ? [record.for] : [],
    );
  };
  const isOfFile = (call: StoreCall, verb: StoreCall['verb']): boolean =>
    call.verb === verb && JSON.stringify(call).includes('/data/');

  it.each<readonly [string, (client: TestClient) => Promise<unknown>, 'delete' | undefined]>([
    ['a delete of the file', (client) => client.remove(PATH), 'delete'],
    ['a delete of its directory', (client) => client.remove('/memories/d'), 'delete'],
    ['an edit', (client) => client.append(PATH, '!'), undefined],
    ['an overwrite', overwrite, undefined],
  ])('says whether it goes by a delete: %s', async (_, change, purpose) => {
    const { client } = await start();
    await change(client);
    expect(await purposes(client)).toEqual([purpose]);
  });

  it('that was saved for an edit says so from the delete on that comes first', async () => {
    const { site, client } = await start();
    client.intercept((call, proceed) => (isOfFile(call, 'put') ? Promise.reject(noAnswer()) : proceed()));
    await expect(client.append(PATH, '!')).rejects.toThrow();
    expect(await purposes(client)).toEqual([undefined]);
    const other = await site.client();
    await other.remove(PATH);
    expect(await purposes(other)).toEqual(['delete']);
  });

  it('that was saved by an attempt which came to nothing counts its days from the change that comes hours later', async () => {
    const { site, client } = await start();
    client.intercept((call, proceed) => (isOfFile(call, 'put') ? Promise.reject(noAnswer()) : proceed()));
    await expect(client.append(PATH, '!')).rejects.toThrow();
    await site.time.pause(2 * 3_600_000);
    const changed = site.time.clock();
    await (await site.client()).append(PATH, '?');
    const [kept] = await listIds(await client.open(), 'history');
    expect(kept?.object.lastModified).toBeGreaterThanOrEqual(changed);
  });

  it('that was saved for a delete which came to nothing goes on saying so, also when it is written again', async () => {
    const { site, client } = await start();
    client.intercept((call, proceed) => (isOfFile(call, 'delete') ? Promise.reject(noAnswer()) : proceed()));
    await expect(client.remove(PATH)).rejects.toThrow();
    const other = await site.client();
    await site.time.pause(2 * 3_600_000);
    await other.append(PATH, '!');
    expect(await purposes(other)).toEqual(['delete']);
  });
});

it.each<readonly [string, (client: TestClient) => Promise<unknown>]>([
  ['a delete of the file', (client) => client.remove(PATH)],
  ['a delete of its directory', (client) => client.remove('/memories/d')],
  ['a rename of the file', (client) => client.rename(PATH, '/memories/e')],
  ['a rename of its directory', (client) => client.rename('/memories/d', '/memories/e')],
])('an end names the version and the bound of what went, as it lay there: %s', async (_, change) => {
  const { client } = await start();
  await client.append(PATH, ' two');
  const gone = await client.tree.readVersion(at(PATH));
  if (gone === undefined) throw new Error('there is no file');
  await change(client);
  const ends = (await recordsOf(await client.open())).filter((record) => 'files' in record);
  expect(ends.flatMap(({ files }) => files)).toEqual([[at(PATH), gone.id, gone.bound]]);
});

it('a renamed file is noted as the version that was renamed, not as one before it', async () => {
  const { site, client } = await start();
  const other = await site.client();
  client.intercept(async (call, proceed) => {
    if (call.verb === 'delete') {
      client.intercept((_, go) => go());
      await other.append(PATH, ' two');
    }
    return proceed();
  });
  await client.rename(PATH, '/memories/e');
  const entries = await createHistory(client.tenant, client.tree).list();
  const current = entries.find((entry) => entry.kind === 'written' && entry.end === 'current');
  const moved = entries.filter(({ kind }) => kind === 'renamed');
  expect(current?.path).toBe('/memories/e');
  expect(moved.map(({ version }) => version)).toEqual([current?.version]);
});

describe('what becomes of 10,001 files', () => {
  const files = Array.from({ length: 10_001 }, (_, n) => {
    const id = new Uint8Array(16);
    new DataView(id.buffer).setUint32(0, n + 1);
    return [at(`/memories/from/${n}`), id, 1n] as const;
  });
  const moved = { from: at('/memories/from'), to: at('/memories/to'), id: new Uint8Array(16).fill(1) };

  it.each<readonly [string, (work: Work) => Promise<void>]>([
    ['renamed', (work) => VERSION_SAVER.saveMoves(work, moved, files)],
    ['deleted', (work) => VERSION_SAVER.noteDeleted(work, moved.from, files)],
  ])('takes two records where they are %s, and each is told of once', async (kind, note) => {
    const client = await keepingClient(await createSite());
    await client.create(PATH, 'one');
    await note(await client.open());
    expect(putsOf(client, 'history')).toBe(2);
    const ends = (await recordsOf(await client.open())).filter((record) => 'files' in record);
    const told = ends.flatMap(({ files }) => files);
    expect(told.map(([path]) => path).sort()).toEqual(files.map(([path]) => path).sort());
    expect(new Set(ends.map((end) => end.kind))).toEqual(new Set([kind === 'renamed' ? 'moved' : 'deleted']));
  });
});

describe('an actor', () => {
  const create = ({ tree }: TestClient, name: string, signal?: AbortSignal): Promise<unknown> =>
    tree.create(at(`/memories/${name}`), bytes(name), { actor: 'ann', signal });

  it('is named by the next command where that failed', async () => {
    const { client } = await start();
    client.intercept(async (call, proceed) => {
      if (isPut(call, 'actors')) throw new MemoryError('unavailable', 'not now');
      return proceed();
    });
    await expect(create(client, 'x')).rejects.toMatchObject({ code: 'unavailable' });
    client.intercept((_, proceed) => proceed());
    await create(client, 'x');
    expect(putsOf(client, 'actors')).toBe(2);
  });

  it('is named for all commands that wait when the first of them is cancelled', async () => {
    const { client } = await start();
    const controller = new AbortController();
    client.intercept(async (call, proceed) => {
      if (isPut(call, 'actors')) controller.abort();
      return proceed();
    });
    const cancelled = create(client, 'x', controller.signal).catch((error: unknown) => error);
    await create(client, 'y');
    expect(await cancelled).toMatchObject({ code: 'aborted' });
    expect(await client.text('/memories/y')).toBe('y');
  });
});

it.each(['replaced', 'redacted'] as const)(
  'a version is not replaced where a record %s of another one lies at its id',
  async (kind) => {
    const site = await createSite();
    const client = await keepingClient(site);
    await client.create(PATH, 'text');
    const work = await client.open();
    const file = (await readFile(work, at(PATH))) ?? expect.unreachable('it was created');
    const id = file.id.slice();
    id[15] = (id[15] ?? 0) ^ 1;
    const { mtime, bound, previous, writer } = file;
    const version = { path: at(PATH), id, mtime, bound, previous, writer, size: 5 };
    const noted = { at: mtime, by: NO_ID, version };
    const record: HistoryRecord =
      kind === 'redacted' ? { kind, ...noted } : { kind, ...noted, text: bytes('other') };
    await putRecord(work, 'history', historyRecordId(work, version), encodeHistoryRecord(record));
    const refusal = expect.objectContaining({ code: 'integrity' });
    await expect(client.append(PATH, '!')).rejects.toEqual(refusal);
    await expect(client.tree.overwrite(at(PATH), bytes('over'))).rejects.toEqual(refusal);
    await expect(client.remove(PATH)).rejects.toMatchObject({ code: expect.stringMatching(/integrity/) });
    expect(await client.text(PATH)).toBe('text');
  },
);

describe('a text that is too long for a record', () => {
  /** Stands for so many bytes, which no test needs to hold. */
  const long = (length: number): Uint8Array => ({ length }) as Uint8Array;

  it('is told without the text where it is replaced, and can be saved no longer than that', async () => {
    const { client } = await start();
    const work = await client.open();
    const version = await readFile(work, at(PATH));
    if (version === undefined) throw new Error('there is no file');
    const content = long(MOST_KEPT_BYTES + 1);
    await VERSION_SAVER.saveReplaced({ ...work, saver: VERSION_SAVER }, at(PATH), { ...version, content });
    const facts = { path: PATH, size: MOST_KEPT_BYTES + 1 };
    expect(await recordsOf(work)).toMatchObject([{ kind: 'redacted', version: facts }]);
    await client.remove(PATH);
    expect(await createHistory(client.tenant, client.tree).list(PATH)).toMatchObject([
      { kind: 'deleted' },
      { kind: 'written', text: 'redacted' },
    ]);
  });

  it('is not written where history is kept', async () => {
    const { client } = await start();
    const work = withTenant(await client.open(), { maxFileBytes: MAX_CONTENT_BYTES });
    const keeping = { ...work, saver: VERSION_SAVER };
    const details = { limit: 'file_bytes', value: MOST_KEPT_BYTES + 1, max: MOST_KEPT_BYTES };
    const refusal = expect.objectContaining({ code: 'limit_exceeded', details });
    expect(() => textWrite(keeping, at(PATH), long(MOST_KEPT_BYTES + 1))).toThrow(refusal);
    expect(() => textWrite(work, at(PATH), long(MOST_KEPT_BYTES + 1))).not.toThrow(refusal);
    expect(() => textWrite(keeping, at(PATH), long(MOST_KEPT_BYTES))).not.toThrow(refusal);
  });
});

describe('a version that a process holds', () => {
  const [OTHER, HELD] = ['/memories/e/b', 'what is held'];

  const isKeyring = (call: StoreCall): boolean => 'key' in call && call.key.startsWith('keyrings/');
  const ofObjects = ({ calls }: TestClient): StoreCall[] => calls.filter((call) => !isKeyring(call));

  /** A process that holds the file, and another one. */
  async function held() {
    const site = await createSite();
    const client = await keepingClient(site);
    await client.create(PATH, HELD);
    await site.time.pause(61_000);
    const warm = await site.client({ ttlMs: 900_000 });
    await warm.text(PATH);
    warm.calls.length = 0;
    return { site, client, warm };
  }

  const firstOf = async (client: TestClient, path: string) =>
    (await createHistory(client.tenant, client.tree).list(path)).findLast(({ kind }) => kind === 'written') ??
    expect.unreachable('there is a version');

  const redactFirst = async (client: TestClient, path: string) =>
    createHistory(client.tenant, client.tree).redact(await firstOf(client, path));

  /** Keys of the records that hold the text. */
  async function kept(client: TestClient): Promise<readonly string[]> {
    const { layout, store } = client.tenant;
    const objects = [];
    for await (const page of store.list({ prefix: '' }))
      for (const { key } of page.objects) {
        const stored = await store.get(key);
        if (typeof stored === 'object') objects.push({ key, body: stored.body });
      }
    const found = await whereTextIs(objects, { layout, rootKey: TEST_ROOT_KEY }, HELD);
    return found.filter((key) => key.includes('/history/'));
  }

  it('is saved unasked within five minutes of its last answer, and behind one GET without its bytes later', async () => {
    const { site, warm } = await held();
    await warm.append(PATH, '.');
    expect(countCalls(ofObjects(warm))).toEqual({ put: 2 });
    await site.time.pause(299_000);
    warm.calls.length = 0;
    await warm.append(PATH, '.');
    expect(countCalls(ofObjects(warm))).toEqual({ put: 2 });
    for (const change of [
      () => warm.append(PATH, '.'),
      () => warm.tree.overwrite(at(PATH), bytes('over')),
      async () => {
        const etag = warm.tenant.cache.find(
          fileKey(warm.layout, (await warm.open()).keyring.names, at(PATH)),
        )?.etag;
        await warm.tree.replace(at(PATH), {
          content: bytes('with'),
          version: etag ?? expect.unreachable('it is held'),
        });
      },
    ]) {
      // As old as that, and no older.
      await site.time.pause(300_000);
      warm.calls.length = 0;
      const answers: unknown[] = [];
      warm.intercept(async (call, proceed) => {
        const answer = await proceed();
        if (call.verb === 'get' && !isKeyring(call)) answers.push(answer);
        return answer;
      });
      await change();
      expect(countCalls(ofObjects(warm))).toEqual({ get: 1, put: 2 });
      expect(answers).toEqual(['not_modified']);
    }
  });

  it('is not asked for where no history is kept', async () => {
    const site = await createSite();
    const warm = await site.client({ ttlMs: 900_000 });
    await warm.create(PATH, HELD);
    await site.time.pause(600_000);
    warm.calls.length = 0;
    await warm.append(PATH, '.');
    expect(countCalls(ofObjects(warm))).toEqual({ put: 1 });
  });

  it.each<readonly [string, (site: TestSite, client: TestClient) => Promise<unknown>]>([
    [
      'redacted',
      async (_, client) => {
        await client.rename(PATH, OTHER);
        await client.tree.overwrite(at(OTHER), bytes('clean'));
        await redactFirst(client, OTHER);
        await client.create(PATH, 'another');
      },
    ],
    [
      'expired',
      async (site, client) => {
        await client.tree.overwrite(at(PATH), bytes('clean'));
        for await (const { objects } of site.base.list({ prefix: 'tenants/acme/history/' }))
          await site.base.delete(objects.map(({ key }) => ({ key })));
      },
    ],
  ])('is not written again by a process that holds it for minutes, once it was %s', async (_, end) => {
    const { site, client, warm } = await held();
    await end(site, client);
    expect(await kept(client)).toEqual([]);
    await site.time.pause(301_000);
    await warm.append(PATH, '!');
    expect(await kept(client)).toEqual([]);
  });

  describe.each<readonly [string, (cancel: AbortController) => Error | undefined]>([
    [
      'cancelled',
      (cancel) => {
        cancel.abort();
        return undefined;
      },
    ],
    ['refused', () => new MemoryError('unavailable', 'nothing is written now')],
    ['left without an answer', noAnswer],
  ])('and that was redacted elsewhere, in a write that is then %s,', (_, fail) => {
    it.each<readonly [string, (client: TestClient, signal: AbortSignal) => Promise<unknown>]>([
      ['an edit', (warm, signal) => warm.append(PATH, '!', signal)],
      ['an overwrite', (warm, signal) => warm.tree.overwrite(at(PATH), bytes('over'), { signal })],
      ['a delete', (warm, signal) => warm.tree.remove(at(PATH), { signal })],
    ])('is taken out of the record that %s leaves', async (_, change) => {
      const { client, warm } = await held();
      const cancel = new AbortController();
      let saved = false;
      warm.intercept(async (call, proceed) => {
        if (isPut(call, 'history') && !saved) {
          saved = true;
          await client.rename(PATH, OTHER);
          await client.tree.overwrite(at(OTHER), bytes('clean'));
          await redactFirst(client, OTHER);
          await client.create(PATH, 'another');
        } else if (isPut(call, 'data') || call.verb === 'delete') {
          const failure = fail(cancel);
          if (failure instanceof Error) throw failure;
          if (failure !== undefined) return failure;
        }
        return proceed();
      });
      await expect(change(warm, cancel.signal)).rejects.toThrow();
      expect(saved).toBe(true);
      expect(await kept(client)).toEqual([]);
    });
  });

  describe.each<readonly [string, (site: TestSite, client: TestClient) => Promise<unknown>]>([
    [
      'elsewhere, and came back since',
      async (_, client) => {
        await client.rename(PATH, OTHER);
        await client.tree.overwrite(at(OTHER), bytes('clean'));
        await redactFirst(client, OTHER);
        await client.rename(OTHER, PATH);
      },
    ],
    [
      'behind a rename there and back',
      async (_, client) => {
        await client.rename(PATH, OTHER);
        await client.rename(OTHER, PATH);
        await client.tree.overwrite(at(PATH), bytes('clean'));
        await redactFirst(client, PATH);
      },
    ],
    [
      'behind a migration',
      async (site, client) => {
        await (await createOperator(site)).migrate({ reencrypt: true });
        await client.tree.overwrite(at(PATH), bytes('clean'));
        await redactFirst(client, PATH);
      },
    ],
  ])('and that was redacted %s', (_, redact) => {
    it.each<readonly [string, (client: TestClient) => Promise<unknown>]>([
      ['an edit', (warm) => warm.append(PATH, '!')],
      ['an overwrite', (warm) => warm.tree.overwrite(at(PATH), bytes('over'))],
    ])('is taken out of the record that %s leaves in vain', async (_, change) => {
      const { site, client, warm } = await held();
      const operator = await createOperator(site);
      await operator.rotate();
      await site.time.pause(1_200_000);
      await warm.text(PATH);
      await redact(site, client);
      await change(warm);
      expect(await kept(client)).toEqual([]);
    });
  });

  it.each<readonly [string, (client: TestClient) => Promise<unknown>]>([
    ['an edit', (warm) => warm.append(PATH, '!')],
    ['an overwrite', (warm) => warm.tree.overwrite(at(PATH), bytes('over'))],
    ['a delete', (warm) => warm.remove(PATH)],
    ['a delete of its directory', (warm) => warm.remove('/memories/d')],
  ])('is taken out again where %s wrote it down in vain, behind its redaction', async (_, change) => {
    const { client, warm } = await held();
    let met = false;
    warm.intercept(async (call, proceed) => {
      if (!met && isPut(call, 'history')) {
        met = true;
        await client.rename(PATH, OTHER);
        await client.tree.overwrite(at(OTHER), bytes('clean'));
        await redactFirst(client, OTHER);
        await client.create(PATH, 'another');
      }
      return proceed();
    });
    await change(warm).catch(() => {});
    expect(met).toBe(true);
    expect(await kept(client)).toEqual([]);
  });
});

describe('a record that lies at the id of a version', () => {
  const malformed = bytes('no record');
  const deleted = encodeHistoryRecord({ kind: 'deleted', at: 1, by: NO_ID, files: [] });

  async function prepared() {
    const { site, client } = await start();
    const work = await client.open();
    const version = (await readFile(work, at(PATH))) ?? expect.unreachable('it was created');
    const id = historyRecordId(work, { path: at(PATH), ...version });
    const key = classKey(client.layout, 'history', id);
    client.calls.length = 0;
    return { site, client, work, version, id, key };
  }

  it.each<readonly [string, Uint8Array | undefined]>([
    ['cannot be opened', undefined],
    ['is malformed', malformed],
    ['is of a delete', deleted],
  ])('stays where it %s, and the version is replaced all the same', async (_, content) => {
    const { site, client, work, id, key } = await prepared();
    if (content === undefined) await site.base.put(key, bytes('x'.repeat(300)), { mode: 'create' });
    else await putRecord(work, 'history', id, content);
    client.calls.length = 0;
    await client.append(PATH, ' two');
    expect(await client.text(PATH)).toBe('one two');
    expect(putsOf(client, 'history')).toBe(1);
  });

  it.each([
    [1, 'written'],
    [8, 'written'],
    [9, 'unavailable'],
  ])('is looked for in vain, and written again, at most eight times: %i times', async (times, outcome) => {
    const { client, version, work } = await prepared();
    let left = times;
    client.intercept(async (call, proceed) =>
      isPut(call, 'history') && left-- > 0 ? ({ conflict: 'exists' } as never) : proceed(),
    );
    const saving = VERSION_SAVER.saveReplaced(work, at(PATH), version).then(
      () => 'written',
      ({ code }: MemoryError) => code,
    );
    expect(await saving).toBe(outcome);
    expect(putsOf(client, 'history')).toBe(Math.min(times + 1, 9));
  });

  it.each([
    [3_600_000, 1],
    [3_600_001, 2],
  ])('is written again where it is older than an hour: %i ms, %i PUTs', async (ageMs, puts) => {
    const { site, client, version, work } = await prepared();
    await VERSION_SAVER.saveReplaced(work, at(PATH), version);
    await site.time.pause(ageMs);
    client.calls.length = 0;
    await VERSION_SAVER.saveReplaced(work, at(PATH), version);
    expect(putsOf(client, 'history')).toBe(puts);
  });
});

describe('an end', () => {
  const file = (path: string): EndedFile => [at(path), new Uint8Array(16).fill(1), 1n];

  it.each<readonly [string, readonly string[], string | undefined]>([
    ['the file that was named', [PATH], PATH],
    ['a file of a directory', [`${PATH}/b`], '/memories'],
    ['several files', [PATH, `${PATH}/b`], '/memories'],
    ['no file', [], undefined],
  ])('lies at the path of one file, or at the root: %s', async (_, paths, place) => {
    const { client } = await start();
    const work = await client.open();
    await VERSION_SAVER.noteDeleted(work, at(PATH), paths.map(file));
    const hashes = (await listIds(work, 'history')).map(({ id }) => id.slice(0, 43));
    expect(hashes).toEqual(place === undefined ? [] : [historyHash(work, place as MemoryPath)]);
  });

  it.each([
    [new MemoryError('access_denied', 'not that'), 'access_denied'],
    [new Error('of another kind'), 'unavailable'],
  ])('that cannot be written is logged, and changes nothing: %s', async (failure, code) => {
    const { client } = await start();
    client.intercept((call, proceed) => (isPut(call, 'history') ? Promise.reject(failure) : proceed()));
    await VERSION_SAVER.noteDeleted(await client.open(), at(PATH), [file(PATH)]);
    expect(client.logged).toEqual([{ message: expect.stringContaining('history'), fields: { code } }]);
  });
});

describe('files that are deleted as one', () => {
  const BYTES = 4_194_304;
  const listed = (sizes: readonly number[]): readonly ListedFile[] =>
    sizes.map((size, n) => ({
      path: at(`/memories/${n}`),
      key: `gone/${n}` as ObjectKey,
      etag: 'e' as ETag,
      size,
    }));

  /** How many files go in each change, which files stay and why, and how many were told as done. */
  async function deletedAs(
    files: readonly ListedFile[],
    refuse: (change: Changes, nth: number) => Error | ChangeResult | undefined = () => undefined,
  ) {
    const { site, client } = await start();
    const work = await client.open();
    const sent: Changes[] = [];
    const changeAll = async (change: Changes): Promise<ChangeResult> => {
      const failure = refuse(change, sent.push(change));
      if (failure instanceof Error) throw failure;
      if (failure !== undefined) return failure;
      return { etags: change.puts.map((_, n) => `e${n}` as ETag) };
    };
    const able = withTenant(work, { store: { ...work.tenant.store, changeAll } });
    let told = 0;
    const onTarget = () => void told++;
    const failures = await VERSION_SAVER.deleteListed(able, files, { at: at('/memories'), onTarget });
    return { site, sent, counts: sent.map(({ deletes }) => deletes.length), failures, told };
  }

  it.each<readonly [readonly number[], readonly number[]]>([
    [[], []],
    [Array(100).fill(1), [100]],
    [Array(201).fill(1), [100, 100, 1]],
    [[BYTES - 1, 1], [2]],
    [
      [BYTES, 1, 1],
      [1, 2],
    ],
    [
      [1, BYTES],
      [1, 1],
    ],
    [
      [BYTES + 1, BYTES + 1],
      [1, 1],
    ],
  ])('go by a hundred, and by 4 MiB: case %#', async (sizes, counts) => {
    const deleted = await deletedAs(listed(sizes));
    expect(deleted).toMatchObject({ counts, failures: [], told: sizes.length });
    // A file that is gone leaves no record.
    expect(deleted.sent.flatMap(({ puts }) => puts)).toEqual([]);
  });

  const full = new MemoryError('unavailable', 'full', { details: { reason: 'disk_full' } });
  const denied = new MemoryError('access_denied', 'not that');
  const changed = (n: number) => ({ key: `gone/${n}` as ObjectKey, conflict: 'changed' }) as const;
  const isOf = ({ deletes }: Changes, n: number) => deletes.length === 1 && deletes[0]?.key === `gone/${n}`;

  it.each<
    readonly [
      string,
      readonly number[],
      (change: Changes, nth: number) => Error | ChangeResult | undefined,
      object,
    ]
  >([
    [
      'go one by one where they have no room',
      [1, 1, 1],
      (change, nth) => (nth === 1 || isOf(change, 1) ? full : undefined),
      { counts: [3, 1, 1, 1], failures: [{ key: 'gone/1', error: full }], told: 3 },
    ],
    [
      'stay, the one that has no room alone and all behind it',
      [BYTES, BYTES, BYTES],
      (_, nth) => (nth === 2 ? full : undefined),
      { counts: [1, 1], failures: [1, 2].map((n) => ({ key: `gone/${n}`, error: full })), told: 1 },
    ],
    [
      'stay where they were changed, and the others go',
      [1, 1],
      (_, nth) => (nth === 1 ? { conflicts: [changed(0)] } : undefined),
      { counts: [2, 1], failures: [changed(0)], told: 2 },
    ],
    [
      'are told of where all of them were changed',
      [1],
      () => ({ conflicts: [changed(0)] }),
      { counts: [1], failures: [changed(0)], told: 1 },
    ],
    [
      'stay behind any other failure',
      [1, 1],
      () => denied,
      { counts: [2], failures: [0, 1].map((n) => ({ key: `gone/${n}`, error: denied })), told: 0 },
    ],
  ])('%s', async (_, sizes, refuse, outcome) => {
    const { counts, failures, told } = await deletedAs(listed(sizes), refuse);
    expect({ counts, failures, told }).toEqual(outcome);
  });

  it('go without a record where they are damaged, and stay where they cannot be read', async () => {
    const { site, client } = await start();
    const work = await client.open();
    const key = fileKey(client.layout, work.keyring.names, at('/memories/d/b'));
    await site.base.put(key, bytes('x'.repeat(300)), { mode: 'create' });
    const { files } = await client.tree.list(at('/memories/d'));
    expect(files).toHaveLength(2);
    expect(await VERSION_SAVER.saveListed(work, files)).toMatchObject([[PATH, {}, {}]]);
    client.intercept((call, proceed) => (call.verb === 'get' ? Promise.reject(denied) : proceed()));
    await expect(VERSION_SAVER.saveListed(work, files)).rejects.toBe(denied);
  });
});
