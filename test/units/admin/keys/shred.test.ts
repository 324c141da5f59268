import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { rotateKey } from '../../../../src/admin/keys/rotate.ts';
import { type ShredOptions, type ShredProgress, shredTenant } from '../../../../src/admin/keys/shred.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { SHRED_MARKER } from '../../../../src/format/keyring-bytes.ts';
import { createLayout, type ObjectKey, parseTenantId } from '../../../../src/format/object-keys.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import {
  type KeptVersion,
  noVersions,
  type ObjectStore,
  type ObjectVersions,
} from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import type { Pause } from '../../../../src/time.ts';
import { editorOf } from '../../../stage/key-operator.ts';
import { type Around, atFirst, interceptStore, loseAnswer, noAnswer } from '../../../stage/store-wrappers.ts';
import { createSite, describeOnBothKinds, TEST_ROOT_KEY, type TestSite } from '../../../stage/test-tree.ts';

const MINUTE = 60_000;
/** The longest time to live of a cache, and a second, as S3 tells times in whole ones. */
const WAIT = 15 * MINUTE + 1_000;
const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });

interface RunOptions extends ShredOptions {
  readonly around?: Around;
  readonly versions?: ObjectVersions;
  readonly pause?: Pause;
}

function shred({ time, base }: Pick<TestSite, 'time' | 'base'>, options: RunOptions = {}) {
  const { around = (_, proceed) => proceed(), versions, pause = time.pause, ...rest } = options;
  const store = interceptStore(base, around);
  return shredTenant({ store, layout, versions, clock: time.clock, pause }, rest);
}

async function stored(base: ObjectStore): Promise<Uint8Array | undefined> {
  const found = await base.get(layout.keyring);
  return typeof found === 'object' ? found.body : undefined;
}

/** The requests that a shred does not send to a bucket. */
const NOT_ASKED: Pick<ObjectVersions, 'below' | 'get'> = {
  below: () => {
    throw noAnswer();
  },
  get: () => Promise.reject(noAnswer()),
};

/** The versions of one keyring, as a bucket would keep them. */
function keptVersions(ids: readonly string[], pageSize = 2) {
  const kept = new Set(ids);
  const versions: ObjectVersions = {
    ...NOT_ASKED,
    async *list() {
      const entries: KeptVersion[] = [...kept].map((versionId, index) => ({
        key: layout.keyring,
        versionId,
        size: 1,
        isCurrent: index === 0,
      }));
      for (let at = 0; at < entries.length; at += pageSize) yield entries.slice(at, at + pageSize);
    },
    async remove(_, versionId) {
      kept.delete(versionId);
    },
  };
  return { kept, versions };
}

describeOnBothKinds('shredTenant', (newSite) => {
  it('waits for a cache of 3 s to be past where the store tells times in whole seconds, as S3 does', async () => {
    const whole = (ms: number): number => Math.floor(ms / 1_000) * 1_000;
    for (let millisecond = 0; millisecond < 1_000; millisecond += 50) {
      const { base, time, ...site } = await newSite();
      let markedAt = 0;
      const store: ObjectStore = {
        ...base,
        head: async (key, options) => {
          await time.pause(60);
          const found = await base.head(key, options);
          const { servedAt = 0, lastModified = 0 } = found ?? {};
          markedAt = lastModified;
          return found && { ...found, servedAt: whole(servedAt), lastModified: whole(lastModified) };
        },
      };
      await (await site.client()).create('/memories/a', 'secret');
      await time.pause(1_000 + millisecond - (time.clock() % 1_000));
      await shred({ time, base: store }, { ttlMs: 3_000 });
      expect(time.clock() - markedAt, `marked at ${markedAt % 1_000} ms of a second`).toBeGreaterThan(2_999);
    }
  });

  it('makes every object unreadable to a process that had the keys in its cache, within a time to live', async () => {
    const site = await newSite();
    const worker = await site.client();
    for (const path of ['/memories/a', '/memories/b/c']) await worker.create(path, 'secret');
    expect(await worker.text('/memories/a')).toBe('secret');
    const { loaded } = { loaded: (await worker.open()).keyring };
    const { active } = loaded.keys;

    const report = await shred(site);
    expect(report).toMatchObject({ marked: true, versionsRemoved: undefined, objects: 2 });
    expect(report.bytes).toBeGreaterThan(2 * 236);
    expect(await stored(site.base)).toEqual(SHRED_MARKER);
    for (const path of ['/memories/a', '/memories/b/c']) {
      await expect(worker.text(path)).rejects.toEqual(refusal('key_unavailable'));
    }
    await expect(worker.paths()).rejects.toEqual(refusal('key_unavailable'));
    expect(active.wrapKey).toEqual(new Uint8Array(32));
    expect(() => loaded.keys.active).toThrow(refusal('key_unavailable'));
    await expect((await site.client()).create('/memories/new', 'x')).rejects.toEqual(
      refusal('key_unavailable'),
    );
  });

  it('says whose marker it is: its own where the answer was lost, not where another run was faster', async () => {
    const run = async (around: (site: TestSite) => Around) => {
      const site = await newSite();
      await (await site.client()).create('/memories/a', 'secret');
      return shred(site, { around: around(site), ttlMs: 0 });
    };
    expect(await run(() => atFirst('put', loseAnswer))).toMatchObject({ marked: true });
    const faster = (site: TestSite): Around =>
      atFirst('put', async (proceed) => {
        await shred(site, { ttlMs: 0 });
        return proceed();
      });
    expect(await run(faster)).toMatchObject({ marked: false });
  });

  it('takes the probe of conditions for no trace of a tenant, and for no object of one', async () => {
    const site = await newSite();
    const putProbe = () => site.base.put(layout.probe, new Uint8Array(9), { mode: 'overwrite' });
    await putProbe();
    await expect(shred(site)).rejects.toEqual(refusal('not_found'));
    await (await site.client()).create('/memories/a', 'secret');
    await putProbe();
    expect(await shred(site)).toMatchObject({ objects: 1 });
  });

  it('waits until the marker is older than every cache, by the clock of the store', async () => {
    const site = await newSite();
    const worker = await site.client();
    await worker.create('/memories/a', 'secret');
    const begun = site.time.clock();
    const progress: ShredProgress[] = [];
    await shred(site, { onProgress: (step) => progress.push(step) });
    expect(site.time.clock() - begun).toBe(WAIT);
    expect(progress[0]).toEqual({ phase: 'marked' });
    expect(progress[1]).toEqual({
      phase: 'waiting',
      until: begun + WAIT,
      remainingMs: WAIT,
    });
    expect(progress).toHaveLength(1 + 91);
  });

  it('goes on where an earlier run was cut off', async () => {
    const site = await newSite();
    await (await site.client()).create('/memories/a', 'secret');
    const caller = new AbortController();
    const cutOff = shred(site, {
      signal: caller.signal,
      onProgress: ({ phase }) => phase === 'waiting' && caller.abort(),
    });
    await expect(cutOff).rejects.toEqual(refusal('aborted'));
    await site.time.pause(15 * MINUTE);
    const begun = site.time.clock();
    expect(await shred(site)).toMatchObject({ marked: false, objects: 1 });
    expect(site.time.clock()).toBe(begun);
  });

  it('removes every older version, page by page, only after the wait', async () => {
    const site = await newSite();
    await (await site.client()).create('/memories/a', 'secret');
    const { kept, versions } = keptVersions(['marker', 'five', 'four', 'three', 'two', 'one']);
    const steps: string[] = [];
    const { signal } = new AbortController();
    const list = vi.spyOn(versions, 'list');
    const report = await shred(site, {
      versions,
      signal,
      onProgress: ({ phase }) => steps.push(`${phase} ${kept.size}`),
    });
    expect(report.versionsRemoved).toBe(5);
    expect([...kept]).toEqual(['marker']);
    expect(steps.slice(-6, -5)).toEqual(['waiting 6']);
    for (const asked of list.mock.calls) expect(asked).toEqual([layout.keyring, { signal }]);
  });

  it('says that the keys are out of use when older versions may not be removed', async () => {
    const site = await newSite();
    await (await site.client()).create('/memories/a', 'secret');
    const { versions } = keptVersions(['marker', 'one']);
    const locked: ObjectVersions = {
      ...versions,
      remove: () => Promise.reject(new MemoryError('access_denied', 'no')),
    };
    await expect(shred(site, { versions: locked, ttlMs: 0 })).rejects.toEqual(
      expect.objectContaining({
        code: 'access_denied',
        message: expect.stringContaining('the keys are out of use'),
      }),
    );
    expect(await stored(site.base)).toEqual(SHRED_MARKER);
  });

  it('does not mind a server that knows no versions', async () => {
    const site = await newSite();
    await (await site.client()).create('/memories/a', 'secret');
    const versions: ObjectVersions = {
      ...NOT_ASKED,
      // biome-ignore lint/correctness/useYield: it fails before there is anything to yield
      async *list() {
        throw noVersions(undefined);
      },
      remove: () => Promise.reject(noAnswer()),
    };
    expect(await shred(site, { versions, ttlMs: 0 })).toMatchObject({
      versionsRemoved: undefined,
      objects: 1,
    });
  });

  it('needs no keyring that can be opened', async () => {
    for (const body of [new Uint8Array(200), new Uint8Array(40_000), new Uint8Array(12)]) {
      const site = await newSite();
      await site.base.put(layout.keyring, body, { mode: 'create' });
      expect(await shred(site, { ttlMs: 0 })).toMatchObject({ marked: true, objects: 0 });
      expect(await stored(site.base)).toEqual(SHRED_MARKER);
    }
  });

  it('marks a tenant whose keyring is gone, so that none that is put back is of use', async () => {
    const site = await newSite();
    await (await site.client()).create('/memories/a', 'secret');
    await site.base.delete([{ key: layout.keyring }]);
    expect(await shred(site, { ttlMs: 0 })).toMatchObject({ marked: true, objects: 1 });
    expect(await stored(site.base)).toEqual(SHRED_MARKER);
  });

  it('knows a tenant by the older versions of its keyring, where nothing else is left of it', async () => {
    const site = await newSite();
    const { kept, versions } = keptVersions(['the mark of the delete', 'an old keyring']);
    expect(await shred(site, { ttlMs: 0, versions })).toMatchObject({ marked: true, versionsRemoved: 1 });
    expect([...kept]).toEqual(['the mark of the delete']);
    expect(await stored(site.base)).toEqual(SHRED_MARKER);
  });

  it('refuses a tenant that was never there, and writes nothing', async () => {
    const site = await newSite();
    await expect(shred(site)).rejects.toEqual(refusal('not_found'));
    expect(await stored(site.base)).toBeUndefined();
  });

  it('calls no tenant unknown whose older versions it may not list', async () => {
    const site = await newSite();
    const listing = (error: MemoryError): ObjectVersions => ({
      ...keptVersions([]).versions,
      list: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) }) as never,
    });
    const denied = new MemoryError('access_denied', 'no');
    await expect(shred(site, { versions: listing(denied) })).rejects.toBe(denied);
    await expect(shred(site, { versions: listing(noVersions(undefined)) })).rejects.toEqual(
      refusal('not_found'),
    );
  });

  it('puts the marker back when it is deleted while it waits', async () => {
    const site = await newSite();
    await (await site.client()).create('/memories/a', 'secret');
    let deletes = 1;
    const pause: Pause = async (ms, signal) => {
      await site.time.pause(ms, signal);
      if (deletes-- > 0) await site.base.delete([{ key: layout.keyring }]);
    };
    expect(await shred(site, { ttlMs: MINUTE, pause })).toMatchObject({ marked: true });
    expect(await stored(site.base)).toEqual(SHRED_MARKER);
  });

  it('overtakes a rotation, and a lost answer', async () => {
    const site = await newSite();
    const worker = await site.client();
    await worker.create('/memories/a', 'secret');
    const { clock, randomBytes: random } = site.time;
    const editor = editorOf((await worker.open()).tenant);
    const rotation = atFirst('put', async (proceed) => {
      await rotateKey({ editor, clock, random });
      return proceed();
    });
    const lost = atFirst('put', loseAnswer);
    const around: Around = (call, proceed) => rotation(call, () => lost(call, proceed));
    expect(await shred(site, { ttlMs: 0, around })).toMatchObject({ marked: true });
    expect(await stored(site.base)).toEqual(SHRED_MARKER);
  });

  it('puts the marker back when a keyring is restored while it waits, and waits for all of the time once more', async () => {
    const site = await newSite();
    await (await site.client()).create('/memories/a', 'secret');
    const keyring = await stored(site.base);
    if (keyring === undefined) throw new Error('no keyring is stored');
    const phases: string[] = [];
    let restoredAt: number | undefined;
    await shred(site, {
      ttlMs: MINUTE,
      onProgress: ({ phase }) => phases.push(phase),
      pause: async (ms, signal) => {
        await site.time.pause(ms, signal);
        if (restoredAt !== undefined || phases.filter((phase) => phase === 'waiting').length < 3) return;
        expect(await stored(site.base)).toEqual(SHRED_MARKER);
        await site.base.put(layout.keyring, keyring, { mode: 'overwrite' });
        restoredAt = site.time.clock();
      },
    });
    const until = phases.lastIndexOf('marked');
    expect(phases.slice(0, until)).toEqual(['marked', 'waiting', 'waiting', 'waiting']);
    expect(await stored(site.base)).toEqual(SHRED_MARKER);
    expect(site.time.clock() - (restoredAt ?? Number.NaN)).toBeGreaterThanOrEqual(MINUTE);
  });

  it('destroys the keys of one tenant only', async () => {
    const site = await newSite();
    await (await site.client()).create('/memories/a', 'secret');
    const other = await site.client({ tenant: 'acme-2' });
    await other.create('/memories/a', 'kept');
    await shred(site);
    expect(await (await site.client({ tenant: 'acme-2' })).text('/memories/a')).toBe('kept');
  });
});

describe('an SQLite file after its tenant was shredded', () => {
  it('holds no byte of the keyring any more', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-shred-'));
    try {
      const path = join(folder, 'store.sqlite');
      const options = { store: `sqlite:${path}`, tenant: 'acme', rootKey: TEST_ROOT_KEY };
      await using memory = await openMemory(options);
      await memory.execute({ command: 'create', path: '/memories/a', file_text: 'secret' });
      await using store = openSqliteObjectStore({ path });
      const keyring = await stored(store);
      if (keyring === undefined) throw new Error('no keyring is stored');
      // Bytes that are random and occur once: the box with the tenant's keys.
      const box = Buffer.from(keyring.slice(-64));
      expect(readFileSync(path).includes(box)).toBe(true);
      const site = await createSite();
      await shred({ time: site.time, base: store }, { ttlMs: 0 });
      expect(readFileSync(path).includes(box)).toBe(false);
      await store.delete([{ key: layout.keyring as ObjectKey }]);
      await site.base[Symbol.asyncDispose]();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
