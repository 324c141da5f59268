import { expect, it } from 'vitest';
import { checkpointTree } from '../../src/admin/accept-checkpoint.ts';
import { type WrittenCheckpoint, writeCheckpoint } from '../../src/admin/checkpoint.ts';
import { checkProof, proveFile } from '../../src/admin/proof.ts';
import { readCheckpoint } from '../../src/admin/read-checkpoint.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { describeOnBothKinds } from '../support/test-tree.ts';
import { type CheckedTenant, createCheckedTenant } from './checked-tenant.ts';

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
    return writeCheckpoint((await site.client()).session, {}, { partBytes: 200 });
  }

  async function partsOf({ bucket }: CheckedTenant): Promise<readonly ObjectKey[]> {
    return [...(await bucket()).keys()].filter((key) => key.includes('/checkpoints/p')).toSorted();
  }

  it('of several parts is one: each file is held to it and can be proved', async () => {
    const tenant = await start();
    const { line, number, files } = await inParts(tenant);
    expect(files).toBe(PATHS.length);
    expect(await partsOf(tenant)).toHaveLength(3);
    const checkpoint = await readCheckpoint(await (await tenant.site.client()).open(), { number });
    const leaves = typeof checkpoint === 'string' ? [] : checkpoint.leaves;
    expect(leaves.map(({ entry }) => entry.path).toSorted()).toEqual(PATHS);
    for (const path of PATHS) {
      const proof = await proveFile((await tenant.site.client()).session, path);
      expect(checkProof(JSON.stringify(proof), line)).toMatchObject({ path });
    }
    expect(await tenant.since(line)).toEqual([]);
    await tenant.later();
    for (const path of PATHS) await tenant.drop(path);
    const dropped = PATHS.map((path) => `dropped ${path.slice(10)}`);
    expect((await tenant.since(line)).toSorted()).toEqual(dropped);
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
    const { line } = await writeCheckpoint(process.session, {});
    const read = process.calls.filter((call) => call.verb === 'get' && call.key.includes('/data/'));
    expect(read).toHaveLength(1);
    expect(await tenant.since(line)).toEqual([]);
  });

  it('has a number of its own, and is whole, when processes write them at once', async () => {
    const tenant = await start();
    const writers = await Promise.all([1, 2, 3].map(() => tenant.site.client({ delayMs: 20 })));
    const written = await Promise.all(
      writers.map(({ session }) => writeCheckpoint(session, {}, { partBytes: 200 })),
    );
    expect(written.map(({ number }) => number).toSorted()).toEqual([1, 2, 3]);
    expect(await partsOf(tenant)).toHaveLength(9);
    for (const { line } of written) expect(await tenant.since(line)).toEqual([]);
    await tenant.drop('/memories/g');
    for (const { line } of written) expect(await tenant.since(line)).toEqual(['dropped g']);
  });

  it('against which findings are accepted is read once to be verified, to be compared with, and for what has not changed', async () => {
    const tenant = await start();
    const { line } = await writeCheckpoint((await tenant.site.client()).session);
    await tenant.later();
    await tenant.drop('/memories/g');
    const process = await tenant.site.client();
    const { accepted } = await checkpointTree(process.session, { accept: line });
    expect(accepted).toMatchObject([{ state: 'dropped', path: '/memories/g' }]);
    const read = process.calls.filter((call) => call.verb === 'get' && call.key.includes('/checkpoints/p'));
    expect(read).toHaveLength(3);
  });

  it('is what its caller may ask for, whatever else a caller passes', async () => {
    const tenant = await start();
    const session = async () => (await tenant.site.client()).session;
    const options = {
      actor: 'operator',
      above: 40,
      isAccepted: () => true,
      accepts: 'all',
      partBytes: 1,
      repair: true,
    };
    const plain = await checkpointTree(await session(), options);
    const accepting = await checkpointTree(await session(), { ...options, accept: plain.line });
    expect([plain.number, accepting.number]).toEqual([1, 2]);
    expect(await partsOf(tenant)).toHaveLength(2);
    const work = await (await tenant.site.client()).open();
    for (const [number, accepts] of [[1], [2, plain.line]] as const) {
      const checkpoint = await readCheckpoint(work, { number });
      if (typeof checkpoint === 'string') throw new Error(`the checkpoint is ${checkpoint}`);
      expect(checkpoint.head.accepts).toBe(accepts);
      expect(checkpoint.leaves.map(({ entry }) => entry.note)).toEqual(PATHS.map(() => ''));
    }
  });
});
