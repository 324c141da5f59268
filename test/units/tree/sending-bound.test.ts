import { expect, it } from 'vitest';
import { createAccessRecords } from '../../../src/admin/expiry/access-records.ts';
import { verifyTree } from '../../../src/admin/verify/verify.ts';
import { MemoryError } from '../../../src/errors.ts';
import { type OpenedObject, open } from '../../../src/format/object.ts';
import { fileKey, logicalName, type ObjectKey } from '../../../src/format/object-keys.ts';
import type { KeyringCache } from '../../../src/keys/keyring-cache.ts';
import { isTooLate, lateness, type ObjectStore, type PutOptions } from '../../../src/store/port.ts';
import { confirmedPut, type Stamp } from '../../../src/tree/confirmed-put.ts';
import { createFile, overwriteFile, textWrite } from '../../../src/tree/create-file.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { createTree } from '../../../src/tree/tree.ts';
import { createReceipts } from '../../../src/worker/leases/receipts.ts';
import { createOperator, type KeyOperator } from '../../stage/key-operator.ts';
import { atFirst, noAnswer } from '../../stage/store-wrappers.ts';
import {
  at,
  bytes,
  describeOnBothKinds,
  type TestClient,
  type TestSite,
  withTenant,
} from '../../stage/test-tree.ts';

const TTL_MS = 60_000;
/** The age of a keyring that is in the cache still: the time to live, less a little. */
const OLD_MS = 59_000;
/** The time that then passes until the key may be retired, two times to live after the rotation, and a little. */
const REST_MS = 62_000;

/** One process's handle whose network holds the first PUT that `picks` says: it was sent in time, and arrives later. */
function slowNetwork(
  store: ObjectStore,
  picks: (key: ObjectKey) => boolean,
  meanwhile: () => Promise<void>,
): ObjectStore {
  let held = false;
  return {
    get: (key, options) => store.get(key, options),
    head: (key, options) => store.head(key, options),
    list: (options) => store.list(options),
    delete: (targets, options) => store.delete(targets, options),
    async put(key: ObjectKey, body: Uint8Array, options: PutOptions) {
      if (held || !picks(key)) return store.put(key, body, options);
      held = true;
      const late = lateness(options.sendBy);
      if (late !== undefined) throw late;
      await meanwhile();
      return store.put(key, body, { mode: options.mode });
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

describeOnBothKinds('what was sealed under a key that is retired before it arrives', (newSite) => {
  interface Scene {
    readonly site: TestSite;
    readonly worker: TestClient;
    readonly operator: KeyOperator;
    /** Lets the time pass in which the old key may go, and lets it go. */
    retire(): Promise<void>;
  }

  /** A worker that has loaded the keyring just before it was rotated, and has it in its cache. */
  async function start(): Promise<Scene> {
    const site = await newSite();
    const founder = await site.client();
    await founder.create('/memories/there', 'text');
    await founder.create('/memories/dir/there', 'text');
    await site.time.pause(100_000);
    const worker = await site.client({ ttlMs: TTL_MS });
    await worker.open();
    const operator = await createOperator(site);
    await operator.rotate();
    const retire = async (): Promise<void> => {
      await site.time.pause(REST_MS);
      expect(await operator.migrate({ ttlMs: TTL_MS })).toMatchObject({ retired: [1] });
    };
    return { site, worker, operator, retire };
  }

  /** The worker as it is when its keyring is about to expire, behind a network that holds one PUT. */
  async function behind({ site, worker, retire }: Scene, place: string, work?: Work): Promise<Work> {
    const open = work ?? (await worker.open());
    await site.time.pause(OLD_MS);
    return withTenant(open, {
      store: slowNetwork(open.tenant.store, (key) => key.includes(place), retire),
    });
  }

  async function expectAllReadable({ site }: Scene): Promise<void> {
    const work = await (await site.client()).open();
    const { findings, keyVersions } = await verifyTree(work.tenant);
    expect(findings).toEqual([]);
    expect(keyVersions).toEqual([{ version: 2, objects: expect.any(Number), active: true }]);
  }

  it('is readable all the same: a file that was created', async () => {
    const scene = await start();
    const work = await behind(scene, '/data/');
    await createFile(work, at('/memories/new'), bytes('new'));
    expect(await (await scene.site.client()).text('/memories/new')).toBe('new');
    await expectAllReadable(scene);
  });

  it('is readable all the same: a file that was overwritten unread', async () => {
    const scene = await start();
    // Already under the new key, which the worker does not know.
    await (await scene.site.client()).append('/memories/there', '!');
    const work = await behind(scene, '/data/');
    await overwriteFile(work, at('/memories/there'), bytes('newer'));
    expect(await (await scene.site.client()).text('/memories/there')).toBe('newer');
    await expectAllReadable(scene);
  });

  it('is readable all the same: a file that was renamed', async () => {
    const scene = await start();
    const work = await behind(scene, '/data/');
    await createTree(work.tenant).rename({ from: at('/memories/there'), to: at('/memories/moved') });
    expect(await (await scene.site.client()).text('/memories/moved')).toBe('text');
    await expectAllReadable(scene);
  });

  it('is no loss where it was a copy: the rename of a directory, whose lease is lost by then, keeps the source', async () => {
    const scene = await start();
    const opened = await behind(scene, '/data/');
    // One that takes the keyring from its cache as it began: loaded ahead, it would seal with the new key.
    const first: KeyringCache['load'] = async () => opened.keyring;
    const keyrings: KeyringCache = { ...opened.tenant.keyrings, load: first };
    const work = withTenant(opened, { keyrings });
    const moving = createTree(work.tenant).rename({ from: at('/memories/dir'), to: at('/memories/moved') });
    await expect(moving).rejects.toMatchObject({ code: 'outcome_unknown' });
    const other = await scene.site.client();
    expect(await other.text('/memories/dir/there')).toBe('text');
    // The object that arrived late, and cannot be read, does not block other renames for long either.
    await scene.site.time.pause(60_000);
    await (await scene.site.client()).create('/memories/other/file', 'text');
    await (await scene.site.client()).rename('/memories/other', '/memories/another');
    expect(await other.text('/memories/another/file')).toBe('text');
    expect(await other.text('/memories/dir/there')).toBe('text');
  });

  it('is readable all the same: the register of renames', async () => {
    const scene = await start();
    const work = await behind(scene, '/journal/');
    await createTree(work.tenant).rename({ from: at('/memories/dir'), to: at('/memories/moved') });
    expect(await (await scene.site.client()).text('/memories/moved/there')).toBe('text');
    await expectAllReadable(scene);
  });

  it('is readable all the same: the record of a read', async () => {
    const scene = await start();
    const work = await behind(scene, '/access/');
    await createAccessRecords().record(work, at('/memories/there'));
    await expectAllReadable(scene);
  });

  it('is readable all the same: the receipt of a turn', async () => {
    const scene = await start();
    const work = await behind(scene, '/receipts/');
    const claim = await createReceipts(work.tenant).claim('turn', { leaseMs: 900_000, message: 'hello' });
    expect(claim.state).toBe('ours');
    expect(
      (
        await createReceipts((await scene.worker.open()).tenant).claim('turn', {
          leaseMs: 1,
          message: 'hello',
        })
      ).state,
    ).toBe('running');
    await expectAllReadable(scene);
  });

  it('is readable all the same: the answer of a turn', async () => {
    const scene = await start();
    const open = await scene.worker.open();
    let receipts = createReceipts(open.tenant);
    const { base } = scene.site;
    await scene.site.time.pause(OLD_MS);
    const store = slowNetwork(open.tenant.store, (key) => key.includes('/answers/'), scene.retire);
    receipts = createReceipts({ ...open.tenant, store });
    const claim = await receipts.claim('turn', { leaseMs: 900_000, message: 'hello' });
    if (claim.state !== 'ours') throw new Error('the turn is taken');
    // Young receipts are left alone by a migration, and would keep the key.
    for await (const { objects } of base.list({ prefix: 'tenants/acme/receipts/' })) {
      await base.delete(objects.map(({ key }) => ({ key })));
    }
    await claim.lease.finish(bytes(JSON.stringify({ messages: [], text: 'forty-two', outcome: 'answered' })));
    await expectAllReadable(scene);
  });

  it('is looked at once more where a pass that was too early for it still goes on', async () => {
    const scene = await start();
    const { site, operator, worker } = scene;
    const [listed, landed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await operator.migrate({ ttlMs: 900_000 });
    operator.client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key === operator.client.layout.keyring) {
        listed.resolve();
        await landed.promise;
      }
      return proceed();
    });
    let retiring: Promise<unknown> | undefined;
    const open = await worker.open();
    await site.time.pause(OLD_MS);
    const store = slowNetwork(
      open.tenant.store,
      (key) => key.includes('/data/'),
      async () => {
        await site.time.pause(REST_MS);
        retiring = operator.migrate({ ttlMs: TTL_MS });
        await listed.promise;
      },
    );
    // The old key is in the keyring when the worker looks, and goes right afterwards.
    await createFile(withTenant(open, { store }), at('/memories/new'), bytes('new'));
    landed.resolve();
    expect(await retiring).toMatchObject({ retired: [1] });
    expect(await (await site.client()).text('/memories/new')).toBe('new');
  });

  it('is not written once more over what another process has built on it meanwhile', async () => {
    const scene = await start();
    const { site } = scene;
    const open = await behind(scene, '/none/');
    const other = await site.client();
    const store = slowNetwork(
      open.tenant.store,
      (key) => key.includes('/data/'),
      () => site.time.pause(15_000),
    );
    const keyrings = {
      ...open.tenant.keyrings,
      look: async () => {
        await other.append('/memories/new', ' and more');
        return open.tenant.keyrings.look();
      },
    };
    await createFile(withTenant(open, { store, keyrings }), at('/memories/new'), bytes('new'));
    expect(await other.text('/memories/new')).toBe('new and more');
  });
});

describeOnBothKinds('a process that stood still between sealing and sending', (newSite) => {
  const HOUR = 3_600_000;
  /** Clocks of one process, which may be set apart from the site's. */
  function clocksOf({ time }: TestSite) {
    const ahead = { wall: 0, steady: 0 };
    return {
      ahead,
      clock: () => time.clock() + ahead.wall,
      monotonic: () => time.clock() + ahead.steady,
    };
  }

  it.each([
    ['by its wall clock alone', HOUR, 0],
    ['by its monotonic clock alone', 0, HOUR],
    ['by both', HOUR, HOUR],
    ['and whose wall clock was set back', -HOUR, 0],
  ])('seals again before it sends, %s', async (_, wall, steady) => {
    const site = await newSite();
    const clocks = clocksOf(site);
    const worker = await site.client({ ...clocks, ttlMs: TTL_MS });
    await worker.open();
    const operator = await createOperator(site);
    await operator.rotate();
    const sent: Uint8Array[] = [];
    let refused = false;
    worker.intercept(async (call, proceed) => {
      if (call.verb !== 'put' || !call.key.includes('/data/')) return proceed();
      if (sent.push(call.body) > 1) return proceed();
      clocks.ahead.wall += wall;
      clocks.ahead.steady += steady;
      await site.time.pause(2 * TTL_MS);
      expect(await operator.migrate({ ttlMs: TTL_MS })).toMatchObject({ retired: [1] });
      return proceed().catch((error: unknown) => {
        refused = isTooLate(error);
        throw error;
      });
    });
    await worker.create('/memories/new', 'new');
    expect(sent).toHaveLength(2);
    expect(refused).toBe(true);
    expect(await (await site.client()).text('/memories/new')).toBe('new');
  });

  /** Answers what was sent to that path, in order, opened; after the first attempt its sending bound passed. */
  async function attempts(
    write: (worker: TestClient) => Promise<unknown>,
    keepsHistory = false,
  ): Promise<readonly OpenedObject[]> {
    const site = await newSite();
    await (await site.client()).create('/memories/there', 'text');
    const clocks = clocksOf(site);
    const worker = await site.client({ ...clocks, ttlMs: TTL_MS, keepsHistory });
    const { keyring, tenant } = await worker.open();
    const name = logicalName(at('/memories/there'));
    const keys = ['/memories/there', '/memories/new'].map((path) =>
      fileKey(tenant.layout, keyring.names, at(path)),
    );
    const sent: OpenedObject[] = [];
    worker.intercept(async (call, proceed) => {
      if (call.verb !== 'put' || !keys.includes(call.key)) return proceed();
      const isNew = call.key === keys[1];
      sent.push(
        open({
          keys: keyring.keys,
          name: isNew ? logicalName(at('/memories/new')) : name,
          object: call.body,
        }),
      );
      // Set back: what is sealed anew has a clock that shows less than that of the first attempt.
      if (sent.length === 1) {
        clocks.ahead.steady += TTL_MS;
        clocks.ahead.wall -= HOUR;
      }
      return proceed();
    });
    await write(worker);
    return sent;
  }

  it.each<readonly [string, (worker: TestClient) => Promise<unknown>]>([
    ['a create', (worker) => worker.create('/memories/new', 'new')],
    ['an edit through the queue', (worker) => worker.append('/memories/there', '!')],
    ['an overwrite', ({ tree }) => tree.overwrite(at('/memories/there'), bytes('newer'))],
    [
      'a replacement of one version',
      async ({ tree }) => {
        const version = (await tree.readVersion(at('/memories/there')))?.etag;
        if (version === undefined) throw new Error('there is no file');
        return tree.replace(at('/memories/there'), { content: bytes('newer'), version });
      },
    ],
  ])('seals the same version again, bound later: %s', async (_, write) => {
    for (const keepsHistory of [false, true]) {
      const [first, second, ...more] = await attempts(write, keepsHistory);
      if (first === undefined || second === undefined) throw new Error('it was sealed once');
      expect(more).toEqual([]);
      const { id, mtime, previous, writer, content } = first;
      expect(second).toMatchObject({ id, mtime, previous, writer, content });
      expect(second.bound).toBeGreaterThan(first.bound);
    }
  });

  it('is another version on another base, where a write met one of another process', async () => {
    const site = await newSite();
    const other = await site.client();
    await other.create('/memories/there', 'text');
    const worker = await site.client();
    const { keyring, tenant } = await worker.open();
    const key = fileKey(tenant.layout, keyring.names, at('/memories/there'));
    const sent: OpenedObject[] = [];
    worker.intercept(async (call, proceed) => {
      if (call.verb !== 'put' || call.key !== key) return proceed();
      sent.push(open({ keys: keyring.keys, name: logicalName(at('/memories/there')), object: call.body }));
      if (sent.length === 1) await other.append('/memories/there', ' of another');
      return proceed();
    });
    await worker.append('/memories/there', '!');
    expect(await other.text('/memories/there')).toBe('text of another!');
    const [first, second, ...more] = sent;
    if (first === undefined || second === undefined) throw new Error('it was sealed once');
    expect(more).toEqual([]);
    expect(second.id).not.toEqual(first.id);
    expect(second.previous).not.toEqual(first.previous);
    expect(second.bound).toBeGreaterThan(first.bound);
  });

  it('counts the time that the sealing took', async () => {
    const site = await newSite();
    const clocks = clocksOf(site);
    const worker = await site.client({ ...clocks, ttlMs: TTL_MS });
    const work = await worker.open();
    const path = at('/memories/new');
    let seals = 0;
    const { write } = textWrite(work, path, bytes('new'));
    const { key } = write;
    const seal = (stamp: Stamp): Uint8Array => {
      if (++seals === 1) clocks.ahead.steady += TTL_MS / 4;
      return write.seal(stamp);
    };
    expect(await confirmedPut(work, { ...write, seal, mode: 'create' })).toHaveProperty('etag');
    expect(seals).toBe(2);
    expect(worker.calls.filter((call) => call.verb === 'put' && call.key === key)).toHaveLength(2);
    expect(await (await site.client()).text(path)).toBe('new');
  });

  it('does not send for ever what is too late each time', async () => {
    const site = await newSite();
    const worker = await site.client({ ttlMs: TTL_MS });
    await worker.open();
    let sends = 0;
    worker.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key.includes('/data/')) {
        sends += 1;
        await site.time.pause(TTL_MS);
      }
      return proceed();
    });
    await expect(worker.create('/memories/new', 'new')).rejects.toMatchObject({ code: 'unavailable' });
    expect(sends).toBe(8);
    expect(await (await site.client()).paths()).toEqual([]);
  });
});

describeOnBothKinds('a write that cannot be sealed', (newSite) => {
  it('loads the keyring again only where that has become too old, and as long as its caller waits', async () => {
    const site = await newSite();
    const worker = await site.client({ ttlMs: TTL_MS });
    const controller = new AbortController();
    const work = await worker.open(controller.signal);
    worker.calls.length = 0;
    const create = (text: string): Promise<unknown> => createFile(work, at('/memories/new'), bytes(text));
    await expect(create('x'.repeat(1_048_577))).rejects.toMatchObject({ code: 'limit_exceeded' });
    expect(worker.calls).toEqual([]);
    await site.time.pause(2 * TTL_MS);
    worker.intercept(async (call, proceed) => {
      if (call.verb !== 'get' || call.key !== worker.layout.keyring) return proceed();
      controller.abort();
      return new Promise(() => {});
    });
    await expect(create('new')).rejects.toMatchObject({ code: 'aborted' });
  });
});

describeOnBothKinds('a PUT that is answered late', (newSite) => {
  async function start() {
    const site = await newSite();
    const worker = await site.client({ ttlMs: 300_000 });
    await worker.create('/memories/there', 'text');
    const work = await worker.open();
    worker.calls.length = 0;
    const keyringReads = (): number =>
      worker.calls.filter((call) => call.verb === 'get' && call.key === worker.layout.keyring).length;
    const puts = (): number => worker.calls.filter(({ verb }) => verb === 'put').length;
    return { site, worker, work, keyringReads, puts };
  }
  const answered = (site: TestSite, ms: number) =>
    atFirst('put', async (proceed) => {
      const answer = await proceed();
      await site.time.pause(ms);
      return answer;
    });

  it('costs nothing more within the bound', async () => {
    const { site, worker, keyringReads, puts } = await start();
    worker.intercept(answered(site, 74_999));
    await worker.append('/memories/there', '!');
    expect([keyringReads(), puts()]).toEqual([0, 1]);
  });

  it('is acknowledged after one look at the keyring where no process has rotated it', async () => {
    const { site, worker, keyringReads, puts } = await start();
    worker.intercept(answered(site, 75_000));
    await worker.append('/memories/there', '!');
    expect([keyringReads(), puts()]).toEqual([1, 1]);
    expect(await worker.text('/memories/there')).toBe('text!');
  });

  it('is written once more under the active key where another process has rotated it', async () => {
    const { site, worker, keyringReads, puts } = await start();
    const operator = await createOperator(site);
    worker.intercept(
      atFirst('put', async (proceed) => {
        const answer = await proceed();
        await operator.rotate();
        await site.time.pause(75_000);
        return answer;
      }),
    );
    await worker.append('/memories/there', '!');
    expect([keyringReads(), puts()]).toEqual([1, 2]);
    expect(await (await site.client()).text('/memories/there')).toBe('text!');
  });

  it('has an unknown outcome where the keyring cannot be looked at, and is not written again', async () => {
    const { site, worker, puts } = await start();
    worker.intercept(async (call, proceed) => {
      if (call.verb === 'get' && call.key === worker.layout.keyring) {
        throw new MemoryError('unavailable', 'down');
      }
      const answer = await proceed();
      if (call.verb === 'put') await site.time.pause(75_000);
      return answer;
    });
    await expect(worker.append('/memories/there', '!')).rejects.toMatchObject({
      code: 'outcome_unknown',
      cause: { code: 'unavailable' },
    });
    expect(puts()).toBe(1);
  });

  it('has an unknown outcome where the keyring is gone by then', async () => {
    const { site, worker } = await start();
    worker.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb !== 'put') return answer;
      await site.base.delete([{ key: worker.layout.keyring }]);
      await site.time.pause(75_000);
      return answer;
    });
    await expect(worker.append('/memories/there', '!')).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it('has an unknown outcome where its caller cancels it during that look', async () => {
    const { site, worker } = await start();
    const controller = new AbortController();
    const work = await worker.open(controller.signal);
    worker.intercept(async (call, proceed) => {
      if (call.verb === 'get' && call.key === worker.layout.keyring) {
        controller.abort();
        return new Promise(() => {});
      }
      const answer = await proceed();
      if (call.verb === 'put') await site.time.pause(75_000);
      return answer;
    });
    await expect(createFile(work, at('/memories/new'), bytes('new'))).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
  });

  it('has an unknown outcome where the key is rotated again before each answer, at the eighth', async () => {
    const { site, worker, puts } = await start();
    const operator = await createOperator(site);
    worker.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb !== 'put') return answer;
      await operator.rotate();
      await site.time.pause(75_000);
      return answer;
    });
    await expect(worker.append('/memories/there', '!')).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(puts()).toBe(8);
  });

  it('has an unknown outcome where it cannot be written once more', async () => {
    const { site, worker } = await start();
    const operator = await createOperator(site);
    let puts = 0;
    worker.intercept(async (call, proceed) => {
      if (call.verb !== 'put') return proceed();
      if (++puts > 1) throw new MemoryError('access_denied', 'no');
      const answer = await proceed();
      await operator.rotate();
      await site.time.pause(75_000);
      return answer;
    });
    await expect(worker.append('/memories/there', '!')).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it.each([
    ['it cannot be sealed again', 600_000, 0],
    ['it is too late for each one that is sealed again', 75_000, 75_000],
  ])('has an unknown outcome where an attempt has none and %s', async (_, first, later) => {
    const { site, worker } = await start();
    let puts = 0;
    worker.intercept(async (call, proceed) => {
      if (later === 0 && call.verb === 'get' && call.key === worker.layout.keyring) {
        throw new MemoryError('unavailable', 'down');
      }
      if (call.verb !== 'put') return proceed();
      await site.time.pause(++puts === 1 ? first : later);
      if (puts === 1) throw noAnswer();
      return proceed();
    });
    await expect(worker.append('/memories/there', '!')).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it('is not applied twice where the first attempt arrives after it was sealed again', async () => {
    const { site, worker, puts } = await start();
    let first: (() => Promise<unknown>) | undefined;
    worker.intercept(async (call, proceed) => {
      if (call.verb !== 'put') return proceed();
      if (first === undefined) {
        first = () => site.base.put(call.key, call.body, { mode: call.mode });
        await site.time.pause(75_000);
        throw noAnswer();
      }
      await first();
      return proceed();
    });
    await worker.append('/memories/there', '!');
    expect(puts()).toBe(2);
    expect(await (await site.client()).text('/memories/there')).toBe('text!');
  });
});
