import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { toBase64url } from '../../../../src/format/encoding.ts';
import { commitmentOf } from '../../../../src/format/header.ts';
import type { NameMode } from '../../../../src/format/names.ts';
import { seal } from '../../../../src/format/object.ts';
import { logicalName, OBJECT_CLASSES, type ObjectKey } from '../../../../src/format/object-keys.ts';
import { newVersion } from '../../../../src/format/version.ts';
import { openWrap, sealWrap } from '../../../../src/format/wrap.ts';
import { encodeText } from '../../../../src/language/text.ts';
import type { ETag, StoredObject } from '../../../../src/store/port.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { writeRegister } from '../../../../src/tree/rename/register.ts';
import { keyOf } from '../../../stage/bucket.ts';
import {
  createOperator,
  type KeyOperator,
  keyVersionOf,
  putEveryClass,
  putRecord,
  storedObjects,
} from '../../../stage/key-operator.ts';
import { atFirst, countCalls, loseAnswer } from '../../../stage/store-wrappers.ts';
import { at, bytes, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const FILES = ['/memories/a', '/memories/b/c', '/memories/b/d/日本.md', '/memories/big'];
const textOf = (path: string): string => (path.endsWith('big') ? 'x'.repeat(70_000) : `text of ${path}`);

interface Scene {
  readonly site: TestSite;
  /** Has loaded the keyring before the rotation, and keeps it for five minutes. */
  readonly worker: TestClient;
  readonly operator: KeyOperator;
}

/** Files and one object of every class under version 1 of the tenant key, and a version 2 that is active. */
async function rotated(site: TestSite, names: NameMode = 'encrypted'): Promise<Scene> {
  const worker = await site.client({ names });
  for (const path of FILES) await worker.create(path, textOf(path));
  const work = await worker.open();
  await putEveryClass({ ...work, tenant: { ...work.tenant, store: site.base } }, bytes('{}'));
  await writeIdleRegister(site, worker);
  // Past what a turn's worker may still hold.
  await site.time.pause(1_000_000);
  await worker.open();
  const operator = await createOperator(site, await site.client({ names }));
  await operator.rotate();
  return { site, worker, operator };
}

async function writeIdleRegister(site: TestSite, client: TestClient): Promise<ETag> {
  const work = await client.open();
  await site.base.delete([{ key: 'tenants/acme/journal/register' as ObjectKey }]);
  const written = await writeRegister(work, undefined, undefined);
  if ('conflict' in written) throw new Error('the register was not written');
  return written.etag;
}

async function readAll(site: TestSite): Promise<Readonly<Record<string, string | undefined>>> {
  const reader = await site.client();
  const texts: Record<string, string | undefined> = {};
  for (const path of FILES) texts[path] = await reader.text(path);
  return texts;
}

const ALL_TEXTS = Object.fromEntries(FILES.map((path) => [path, textOf(path)]));
/** The files, one record of each class, and the register. */
const OBJECTS = FILES.length + OBJECT_CLASSES.length + 1;

/** How many objects name which version of the key, by what lies in the store. */
async function versionsInUse(site: TestSite): Promise<Readonly<Record<string, number>>> {
  const work = await (await site.client()).open();
  const counts: Record<string, number> = {};
  for (const object of (await storedObjects({ store: site.base })).values()) {
    const version = String(keyVersionOf(work, object));
    counts[version] = (counts[version] ?? 0) + 1;
  }
  return counts;
}

describeOnBothKinds('a migration', (newSite) => {
  it.each(['plain', 'encrypted'] as const)(
    'brings every object of every class under the active key and retires the old one, %s names',
    async (names) => {
      const { site, operator } = await rotated(await newSite(), names);
      expect(await versionsInUse(site)).toEqual({ 1: OBJECTS });
      expect(await operator.migrate()).toEqual({
        passes: 2,
        objects: OBJECTS,
        rebound: OBJECTS,
        skipped: 0,
        busy: 0,
        young: 0,
        problems: [],
        versions: [{ version: 2, active: true, objects: OBJECTS }],
        madeKey: undefined,
        retired: [1],
        blocked: [],
        retireAfter: undefined,
        wantsCheckpoint: false,
      });
      expect(await versionsInUse(site)).toEqual({ 2: OBJECTS });
      expect(await operator.versions()).toEqual([2]);
      expect(await readAll(site)).toEqual(ALL_TEXTS);
    },
  );

  it('keeps version ids, times and origins: it only binds the data keys again', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    await worker.rename('/memories/b', '/memories/moved');
    const paths = (await worker.paths()).map(at);
    const facts = async (client: TestClient) => {
      const work = await client.open();
      const versions = await Promise.all(paths.map((path) => readFile(work, path)));
      return versions.map((version) => version && [version.id, version.mtime, version.origin]);
    };
    const before = await facts(await site.client());
    expect(before.flat()).not.toContain(undefined);
    const bodies = await storedObjects({ store: site.base });
    await operator.migrate();
    expect(await facts(await site.client())).toEqual(before);
    for (const [key, body] of await storedObjects({ store: site.base })) {
      expect(body.subarray(224)).toEqual(bodies.get(key)?.subarray(224));
    }
  });

  it('costs a GET and a PUT for each object and reads none twice', async () => {
    const { operator } = await rotated(await newSite());
    operator.client.calls.length = 0;
    expect(await operator.migrate({ ttlMs: 900_000 })).toMatchObject({ passes: 2, rebound: OBJECTS });
    const { calls } = operator.client;
    const ofObjects = calls.filter((call) => !('key' in call) || call.key.startsWith('tenants/'));
    // One GET more: whether a directory is being renamed, for the files and for the register itself.
    expect(countCalls(ofObjects)).toEqual({ list: 2, get: OBJECTS + 2, put: OBJECTS });
  });

  it('writes nothing where all is under the active key', async () => {
    const { operator } = await rotated(await newSite());
    await operator.migrate();
    operator.client.calls.length = 0;
    expect(await operator.migrate()).toMatchObject({ passes: 1, rebound: 0, retired: [], versions: [{}] });
    expect(operator.client.calls.filter(({ verb }) => verb === 'put')).toEqual([]);
  });

  it('catches up with a keyring that another process has rotated', async () => {
    const site = await newSite();
    const { operator } = await rotated(site);
    const other = await createOperator(site);
    await other.rotate();
    expect(await operator.migrate()).toMatchObject({ retired: [1, 2], versions: [{ version: 3 }] });
    expect(await readAll(site)).toEqual(ALL_TEXTS);
  });

  it('has nothing to do for a tenant without a keyring', async () => {
    const site = await newSite();
    const operator = await createOperator(site);
    await site.base.delete([{ key: operator.client.layout.keyring }]);
    expect(await operator.migrate()).toMatchObject({ passes: 0, objects: 0, versions: [] });
  });

  it('stops when the caller cancels', async () => {
    const { operator } = await rotated(await newSite());
    const controller = new AbortController();
    const onProgress = ({ done }: { readonly done: number }): void => {
      if (done === 3) controller.abort();
    };
    // The store of the tests answers at once, so the abort is seen where the migration looks for it itself.
    operator.client.intercept((_, proceed) =>
      controller.signal.aborted ? Promise.reject(new MemoryError('aborted', 'no')) : proceed(),
    );
    const given = { onProgress, signal: controller.signal };
    await expect(operator.migrate(given)).rejects.toMatchObject({ code: 'aborted' });
  });

  it('tells how far it has come', async () => {
    const { operator } = await rotated(await newSite());
    const told: unknown[] = [];
    await operator.migrate({ onProgress: (progress) => told.push(progress) });
    expect(told).toHaveLength(2 * OBJECTS);
    expect(told.at(-1)).toEqual({ done: OBJECTS, total: OBJECTS, pass: 2 });
  });
});

describeOnBothKinds('a migration among others who write', (newSite) => {
  it('leaves what another process wrote first, and looks again', async () => {
    const { site, operator } = await rotated(await newSite());
    const writer = await site.client();
    const key = await keyOf(writer, '/memories/a');
    let met = false;
    operator.client.intercept(async (call, proceed) => {
      if (!met && call.verb === 'put' && call.key === key) {
        met = true;
        await writer.append('/memories/a', ' and more');
      }
      return proceed();
    });
    expect(await operator.migrate()).toMatchObject({ skipped: 1, rebound: OBJECTS - 1, retired: [1] });
    expect(await readAll(site)).toEqual({ ...ALL_TEXTS, '/memories/a': 'text of /memories/a and more' });
  });

  it('never brings back what was deleted under its hands', async () => {
    const { site, operator } = await rotated(await newSite());
    const other = await site.client();
    const key = await keyOf(other, '/memories/a');
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key === key) await other.remove('/memories/a');
      return proceed();
    });
    expect(await operator.migrate()).toMatchObject({ skipped: 1, retired: [1] });
    expect(await other.paths()).not.toContain('/memories/a');
  });

  it('reads back where the answer to a write is lost', async () => {
    const { site, operator } = await rotated(await newSite());
    let lost = 0;
    operator.client.intercept((call, proceed) => {
      const isObject = call.verb === 'put' && call.key.startsWith('tenants/');
      return isObject && lost++ % 2 === 0 ? loseAnswer(proceed) : proceed();
    });
    expect(await operator.migrate()).toMatchObject({ rebound: OBJECTS, skipped: 0, retired: [1] });
    expect(await readAll(site)).toEqual(ALL_TEXTS);
  });

  it('goes on where it cannot be known what a write did, and looks again', async () => {
    const { site, operator } = await rotated(await newSite());
    const other = await site.client();
    const key = await keyOf(other, '/memories/a');
    let met = false;
    operator.client.intercept(async (call, proceed) => {
      if (met || call.verb !== 'put' || call.key !== key) return proceed();
      met = true;
      await proceed();
      await other.append('/memories/a', '!');
      throw new MemoryError('outcome_unknown', 'no answer came');
    });
    expect(await operator.migrate()).toMatchObject({ skipped: 1, retired: [1] });
    expect(await other.text('/memories/a')).toBe('text of /memories/a!');
  });

  it('finds what a worker with an old keyring wrote after the first pass, before it retires a key', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    let late: Promise<unknown> | undefined;
    const writeLate = (): Promise<unknown> =>
      Promise.all([
        worker.create('/memories/late', 'under the old key'),
        // An edit would read the file first, and learn of the new key.
        worker.tree.overwrite(at('/memories/a'), bytes('changed under the old key')),
      ]);
    const report = await operator.migrate({
      wait: true,
      onProgress: ({ done, total }) => {
        if (done === total) late ??= writeLate();
      },
    });
    await late;
    expect(report.rebound).toBe(OBJECTS + 2);
    expect(report.retired).toEqual([1]);
    const reader = await site.client();
    expect(await reader.text('/memories/late')).toBe('under the old key');
    expect(await reader.text('/memories/a')).toBe('changed under the old key');
    expect(await versionsInUse(site)).toEqual({ 2: OBJECTS + 1 });
  });

  it('loses no edit of workers that write all the while, with old keyrings and new ones', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    const workers = [worker, ...(await Promise.all([1, 2, 3].map(() => site.client({ delayMs: 5 }))))];
    const slow = await createOperator(site, await site.client({ delayMs: 5 }));
    const expected = new Map(FILES.map((path) => [path, new Set<string>()]));
    const working = workers.map(async (client, number) => {
      for (let edit = 0; edit < 12; edit++) {
        const path = FILES[(number + edit) % FILES.length] ?? '';
        const line = `\nworker ${number}, edit ${edit}`;
        await client.append(path, line);
        expected.get(path)?.add(line);
        await site.time.pause(site.time.fraction() * 10);
      }
    });
    const [report] = await Promise.all([slow.migrate({ ttlMs: 900_000 }), ...working]);
    expect(report.retireAfter).toBeGreaterThan(site.time.clock());
    await site.time.pause(1_800_000);
    expect(await operator.migrate({ ttlMs: 900_000 })).toMatchObject({ retired: [1], problems: [] });
    const reader = await site.client();
    for (const path of FILES) {
      const [first, ...lines] = ((await reader.text(path)) ?? '').split('\n');
      expect(first).toBe(textOf(path));
      expect(lines.map((line) => `\n${line}`).sort()).toEqual([...(expected.get(path) ?? [])].sort());
    }
  });

  it('leaves a directory that is being renamed to its renamer, and the register with it', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    const resume = Promise.withResolvers<void>();
    const standing = Promise.withResolvers<void>();
    let copies = 0;
    worker.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'put' && call.key.includes('/data/') && ++copies === 2) {
        standing.resolve();
        await resume.promise;
      }
      return answer;
    });
    const moved = worker.rename('/memories/b', '/memories/moved');
    await standing.promise;
    const early = await operator.migrate();
    // Two files; and their copies and the register.
    expect(early).toMatchObject({ busy: 2, young: 3, retired: [], rebound: OBJECTS - 3 });
    resume.resolve();
    await moved;
    expect(await worker.paths()).toEqual([
      '/memories/a',
      '/memories/big',
      '/memories/moved/c',
      '/memories/moved/d/日本.md',
    ]);
    await site.time.pause(60_001);
    expect(await operator.migrate()).toMatchObject({ busy: 0, young: 0, retired: [1], problems: [] });
    expect(await (await site.client()).text('/memories/moved/c')).toBe(textOf('/memories/b/c'));
  });

  it('takes the register once its lease has run out, and the rename is finished all the same', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    let dead = false;
    worker.intercept((call, proceed) => {
      dead ||= call.verb === 'delete';
      return dead ? Promise.reject(new MemoryError('outcome_unknown', 'no answer came')) : proceed();
    });
    await expect(worker.rename('/memories/b', '/memories/moved')).rejects.toThrow();
    await site.time.pause(60_001);
    expect(await operator.migrate()).toMatchObject({ busy: 0, retired: [1] });
    await site.time.pause(10_001);
    const next = await site.client();
    expect(await next.paths('/memories/moved')).toEqual(['/memories/moved/c', '/memories/moved/d/日本.md']);
    expect(await next.paths()).not.toContain('/memories/b/c');
  });

  it('leaves what is younger than a minute to the next pass, and keeps its key', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    await worker.create('/memories/young', 'text');
    const key = await keyOf(worker, '/memories/young');
    const etag = (await site.base.head(key))?.etag;
    await site.time.pause(60_000);
    expect(await operator.migrate()).toMatchObject({
      young: 1,
      rebound: OBJECTS,
      retired: [],
      problems: [],
      versions: [{ version: 1, objects: 1 }, { version: 2 }],
    });
    expect((await site.base.head(key))?.etag).toBe(etag);
    await site.time.pause(1);
    expect(await operator.migrate()).toMatchObject({ young: 0, rebound: 1, retired: [1] });
    expect(await (await site.client()).text('/memories/young')).toBe('text');
  });

  it('leaves it also where the server tells whole seconds, which may make a minute of 59.001 s', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    await site.time.pause(1_000 - (site.time.clock() % 1_000) + 999);
    await worker.create('/memories/young', 'text');
    await site.time.pause(59_001);
    const whole = (ms: number): number => Math.floor(ms / 1_000) * 1_000;
    operator.client.intercept(async (call, proceed) => {
      const answer: unknown = await proceed();
      if (call.verb !== 'get' || typeof answer !== 'object' || answer === null) return answer as never;
      const { servedAt, lastModified } = answer as StoredObject;
      return { ...answer, servedAt: whole(servedAt), lastModified: whole(lastModified) } as never;
    });
    expect(await operator.migrate()).toMatchObject({ young: 1, retired: [] });
  });

  it('waits for it when told to wait', async () => {
    for (const reencrypt of [false, true]) {
      const { site, worker, operator } = await rotated(await newSite());
      await worker.create('/memories/young', 'text');
      const key = await keyOf(worker, '/memories/young');
      const before = commitmentOf((await storedObjects({ store: site.base })).get(key) ?? new Uint8Array());
      const began = site.time.clock();
      expect(await operator.migrate({ wait: true, reencrypt })).toMatchObject({ young: 0, retired: [1] });
      expect(site.time.clock() - began).toBeGreaterThan(60_000);
      const after = commitmentOf((await storedObjects({ store: site.base })).get(key) ?? new Uint8Array());
      expect(toBase64url(after) === toBase64url(before)).toBe(!reencrypt);
    }
  });

  it('lets a create take back what a migration came upon meanwhile', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    const blocker = await site.client();
    worker.intercept(
      atFirst('put', async (proceed) => {
        await blocker.create('/memories/new/below', 'text');
        const answer = await proceed();
        await operator.migrate();
        return answer;
      }),
    );
    await expect(worker.create('/memories/new', 'text')).rejects.toMatchObject({ code: 'is_directory' });
    expect(await blocker.paths('/memories/new')).toEqual(['/memories/new/below']);
    expect(await blocker.text('/memories/new')).toBeUndefined();
  });

  it('leaves a receipt alone as long as a turn may be at work with it', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    await putRecord(
      { ...(await worker.open()), tenant: { ...(await worker.open()).tenant, store: site.base } },
      'receipts',
      'young',
      bytes('{}'),
    );
    await site.time.pause(959_999);
    expect(await operator.migrate()).toMatchObject({ busy: 1, retired: [], rebound: OBJECTS });
    await site.time.pause(1);
    expect(await operator.migrate()).toMatchObject({ busy: 0, retired: [1], rebound: 1 });
  });
});

describeOnBothKinds('the retirement of old keys', (newSite) => {
  const ttlMs = 1_000;
  const longest = 900_000;

  it('waits for twice the time to live since the keyring was written, to the millisecond', async () => {
    const { site, operator } = await rotated(await newSite());
    const written = site.time.clock();
    await site.time.pause(2 * ttlMs - 1);
    expect(await operator.migrate({ ttlMs })).toMatchObject({
      retired: [],
      retireAfter: written + 2 * ttlMs,
      versions: [
        { version: 1, active: false, objects: 0 },
        { version: 2, active: true, objects: OBJECTS },
      ],
    });
    await site.time.pause(1);
    expect(await operator.migrate({ ttlMs })).toMatchObject({ retired: [1], retireAfter: undefined });
    expect(await operator.versions()).toEqual([2]);
  });

  it('counts from the beginning of the pass, not from its end', async () => {
    const { site, operator } = await rotated(await newSite());
    await operator.migrate({ ttlMs });
    await site.time.pause(2 * ttlMs - 1);
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'list') await site.time.pause(10);
      return proceed();
    });
    expect(await operator.migrate({ ttlMs })).toMatchObject({ passes: 1, retired: [] });
    expect(await operator.versions()).toEqual([1, 2]);
  });

  it('starts again when the keyring is written while a pass runs', async () => {
    const { site, operator } = await rotated(await newSite());
    const other = await createOperator(site);
    await operator.migrate({ ttlMs: longest });
    await site.time.pause(2 * longest);
    let met = false;
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'list' && !met) {
        met = true;
        await other.rotate();
      }
      return proceed();
    });
    expect(await operator.migrate({ ttlMs: longest })).toMatchObject({ retired: [] });
    expect(await operator.versions()).toEqual([1, 2, 3]);
    await site.time.pause(2 * longest);
    expect(await operator.migrate({ ttlMs: longest })).toMatchObject({ retired: [1, 2] });
    expect(await readAll(site)).toEqual(ALL_TEXTS);
  });

  it('gives way to a keyring that was written between the pass and the retirement', async () => {
    const { site, operator } = await rotated(await newSite());
    const other = await createOperator(site);
    await operator.migrate({ ttlMs: longest });
    await site.time.pause(2 * longest);
    let met = false;
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key === operator.client.layout.keyring && !met) {
        met = true;
        await other.rotate();
      }
      return proceed();
    });
    expect(await operator.migrate({ ttlMs: longest })).toMatchObject({ retired: [] });
    expect(await operator.versions()).toEqual([1, 2, 3]);
  });

  it('is known to have happened where the answer to its write is lost', async () => {
    const { operator } = await rotated(await newSite());
    operator.client.intercept((call, proceed) => {
      const isKeyring = call.verb === 'put' && call.key === operator.client.layout.keyring;
      return isKeyring ? loseAnswer(proceed) : proceed();
    });
    expect(await operator.migrate()).toMatchObject({ retired: [1] });
    expect(await operator.versions()).toEqual([2]);
  });

  it('comes at the end of a migration that waits for it', async () => {
    const { site, operator } = await rotated(await newSite());
    const written = site.time.clock();
    const waits = new Set<number | undefined>();
    const report = await operator.migrate({
      ttlMs,
      wait: true,
      onProgress: ({ waitingUntil }) => waits.add(waitingUntil),
    });
    expect(report).toMatchObject({ retired: [1], retireAfter: undefined, rebound: OBJECTS });
    expect(site.time.clock()).toBeGreaterThanOrEqual(written + 2 * ttlMs);
    expect([...waits]).toEqual([undefined, written + 2 * ttlMs + 1_000]);
    expect(await operator.versions()).toEqual([2]);
  });

  it('waits, when told to, for what others are at work with', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    await putRecord(
      { ...(await worker.open()), tenant: { ...(await worker.open()).tenant, store: site.base } },
      'receipts',
      'young',
      bytes('{}'),
    );
    const before = site.time.clock();
    expect(await operator.migrate({ wait: true })).toMatchObject({ busy: 0, retired: [1] });
    expect(site.time.clock() - before).toBeGreaterThanOrEqual(960_000);
  });

  it('is waited for no longer once the caller cancels', async () => {
    const { operator } = await rotated(await newSite());
    const controller = new AbortController();
    const migrated = operator.migrate({
      wait: true,
      ttlMs: 900_000,
      signal: controller.signal,
      onProgress: ({ waitingUntil }) => {
        if (waitingUntil !== undefined) controller.abort();
      },
    });
    await expect(migrated).rejects.toMatchObject({ code: 'aborted' });
    expect(await operator.versions()).toEqual([1, 2]);
  });
});

describeOnBothKinds('what a migration cannot open', (newSite) => {
  async function overwrite(scene: Scene, path: string, change: (body: Uint8Array) => Uint8Array) {
    const key = await keyOf(scene.worker, path);
    const stored = await scene.site.base.get(key);
    if (typeof stored !== 'object') throw new Error('there is no such file');
    const body = change(Uint8Array.from(stored.body));
    await scene.site.base.put(key, body, { mode: 'overwrite' });
    return { key, body };
  }
  const flip = (offset: number) => (body: Uint8Array) => body.with(offset, (body[offset] ?? 0) ^ 1);

  async function isUntouched(scene: Scene, { key, body }: Awaited<ReturnType<typeof overwrite>>) {
    const stored = await scene.site.base.get(key);
    return typeof stored === 'object' && Buffer.from(stored.body).equals(body);
  }

  it('is told and stays as it is, and the old key that it names stays too', async () => {
    const scene = await rotated(await newSite());
    const damaged = await overwrite(scene, '/memories/a', flip(200));
    for (const wait of [false, true]) {
      expect(await scene.operator.migrate({ wait })).toMatchObject({
        problems: [{ kind: 'damaged', path: '/memories/a' }],
        retired: [],
        blocked: [1],
        versions: [{ version: 1, objects: 1 }, { version: 2 }],
      });
    }
    expect(await isUntouched(scene, damaged)).toBe(true);
    expect(await scene.operator.versions()).toEqual([1, 2]);
    await scene.site.base.delete([{ key: damaged.key }]);
    expect(await scene.operator.migrate()).toMatchObject({ retired: [1], blocked: [], problems: [] });
  });

  it('holds no key when it names none, or one that is not known', async () => {
    const scene = await rotated(await newSite());
    const headless = await overwrite(scene, '/memories/a', flip(0));
    const stranger = await overwrite(scene, '/memories/b/c', flip(60));
    expect(await scene.operator.migrate()).toMatchObject({
      problems: [
        { kind: 'damaged', path: '/memories/a' },
        { kind: 'unknown_key', name: '/memories/b/c' },
      ],
      retired: [1],
      blocked: [],
    });
    expect(await isUntouched(scene, headless)).toBe(true);
    expect(await isUntouched(scene, stranger)).toBe(true);
  });

  it('holds every old key when it is too large to be read', async () => {
    const scene = await rotated(await newSite());
    const small = await scene.site.client({ maxFileBytes: 60_000 });
    const operator = await createOperator(scene.site, small);
    expect(await operator.migrate({ wait: true })).toMatchObject({
      problems: [{ kind: 'too_large', path: '/memories/big' }],
      retired: [],
      blocked: [1],
      rebound: OBJECTS - 1,
    });
  });

  it('is counted where it belongs to no writer, and holds no key', async () => {
    const scene = await rotated(await newSite());
    const { layout } = scene.worker;
    const strays = [
      `${layout.data}no-name`,
      `${layout.tenantPrefix}odd`,
      `${layout.tenantPrefix}journal/a/b`,
    ];
    for (const key of strays) {
      await scene.site.base.put(key as ObjectKey, new Uint8Array(300), { mode: 'create' });
    }
    expect(await scene.operator.migrate()).toMatchObject({
      problems: [
        { kind: 'foreign', objects: 1 },
        { kind: 'orphan', objects: 2 },
      ],
      objects: OBJECTS,
      retired: [1],
    });
  });

  it('goes on beside a register that is malformed, with which nobody can rename', async () => {
    const scene = await rotated(await newSite());
    const content = encodeText('{"phase":"later"}');
    const work = {
      ...(await scene.worker.open()),
      tenant: { ...(await scene.worker.open()).tenant, store: scene.site.base },
    };
    await putRecord(work, 'journal', 'register', content);
    expect(await scene.operator.migrate()).toMatchObject({ problems: [], skipped: 0 });
  });
});

describeOnBothKinds('a migration that encrypts again', (newSite) => {
  const sealings = async (site: TestSite): Promise<ReadonlyMap<ObjectKey, string>> =>
    new Map(
      [...(await storedObjects({ store: site.base }))].map(([key, body]) => [
        key,
        Buffer.from(commitmentOf(body)).toString('hex'),
      ]),
    );

  it('gives every object a new data key, and keeps version ids, times and origins', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    await worker.rename('/memories/b', '/memories/moved');
    const paths = (await worker.paths()).map(at);
    const facts = async (): Promise<unknown> => {
      const work = await (await site.client()).open();
      const versions = await Promise.all(paths.map((path) => readFile(work, path)));
      return versions.map(
        (version) => version && [version.id, version.mtime, version.origin, version.content],
      );
    };
    const [before, earlierFacts] = [await storedObjects({ store: site.base }), await facts()];
    await site.time.pause(60_001);
    expect(await operator.migrate({ reencrypt: true })).toMatchObject({
      rebound: OBJECTS,
      passes: 2,
      retired: [1],
    });
    for (const [key, body] of await storedObjects({ store: site.base })) {
      const earlier = before.get(key) ?? new Uint8Array();
      expect(body.subarray(12, 28)).toEqual(earlier.subarray(12, 28));
      expect(body.subarray(28, 60)).not.toEqual(earlier.subarray(28, 60));
      expect(body.subarray(224)).not.toEqual(earlier.subarray(224));
    }
    expect(await facts()).toEqual(earlierFacts);
  });

  it('has nothing to do with what a rename has copied since, for that drew a new data key', async () => {
    const { site, operator } = await rotated(await newSite());
    const renamer = await site.client();
    const source = (await sealings(site)).get(await keyOf(renamer, '/memories/a'));
    await renamer.rename('/memories/a', '/memories/elsewhere');
    const key = await keyOf(renamer, '/memories/elsewhere');
    expect(await versionsInUse(site)).toEqual({ 1: OBJECTS - 1, 2: 1 });
    const copy = (await sealings(site)).get(key);
    expect(copy).not.toBe(source);
    const report = { rebound: OBJECTS - 1, young: 0, madeKey: undefined, retired: [1] };
    expect(await operator.migrate({ reencrypt: true })).toMatchObject(report);
    expect((await sealings(site)).get(key)).toBe(copy);
    expect(await renamer.text('/memories/elsewhere')).toBe(textOf('/memories/a'));
  });

  it('makes a new key first where a plain migration has bound anything to the active one', async () => {
    const { site, operator } = await rotated(await newSite());
    await operator.migrate();
    await site.time.pause(1_000_000);
    const [before, bound] = [await sealings(site), await storedObjects({ store: site.base })];
    const writes: unknown[] = [];
    operator.client.intercept((call, proceed) => {
      if (call.verb === 'put') writes.push(call.key);
      return proceed();
    });
    expect(await operator.migrate({ reencrypt: true })).toMatchObject({
      madeKey: 3,
      rebound: OBJECTS,
      retired: [2],
      wantsCheckpoint: true,
      versions: [{ version: 3, active: true, objects: OBJECTS }],
    });
    expect(writes[0]).toBe(operator.client.layout.keyring);
    for (const [key, sealing] of await sealings(site)) expect(sealing).not.toBe(before.get(key));
    const key = await keyOf(operator.client, '/memories/a');
    await site.base.put(key, bound.get(key) ?? new Uint8Array(), { mode: 'overwrite' });
    await expect((await site.client()).text('/memories/a')).rejects.toMatchObject({ code: 'integrity' });
  });

  it('asks for a checkpoint once it has ended, and for none while an old key is there', async () => {
    const { site, operator } = await rotated(await newSite());
    const asked = async (ttlMs: number): Promise<boolean> =>
      (await operator.migrate({ reencrypt: true, ttlMs })).wantsCheckpoint;
    expect(await asked(900_000)).toBe(false);
    await site.time.pause(1_800_001);
    expect(await asked(900_000)).toBe(true);
    expect((await operator.migrate()).wantsCheckpoint).toBe(false);
  });

  it('goes on from where a run was killed: seals nothing twice, and makes no second key', async () => {
    for (let kill = 0; ; kill++) {
      const { site, operator } = await rotated(await newSite());
      await operator.migrate();
      await site.time.pause(1_000_000);
      const old = new Set((await sealings(site)).values());
      let requests = 0;
      operator.client.intercept((_, proceed) =>
        requests++ < kill ? proceed() : Promise.reject(new MemoryError('unavailable', 'killed')),
      );
      const report = await operator.migrate({ reencrypt: true }).catch(() => undefined);
      const done = new Map([...(await sealings(site))].filter(([, sealing]) => !old.has(sealing)));
      await site.time.pause(1_000_000);
      const next = await createOperator(site);
      await next.migrate({ reencrypt: true });
      const after = await sealings(site);
      for (const [key, sealing] of done) expect(after.get(key)).toBe(sealing);
      for (const sealing of after.values()) expect(old.has(sealing)).toBe(false);
      expect(await next.versions()).toEqual([3]);
      if (report !== undefined) return;
    }
  });

  it('goes by no clock: a writer that is 16 minutes fast keeps no data key', async () => {
    const site = await newSite();
    const clock = (): number => site.time.clock() + 960_000;
    const writer = await site.client({ clock });
    await writer.create('/memories/a', 'text');
    await site.time.pause(61_000);
    const before = new Set((await sealings(site)).values());
    const operator = await createOperator(site);
    await operator.rotate();
    await operator.migrate();
    await site.time.pause(61_000);
    await operator.migrate({ reencrypt: true });
    expect([...(await sealings(site)).values()].filter((sealing) => before.has(sealing))).toEqual([]);
    expect(await (await site.client()).text('/memories/a')).toBe('text');
  });

  it('believes no holder of the old key about times, nor about the key that a data key was drawn under', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    const { keyring } = await worker.open();
    const { active, keyringId, tenant } = keyring.keys;
    const name = logicalName(at('/memories/a'));
    const key = await keyOf(worker, '/memories/a');
    const { random } = worker.tenant;
    const version = newVersion({ mtime: 8.64e15, random });
    const object = seal({ keys: keyring.keys, name, version, content: bytes('forged'), random });
    const binding = { wrapKey: active.wrapKey, keyringId, tenant, name };
    const wrapped = openWrap(object, binding);
    if (wrapped === undefined) throw new Error('what was just sealed does not open');
    sealWrap(object, { ...wrapped, drawnUnder: 99 }, binding);
    await site.base.put(key, object, { mode: 'overwrite' });
    await site.time.pause(61_000);
    const forged = toBase64url(commitmentOf(object));
    for (const reencrypt of [false, true]) {
      await operator.migrate({ reencrypt });
      expect(
        [...(await storedObjects({ store: site.base })).values()].some(
          (each) => toBase64url(commitmentOf(each)) === forged,
        ),
      ).toBe(!reencrypt);
      await site.time.pause(61_000);
    }
    expect(await (await site.client()).text('/memories/a')).toBe('forged');
  });

  it('lets a rename end well whose source it seals again', async () => {
    const { site, operator } = await rotated(await newSite());
    const renamer = await site.client();
    renamer.intercept(
      atFirst('delete', async (proceed) => {
        await site.time.pause(60_001);
        expect(await operator.migrate({ reencrypt: true })).toMatchObject({ rebound: OBJECTS });
        return proceed();
      }),
    );
    await renamer.rename('/memories/a', '/memories/elsewhere');
    expect(await renamer.paths()).toEqual([...FILES.slice(1), '/memories/elsewhere'].sort());
    expect(await renamer.text('/memories/elsewhere')).toBe(textOf('/memories/a'));
  });

  it('has nothing to do with what a rename of a directory copied between two passes', async () => {
    const { site, operator } = await rotated(await newSite());
    const renamer = await site.client();
    const resume = Promise.withResolvers<void>();
    const standing = Promise.withResolvers<void>();
    renamer.intercept(async (call, proceed) => {
      if (call.verb === 'delete') {
        standing.resolve();
        await resume.promise;
      }
      return proceed();
    });
    let moved: Promise<void> | undefined;
    let listings = 0;
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'list' && call.page === 1 && ++listings === 2) {
        await renamer.create('/memories/new/a', 'text');
        moved = renamer.rename('/memories/new', '/memories/newer');
        await standing.promise;
        await site.time.pause(60_001);
      }
      return proceed();
    });
    expect(await operator.migrate({ reencrypt: true })).toMatchObject({ rebound: OBJECTS, busy: 0 });
    resume.resolve();
    await moved;
    expect(await renamer.paths()).toEqual([...FILES, '/memories/newer/a'].sort());
  });

  it('seals a file again at both places of a rename whose process is gone, and that is finished', async () => {
    const { site, worker, operator } = await rotated(await newSite());
    const before = new Set((await sealings(site)).values());
    let dead = false;
    worker.intercept((call, proceed) => {
      dead ||= call.verb === 'delete';
      return dead ? Promise.reject(new MemoryError('outcome_unknown', 'no answer came')) : proceed();
    });
    await expect(worker.rename('/memories/b', '/memories/moved')).rejects.toThrow();
    await site.time.pause(60_001);
    expect(await operator.migrate({ reencrypt: true })).toMatchObject({
      busy: 0,
      young: 0,
      problems: [],
      // The copies as well.
      rebound: OBJECTS + 2,
    });
    await site.time.pause(10_001);
    const reader = await site.client();
    const moved = FILES.map((path) => path.replace('/memories/b/', '/memories/moved/'));
    expect(await reader.paths()).toEqual(moved.sort());
    expect([...(await sealings(site)).values()].filter((sealing) => before.has(sealing))).toEqual([]);
  });

  it('leaves what was written since the active key was made', async () => {
    const { site, operator } = await rotated(await newSite());
    const writer = await site.client();
    await writer.create('/memories/new', 'new');
    const key = await keyOf(writer, '/memories/new');
    const before = (await sealings(site)).get(key);
    await site.time.pause(61_000);
    await operator.migrate({ reencrypt: true });
    expect((await sealings(site)).get(key)).toBe(before);
  });
});
