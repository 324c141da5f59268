import { describe, expect, it } from 'vitest';
import { expireTree } from '../../../../src/admin/expiry/expire.ts';
import { migrateObjects } from '../../../../src/admin/keys/migrate.ts';
import { readMigratedVersions } from '../../../../src/admin/keys/migrated-versions.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { readHeader } from '../../../../src/format/header.ts';
import { seal } from '../../../../src/format/object.ts';
import { fileKey, logicalName, type ObjectKey } from '../../../../src/format/object-keys.ts';
import { newVersion } from '../../../../src/format/version.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { createOperator, type KeyOperator } from '../../../stage/key-operator.ts';
import { noAnswer } from '../../../stage/store-wrappers.ts';
import { at, bytes, createSite, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const FILE = '/memories/a';
const OTHER = '/memories/b';
const DAY = 86_400_000;

interface Scene {
  readonly site: TestSite;
  /** Goes on sealing with version 1 of the tenant key. */
  readonly worker: TestClient;
  readonly operator: KeyOperator;
}

/** Files under version 1 of the tenant key, a day old, and a version 2 that is active. */
async function rotated(files: readonly string[] = [FILE], ttlMs = 300_000): Promise<Scene> {
  const site = await createSite();
  const worker = await site.client({ ttlMs: 900_000 });
  for (const path of files) await worker.create(path, `text of ${path}`);
  await site.time.pause(DAY);
  await (await site.client()).open();
  await worker.open();
  await worker.paths();
  const operator = await createOperator(site, await site.client({ ttlMs }));
  await operator.rotate();
  return { site, worker, operator };
}

async function versionOf(site: TestSite, path: string) {
  const version = await readFile(await (await site.client()).open(), at(path));
  if (version === undefined) throw new Error('there is no such file');
  return version;
}

const isData = (call: { readonly verb: string; readonly key?: ObjectKey }): boolean =>
  call.key?.includes('/data/') ?? false;

describe('a migration', () => {
  it('that encrypts again knows what it has sealed under another name in a later pass', async () => {
    const { site, operator } = await rotated();
    const renamer = await site.client();
    let listings = 0;
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'list' && call.page === 1 && ++listings === 2) await renamer.rename(FILE, OTHER);
      return proceed();
    });
    const report = await operator.migrate({ reencrypt: true });
    expect(report).toMatchObject({ passes: 2, rebound: 1, young: 0, retired: [1] });
  });

  it('counts what lies under the active key already, and reads it once in a run', async () => {
    const { site, operator } = await rotated();
    await (await site.client()).create(OTHER, 'under the active key');
    await site.time.pause(DAY);
    const { keyring } = await operator.client.open();
    const key = fileKey(operator.client.layout, keyring.names, at(OTHER));
    operator.client.calls.length = 0;
    const report = await operator.migrate();
    expect(report).toMatchObject({ passes: 2, rebound: 1, versions: [{ version: 2, objects: 2 }] });
    const reads = operator.client.calls.filter((call) => call.verb === 'get' && call.key === key);
    expect(reads).toHaveLength(1);
  });

  it('keeps the previous version and the writer of a file', async () => {
    for (const reencrypt of [false, true]) {
      const { site, worker, operator } = await rotated();
      const {
        tenant: { layout, random },
        keyring,
      } = await worker.open();
      const [name, key] = [logicalName(at(FILE)), fileKey(layout, keyring.names, at(FILE))];
      const [previous, writer] = [random(16), random(16)];
      const object = {
        keys: keyring.keys,
        name,
        content: bytes('x'),
        version: newVersion({ mtime: 1, previous, writer, random }),
        random,
      };
      await site.base.put(key, seal(object), { mode: 'overwrite' });
      await site.time.pause(60_001);
      expect(await operator.migrate({ reencrypt })).toMatchObject({ rebound: 1 });
      expect(await versionOf(site, FILE)).toMatchObject({ previous, writer });
    }
  });

  it('ends with an unknown outcome when its caller cancels it and no answer tells what it wrote', async () => {
    const { operator } = await rotated();
    const controller = new AbortController();
    operator.client.intercept((call, proceed) => {
      if (call.verb === 'put' && isData(call)) controller.abort();
      if (!controller.signal.aborted) return proceed();
      return Promise.reject(call.verb === 'put' ? noAnswer() : new MemoryError('aborted', 'cancelled'));
    });
    const migrating = operator.migrate({ signal: controller.signal });
    await expect(migrating).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it('ends with what the store refuses', async () => {
    const { operator } = await rotated();
    operator.client.intercept((call, proceed) =>
      call.verb === 'put' && isData(call)
        ? Promise.reject(new MemoryError('access_denied', 'no'))
        : proceed(),
    );
    await expect(operator.migrate()).rejects.toMatchObject({ code: 'access_denied' });
  });

  it('stops in a pass that reads nothing as soon as it is cancelled', async () => {
    const { operator } = await rotated([FILE, OTHER, '/memories/c']);
    const controller = new AbortController();
    const told: number[] = [];
    const context = { ...(await operator.client.open()).tenant, concurrency: 1 };
    const migrating = migrateObjects(context, {
      editor: operator.editor,
      signal: controller.signal,
      onProgress({ pass, done }) {
        if (pass < 2) return;
        told.push(done);
        controller.abort();
      },
    });
    await expect(migrating).rejects.toMatchObject({ code: 'aborted' });
    expect(told).toEqual([1]);
  });

  it('seals with a key that became active while the pass was under way', async () => {
    const { site, operator } = await rotated([FILE, OTHER, '/memories/c'], 60_000);
    const other = await createOperator(site);
    const sealedBy = new Map<ObjectKey, number | undefined>();
    let reads = 0;
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'get' && isData(call) && ++reads === 2) {
        await other.rotate();
        await site.time.pause(60_001);
      }
      if (call.verb === 'put' && isData(call) && !sealedBy.has(call.key)) {
        const { keys } = (await (await site.client()).open()).keyring;
        const header = readHeader(call.body);
        sealedBy.set(call.key, header && keys.find(header.keyId)?.version);
      }
      return proceed();
    });
    await migrateObjects(
      { ...(await operator.client.open()).tenant, concurrency: 1 },
      { editor: operator.editor },
    );
    expect([...sealedBy.values()]).toEqual([2, 2, 3]);
  });

  it('goes on with a fresh keyring after its machine slept', async () => {
    const { site, worker, operator } = await rotated([FILE, OTHER], 60_000);
    let reads = 0;
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'get' && isData(call) && ++reads === 1) {
        for (const path of await worker.paths()) {
          const {
            tenant: { layout },
            keyring,
          } = await worker.open();
          if (fileKey(layout, keyring.names, at(path)) === call.key) await worker.remove(path);
        }
        await site.time.pause(600_000);
      }
      return proceed();
    });
    const context = { ...(await operator.client.open()).tenant, concurrency: 1 };
    expect(await migrateObjects(context, { editor: operator.editor, ttlMs: 0 })).toMatchObject({
      rebound: 1,
      retired: [1],
    });
  });

  it('begins another pass, and reports the newer keyring, where one was written while it looked', async () => {
    const { site, operator } = await rotated([FILE], 60_000);
    const other = await createOperator(site);
    let listings = 0;
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'list' && call.page === 1 && ++listings === 2) {
        await other.rotate();
        await site.time.pause(60_001);
      }
      return proceed();
    });
    expect(await operator.migrate({ ttlMs: 900_000 })).toMatchObject({
      rebound: 2,
      versions: [
        { version: 1, objects: 0 },
        { version: 2, objects: 0 },
        { version: 3, objects: 1 },
      ],
    });
  });

  it('ends after eight passes while another process rotates all the time', async () => {
    const { site, operator } = await rotated([FILE], 60_000);
    const other = await createOperator(site);
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'list' && call.page === 1) {
        await other.rotate();
        await site.time.pause(60_001);
      }
      return proceed();
    });
    expect(await operator.migrate()).toMatchObject({ passes: 8, retired: [], blocked: [] });
  });

  it('begins another pass where the keyring was written before it could retire a key', async () => {
    const { site, operator } = await rotated();
    const other = await createOperator(site);
    let met = false;
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key === operator.client.layout.keyring && !met) {
        met = true;
        await other.rotate();
      }
      return proceed();
    });
    // The file was bound to key 2 a moment ago, and is left to a later run.
    expect(await operator.migrate()).toMatchObject({
      retired: [1],
      versions: [{ version: 2, objects: 1 }, { version: 3 }],
    });
  });

  it('counts what its last pass has bound to the active key there, and keeps the old key', async () => {
    const { site, worker, operator } = await rotated();
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'list' && call.page === 1) {
        await worker.tree.overwrite(at(FILE), bytes('written under the old key'));
        await site.time.pause(60_001);
      }
      return proceed();
    });
    expect(await operator.migrate()).toMatchObject({
      passes: 8,
      rebound: 8,
      retired: [],
      versions: [
        { version: 1, objects: 0 },
        { version: 2, objects: 1 },
      ],
    });
  });

  it('does not wait for a file that others write all the time', async () => {
    const { site, operator } = await rotated([FILE, OTHER]);
    const writer = await site.client();
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'list' && call.page === 1) await writer.tree.overwrite(at(FILE), bytes('newer'));
      return proceed();
    });
    const began = site.time.clock();
    expect(await operator.migrate({ reencrypt: true, wait: true })).toMatchObject({ young: 0, retired: [1] });
    expect(site.time.clock() - began).toBeLessThan(10_000);
  });

  it('keeps the note of a version that still lies there, though it is old', async () => {
    const { site, worker, operator } = await rotated();
    const work = await (await site.client()).open();
    await expireTree(work.tenant, { afterDays: 30 });
    await worker.create(OTHER, 'young');
    expect(await operator.migrate()).toMatchObject({ rebound: 1, young: 1 });
    const { stored } = await versionOf(site, FILE);
    await site.time.pause(2 * DAY);
    expect(await operator.migrate()).toMatchObject({ rebound: expect.any(Number), young: 0 });
    expect((await versionOf(site, FILE)).stored.etag).toBe(stored.etag);
    const { writtenVersion } = await readMigratedVersions(await (await site.client()).open());
    expect(writtenVersion(stored)).not.toEqual(stored);
    expect(writtenVersion(stored).lastModified).toBeLessThan(stored.lastModified);
  });
});
