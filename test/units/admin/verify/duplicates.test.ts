import { describe, expect, it } from 'vitest';
import { sortFindings } from '../../../../src/admin/findings.ts';
import { decideDuplicates, type ReadPlace } from '../../../../src/admin/verify/duplicates.ts';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { seal } from '../../../../src/format/object.ts';
import { fileKey, logicalName, type ObjectKey } from '../../../../src/format/object-keys.ts';
import type { VersionIdBytes } from '../../../../src/format/version.ts';
import type { ETag } from '../../../../src/store/port.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { encodeFields } from '../../../../src/tree/records/sealed-record.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { createOperator, putRecord } from '../../../stage/key-operator.ts';
import { at, bytes, createSite, openSite, withTenant } from '../../../stage/test-tree.ts';

const REGISTER = 'tenants/acme/journal/register' as ObjectKey;

async function placeOf(work: Work, path: string): Promise<ReadPlace> {
  const key = fileKey(work.tenant.layout, work.keyring.names, at(path));
  const meta = await work.tenant.store.head(key);
  if (meta === undefined) throw new Error('there is no file');
  const { etag, lastModified, size } = meta;
  return {
    path: at(path),
    key,
    etag,
    lastModified,
    size,
    id: new Uint8Array(16),
    bound: 1n,
    origin: new Uint8Array(16),
  };
}

describe('places of one content', () => {
  /** Four files, each a minute and a second younger than the one before; the last is older than that, too. */
  async function places() {
    const site = await createSite();
    const client = await site.client();
    for (const path of ['/memories/c', '/memories/d', '/memories/a', '/memories/b']) {
      await client.create(path, 'text');
      await site.time.pause(60_001);
    }
    const work = await client.open();
    const [c, d, a, b] = await Promise.all(
      ['c', 'd', 'a', 'b'].map((name) => placeOf(work, `/memories/${name}`)),
    );
    if (!(a && b && c && d)) throw new Error('there is no file');
    return { site, client, work, a, b, c, d };
  }
  const still = { isRenaming: false, repair: false };

  it('are told in the order of their paths', async () => {
    const { work, a, b, c, d } = await places();
    const groups = [
      [c, d],
      [a, b],
    ];
    const findings = await decideDuplicates(work, { ...still, groups });
    expect(sortFindings(findings)).toMatchObject([{ older: '/memories/a' }, { older: '/memories/c' }]);
  });

  it('are none where one has changed since it was read', async () => {
    const { work, a, b } = await places();
    const changed = { ...b, etag: '"another"' as ETag };
    expect(await decideDuplicates(work, { ...still, groups: [[a, changed]] })).toEqual([]);
  });

  it('stay where the newest changes while the repair is at work', async () => {
    const { client, work, a, b } = await places();
    let heads = 0;
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      // Both were looked at again; before the newest one is read, another process writes it.
      if (call.verb === 'head' && ++heads === 2) {
        client.intercept((_, go) => go());
        await client.append('/memories/b', '!');
      }
      return answer;
    });
    const findings = await decideDuplicates(work, { ...still, repair: true, groups: [[a, b]] });
    expect(findings).toMatchObject([{ state: 'not_removed' }]);
    expect([await client.text('/memories/a'), await client.text('/memories/b')]).toEqual(['text', 'text!']);
  });

  it('stay, and are told as kept, where a delete fails, and as removed where another process won the race', async () => {
    for (const [answer, state] of [
      [{ conflict: 'changed' }, 'not_removed'],
      [{ error: new MemoryError('unavailable', 'not now') }, 'not_removed'],
      [{ conflict: 'missing' }, 'removed'],
    ] as const) {
      const { client, work, a, b } = await places();
      client.intercept((call, proceed) =>
        call.verb === 'delete' ? Promise.resolve([{ key: a.key, ...answer }] as never) : proceed(),
      );
      const findings = await decideDuplicates(work, { ...still, repair: true, groups: [[a, b]] });
      expect(findings).toMatchObject([{ state }]);
    }
  });

  it('are bound later than all of them where one is repaired, with a new data key where that is an old one', async () => {
    const { site, client, work, a, b } = await places();
    const before = await readFile(work, b.path);
    const operator = await createOperator(site);
    await operator.rotate();
    await site.time.pause(900_001);
    // A migration by a clock that is hours fast.
    const late = BigInt(site.time.clock() + 7_200_000) << 16n;
    const again = await client.open();
    const findings = await decideDuplicates(again, {
      ...still,
      repair: true,
      groups: [[{ ...a, bound: late }, b]],
    });
    expect(findings).toMatchObject([{ state: 'removed', older: '/memories/a' }]);
    const after = await readFile(again, b.path);
    expect(after?.bound).toBeGreaterThan(late);
    expect(after?.id).toEqual(before?.id);
    expect([before?.drawnUnder, after?.drawnUnder]).toEqual([1, 2]);
  });

  it('wait for the youngest of them, however old the others are', async () => {
    const { client, work, a } = await places();
    await client.create('/memories/young', 'text');
    const young = await placeOf(work, '/memories/young');
    const findings = await decideDuplicates(work, { ...still, repair: true, groups: [[a, young]] });
    expect(findings).toMatchObject([{ state: 'in_progress', older: '/memories/a' }]);
    expect(await client.text('/memories/a')).toBe('text');
  });

  it('are repaired one after the other where two do not fit into memory together', async () => {
    for (const [concurrentBytes, atOnce] of [
      [1, 1],
      [1_048_576, 2],
    ] as const) {
      const { site, client, work, a, b, c, d } = await places();
      let [writing, most] = [0, 0];
      client.intercept(async (call, proceed) => {
        if (call.verb !== 'put') return proceed();
        most = Math.max(most, ++writing);
        await site.time.pause(10);
        return proceed().finally(() => writing--);
      });
      const groups = [
        [c, d],
        [a, b],
      ];
      const bounded = withTenant(work, { concurrentBytes });
      const findings = await decideDuplicates(bounded, { ...still, repair: true, groups });
      expect(findings).toMatchObject([{ state: 'removed' }, { state: 'removed' }]);
      expect(most).toBe(atOnce);
    }
  });

  it('are not repaired any further once the caller cancels', async () => {
    const { work, client, a, b } = await places();
    client.intercept((call, proceed) =>
      call.verb === 'delete' ? Promise.reject(new MemoryError('aborted', 'cancelled')) : proceed(),
    );
    const repairing = decideDuplicates(work, { ...still, repair: true, groups: [[a, b]] });
    await expect(repairing).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('a verification', () => {
  it.each([
    ['text', {}, 'other'],
    ['time', { mtime: 1 }, 'text'],
  ])('takes two files for one version by no id alone: they differ in their %s', async (_, facts, text) => {
    const site = await openSite();
    const client = await site.client();
    await client.create('/memories/a', 'text');
    const work = await client.open();
    const { keyring, tenant } = work;
    const version = await readFile(work, at('/memories/a'));
    if (version === undefined) throw new Error('there is no file');
    const id = version.id as VersionIdBytes;
    const object = seal({
      keys: keyring.keys,
      name: logicalName(at('/memories/b')),
      content: bytes(text),
      version: { ...version, id, ...facts },
      random: tenant.random,
    });
    const key = fileKey(tenant.layout, keyring.names, at('/memories/b'));
    await site.time.pause(120_000);
    await site.base.put(key, object, { mode: 'create' });
    await site.time.pause(120_000);
    for (const repair of [false, true]) {
      const { findings } = await verifyTree(tenant, { repair });
      expect(findings).toMatchObject([{ kind: 'history', state: 'doubled' }]);
    }
    expect(await client.paths()).toEqual(['/memories/a', '/memories/b']);
  });

  it.each([
    [10_000, 'under_way'],
    [10_001, 'expired'],
  ])('tells of a rename whose register was written %s ms ago: %s', async (ms, state) => {
    const site = await createSite();
    const renamer = await site.client();
    await renamer.create('/memories/from/a', 'text');
    let dead = false;
    renamer.intercept((call, proceed) => {
      dead ||= call.verb === 'delete';
      return dead ? new Promise(() => {}) : proceed();
    });
    void renamer.rename('/memories/from', '/memories/to');
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
    const register = await site.base.head(REGISTER);
    if (register === undefined) throw new Error('there is no register');
    await site.time.pause(ms - (site.time.clock() - register.lastModified));
    const work = await (await site.client()).open();
    expect((await verifyTree(work.tenant)).findings).toMatchObject([{ kind: 'rename', state, ageMs: ms }]);
    const { findings } = await verifyTree(work.tenant, { repair: true });
    expect(findings).toMatchObject([{ kind: 'rename', state: state === 'expired' ? 'finished' : state }]);
  });

  it('names why the register cannot be opened', async () => {
    const site = await createSite();
    const client = await site.client();
    await client.create('/memories/a', 'text');
    const work = await client.open();
    await putRecord(work, 'journal', 'register', encodeFields({ later: 1 }));
    expect((await verifyTree(work.tenant)).findings).toEqual([{ kind: 'register', code: 'integrity' }]);
    await putRecord(work, 'journal', 'register', new Uint8Array(1_000_000));
    expect((await verifyTree((await (await site.client()).open()).tenant)).findings).toEqual([
      { kind: 'register', code: 'limit_exceeded' },
    ]);
  });
});
