import { expect, it } from 'vitest';
import {
  checkpointTree,
  type WrittenCheckpoint,
  writeCheckpoint,
} from '../../../../src/admin/checkpoints/checkpoint.ts';
import { readCheckpoint } from '../../../../src/admin/checkpoints/read-checkpoint.ts';
import { MemoryError } from '../../../../src/errors.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { describeOnBothKinds } from '../../../stage/test-tree.ts';
import { type CheckedTenant, createCheckedTenant } from '../checked-tenant.ts';

const PATHS = ['/memories/a', '/memories/b', '/memories/c', '/memories/d/e', '/memories/f', '/memories/g'];

describeOnBothKinds('a checkpoint', (newSite) => {
  async function start(): Promise<CheckedTenant> {
    const tenant = await createCheckedTenant(await newSite(), 'on');
    for (const path of PATHS.slice(2)) await tenant.client.create(path, path);
    await tenant.later();
    return tenant;
  }

  /** Two entries to a record. */
  async function inParts({ site }: CheckedTenant): Promise<WrittenCheckpoint> {
    return writeCheckpoint((await site.client()).tenant, {}, { partBytes: 300 });
  }

  async function partsOf({ bucket }: CheckedTenant): Promise<readonly ObjectKey[]> {
    return [...(await bucket()).keys()].filter((key) => key.includes('/checkpoints/p')).toSorted();
  }

  it('of several parts is one: each file is held to it', async () => {
    const tenant = await start();
    const { line, number, files } = await inParts(tenant);
    expect(files).toBe(PATHS.length);
    expect(await partsOf(tenant)).toHaveLength(3);
    const checkpoint = await readCheckpoint(await (await tenant.site.client()).open(), { number });
    const entries = typeof checkpoint === 'string' ? [] : checkpoint.entries;
    expect(entries.map(({ path }) => path).toSorted()).toEqual(PATHS);
    expect(await tenant.since(line)).toEqual([]);
    await tenant.later();
    for (const path of PATHS) await tenant.drop(path);
    const gone = PATHS.map((path) => `gone ${path.slice(10)}`);
    expect((await tenant.since(line)).toSorted()).toEqual(gone);
  });

  it('of several parts is damaged where one is gone, or two are exchanged', async () => {
    const tenant = await start();
    const { line } = await inParts(tenant);
    const whole = await tenant.bucket();
    const [first, second] = await partsOf(tenant);
    if (first === undefined || second === undefined) throw new Error('there are no two parts');
    await tenant.site.base.delete([{ key: second }]);
    expect(await tenant.since(line)).toContain('checkpoint damaged');
    await tenant.site.base.put(second, whole.get(first) ?? new Uint8Array(), { mode: 'overwrite' });
    expect(await tenant.since(line)).toContain('checkpoint damaged');
    await tenant.putBack(whole);
    expect(await tenant.since(line)).toEqual([]);
  });

  it('takes what has not changed from the last one, of however many parts that is', async () => {
    const tenant = await start();
    await inParts(tenant);
    await tenant.client.append('/memories/f', '.');
    await tenant.later();
    const process = await tenant.site.client();
    await process.open();
    process.calls.length = 0;
    const { line } = await writeCheckpoint(process.tenant, {});
    const read = process.calls.filter((call) => call.verb === 'get' && call.key.includes('/data/'));
    expect(read).toHaveLength(1);
    expect(await tenant.since(line)).toEqual([]);
  });

  it('has a file that is renamed from before it is read to where the listing has been', async () => {
    const tenant = await start();
    const process = await tenant.site.client();
    let isRenamed = false;
    process.intercept(async (call, proceed) => {
      if (call.verb === 'get' && call.key.includes('/data/') && !isRenamed) {
        isRenamed = true;
        await tenant.client.rename('/memories/g', '/memories/moved');
      }
      return proceed();
    });
    const { line, number } = await writeCheckpoint(process.tenant);
    const checkpoint = await readCheckpoint(await (await tenant.site.client()).open(), { number });
    const paths = typeof checkpoint === 'string' ? [] : checkpoint.entries.map(({ path }) => path);
    expect(paths).toContain('/memories/moved');
    expect(await tenant.since(line)).toEqual([]);
  });

  it('that was cut off is gone on with: what it has read is not read again', async () => {
    const tenant = await start();
    const killed = await tenant.site.client();
    let written = 0;
    killed.intercept((call, proceed) => {
      if (call.verb !== 'put' || !call.key.includes('/checkpoints/p')) return proceed();
      written += 1;
      return written > 2 ? Promise.reject(new MemoryError('unavailable', 'killed')) : proceed();
    });
    await expect(writeCheckpoint(killed.tenant, {}, { partBytes: 300 })).rejects.toThrow('killed');
    expect(await partsOf(tenant)).toHaveLength(2);
    const process = await tenant.site.client();
    await process.open();
    process.calls.length = 0;
    const { line, files } = await writeCheckpoint(process.tenant);
    expect(files).toBe(PATHS.length);
    const read = process.calls.filter((call) => call.verb === 'get' && call.key.includes('/data/'));
    expect(read).toHaveLength(PATHS.length - 4);
    expect(await tenant.since(line)).toEqual([]);
  });

  it('has a number of its own, and is whole, when processes write them at once', async () => {
    const tenant = await start();
    const writers = await Promise.all([1, 2, 3].map(() => tenant.site.client({ delayMs: 20 })));
    const written = await Promise.all(
      writers.map(({ tenant }) => writeCheckpoint(tenant, {}, { partBytes: 300 })),
    );
    expect(written.map(({ number }) => number).toSorted()).toEqual([1, 2, 3]);
    expect(await partsOf(tenant)).toHaveLength(9);
    for (const { line } of written) expect(await tenant.since(line)).toEqual([]);
    await tenant.drop('/memories/g');
    for (const { line } of written) expect(await tenant.since(line)).toEqual(['gone g']);
  });

  it('that is compared with first is read to be compared with and for what has not changed, and the new one once', async () => {
    const tenant = await start();
    const { line } = await writeCheckpoint((await tenant.site.client()).tenant);
    await tenant.later();
    const process = await tenant.site.client();
    expect(await checkpointTree(process.tenant, { since: line })).toMatchObject({ findings: [] });
    const read = process.calls.filter((call) => call.verb === 'get' && call.key.includes('/checkpoints/p'));
    // `verify` reads every object, parts of checkpoints among them.
    expect(read).toHaveLength(4);
  });

  it('is what its caller may ask for, whatever else a caller passes', async () => {
    const tenant = await start();
    const opened = async () => (await tenant.site.client()).tenant;
    const options = {
      actor: 'operator',
      above: 40,
      partBytes: 1,
      repair: true,
    };
    const plain = await checkpointTree(await opened(), options);
    expect(plain).toMatchObject({ number: 1 });
    const comparing = await checkpointTree(await opened(), { ...options, since: plain.line });
    expect(comparing).toMatchObject({ number: 2 });
    expect(await partsOf(tenant)).toHaveLength(2);
    const work = await (await tenant.site.client()).open();
    for (const number of [1, 2]) {
      const checkpoint = await readCheckpoint(work, { number });
      if (typeof checkpoint === 'string') throw new Error(`the checkpoint is ${checkpoint}`);
      expect(checkpoint.entries.map(({ note }) => note)).toEqual(PATHS.map(() => ''));
    }
  });
});
