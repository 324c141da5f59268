import { describe, expect, it } from 'vitest';
import {
  type CheckpointOptions,
  checkpointTree,
  type WrittenCheckpoint,
  writeCheckpoint,
} from '../../../../src/admin/checkpoints/checkpoint.ts';
import {
  type CheckpointHead,
  encodeHead,
  NO_VERSION,
  parseLine,
} from '../../../../src/admin/checkpoints/checkpoint-record.ts';
import { newestNumber, readCheckpoint, readHead } from '../../../../src/admin/checkpoints/read-checkpoint.ts';
import { MemoryError } from '../../../../src/errors.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { putRecord } from '../../../stage/key-operator.ts';
import { bytes, describeOnBothKinds, openSite } from '../../../stage/test-tree.ts';
import { type CheckedTenant, createCheckedTenant, DAY } from '../checked-tenant.ts';

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

describe('the report of a checkpoint', () => {
  const start = async (history: 'on' | 'off' = 'on') => createCheckedTenant(await openSite(), history);
  const take = async ({ site }: CheckedTenant, options?: CheckpointOptions) =>
    checkpointTree((await site.client()).tenant, options);

  it('has its line, number and root, and what it is of', async () => {
    const tenant = await start();
    const began = new Date(tenant.site.time.clock());
    const report = await take(tenant);
    const { root } = parseLine(report.line);
    expect(report).toEqual({
      line: `1:${root}`,
      number: 1,
      root,
      files: 2,
      began,
      unread: [],
      findings: [],
    });
  });

  it('names the files that cannot be opened, which are not in it', async () => {
    const tenant = await start();
    const key = `${tenant.client.layout.data}${await tenant.nameOf('/memories/b')}` as ObjectKey;
    await tenant.site.base.put(key, new Uint8Array(400), { mode: 'overwrite' });
    expect(await take(tenant)).toMatchObject({ files: 1, unread: ['/memories/b'] });
    const work = await (await tenant.site.client()).open();
    expect(await readCheckpoint(work, { number: 1 })).toMatchObject({ entries: [{ path: '/memories/a' }] });
  });

  it('holds the facts of each file', async () => {
    const tenant = await start();
    await tenant.client.create('/memories/young', 'four');
    await take(tenant);
    const client = await tenant.site.client();
    const work = await client.open();
    const checkpoint = await readCheckpoint(work, { number: 1 });
    if (typeof checkpoint === 'string') throw new Error(`the checkpoint is ${checkpoint}`);
    const { names } = work.keyring;
    const found = checkpoint.entries.map(({ path, size, textHash, note, writer, previous }) => {
      const isFirst = previous === NO_VERSION;
      return { path, size, textHash, note, isFirst, isWrittenByNobody: writer === NO_VERSION };
    });
    const entry = (path: string, text: string) => ({
      path,
      size: text.length,
      textHash: names.textHash(bytes(text)),
      note: path.endsWith('young') ? 'young' : '',
      isFirst: !path.endsWith('a'),
      isWrittenByNobody: true,
    });
    expect(found.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
      entry('/memories/a', 'a0 a1 a2'),
      entry('/memories/b', 'b0'),
      entry('/memories/young', 'four'),
    ]);
    expect(checkpoint.head).toMatchObject({ files: 3, epoch: 1, keepsHistory: true, parts: 1 });
  });

  it('counts a young file as old once it is, and reads it again for that', async () => {
    const tenant = await start();
    await tenant.client.create('/memories/young', 'x');
    await take(tenant);
    await tenant.later();
    const process = await tenant.site.client();
    await process.open();
    process.calls.length = 0;
    await checkpointTree(process.tenant);
    const read = process.calls.filter((call) => call.verb === 'get' && call.key.includes('/data/'));
    expect(read).toHaveLength(1);
    const checkpoint = await readCheckpoint(await process.open(), { number: 2 });
    const notes = typeof checkpoint === 'string' ? [] : checkpoint.entries.map(({ note }) => note);
    expect(notes).toEqual(['', '', '']);
  });

  it('tells why a later verification could not tell how a file ended', async () => {
    const untold = async (tenant: CheckedTenant, historyDays?: number) => {
      const slow = await tenant.site.client({ delayMs: 20 });
      const report = await checkpointTree(slow.tenant, { historyDays });
      return 'untold' in report ? report.untold : undefined;
    };
    expect(await untold(await start('off'))).toBe('history_off');
    const tenant = await start();
    await tenant.site.time.pause(3 * DAY);
    expect(await untold(tenant)).toBeUndefined();
    expect(await untold(tenant, 2)).toBeUndefined();
    expect(await untold(tenant, 1)).toBe('not_kept');
  });

  it('counts the files as they are read, of all and of those that came meanwhile', async () => {
    const tenant = await start();
    const told: unknown[] = [];
    await take(tenant, { onProgress: (progress) => told.push(progress) });
    expect(told).toEqual([
      { done: 1, total: 1 },
      { done: 2, total: 2 },
    ]);
  });

  it('since the last one is without findings where there is none, and compares where there is one', async () => {
    const tenant = await start();
    expect(await take(tenant, { since: 'last' })).toMatchObject({ number: 1, findings: [] });
    await tenant.later();
    await tenant.drop('/memories/b');
    const refused = await take(tenant, { since: 'last' });
    expect(refused).toMatchObject({ line: undefined, findings: [{ state: 'gone', path: '/memories/b' }] });
    expect(await newestNumber(await (await tenant.site.client()).open())).toBe(1);
    expect(await take(tenant)).toMatchObject({ number: 2, files: 1, findings: [] });
  });

  it('tells the findings that are no alarm, and those that are settled not', async () => {
    const tenant = await start();
    const { layout } = tenant.client;
    await take(tenant);
    await tenant.site.base.put(`${layout.data}odd` as ObjectKey, new Uint8Array(300), { mode: 'create' });
    const report = await take(tenant, { since: 'last' });
    expect(report).toMatchObject({ number: 2, findings: [{ kind: 'foreign', objects: 1 }] });
  });

  it('has a number above that of the line, though no checkpoint of that is stored', async () => {
    const tenant = await start();
    const report = await take(tenant, { since: `40:${'A'.repeat(43)}` });
    expect(report).toMatchObject({ line: undefined, findings: [{ kind: 'checkpoint', state: 'missing' }] });
    const { tenant: opened } = await tenant.site.client();
    expect(await writeCheckpoint(opened, {}, { above: 40 })).toMatchObject({ number: 41 });
  });

  it('is none for a tenant that was never written to, and for a text that is no line', async () => {
    const nobody = await (await openSite()).client();
    for (const since of [undefined, 'last'])
      await expect(checkpointTree(nobody.tenant, { since })).rejects.toMatchObject({ code: 'not_found' });
    const since = await take(await start(), { since: 'first' }).catch((error: unknown) => error);
    expect(since).toMatchObject({ code: 'invalid_command' });
  });
});

describe('a checkpoint after one that was cut off', () => {
  /** How often a process that has seen nothing reads files for a new checkpoint. */
  async function reads({ site }: CheckedTenant): Promise<number> {
    const process = await site.client();
    await process.open();
    process.calls.length = 0;
    await writeCheckpoint(process.tenant);
    return process.calls.filter((call) => call.verb === 'get' && call.key.includes('/data/')).length;
  }

  /** Writes parts of one file each, and then no head. */
  async function cutOff({ site }: CheckedTenant): Promise<void> {
    const killed = await site.client();
    killed.intercept((call, proceed) =>
      call.verb === 'put' && call.key.includes('/checkpoints/c')
        ? Promise.reject(new MemoryError('unavailable', 'killed'))
        : proceed(),
    );
    await expect(writeCheckpoint(killed.tenant, {}, { partBytes: 1 })).rejects.toThrow('killed');
  }

  it('takes what either has read, the newer where both have it', async () => {
    const tenant = await createCheckedTenant(await openSite(), 'on');
    await writeCheckpoint((await tenant.site.client()).tenant);
    await tenant.client.append('/memories/a', ' a3');
    await tenant.later();
    await cutOff(tenant);
    expect(await reads(tenant)).toBe(0);
    await tenant.client.append('/memories/b', ' b1');
    expect(await reads(tenant)).toBe(1);
  });

  it('takes what the last of several has read', async () => {
    const tenant = await createCheckedTenant(await openSite(), 'on');
    await cutOff(tenant);
    await tenant.client.append('/memories/a', ' a3');
    await tenant.later();
    await cutOff(tenant);
    expect(await reads(tenant)).toBe(0);
  });

  it('reads what it needs itself where what was left cannot be opened, and says so', async () => {
    const tenant = await createCheckedTenant(await openSite(), 'on');
    await cutOff(tenant);
    for (const key of (await tenant.bucket()).keys())
      if (key.includes('/checkpoints/p'))
        await tenant.site.base.put(key, new Uint8Array(400), { mode: 'overwrite' });
    const process = await tenant.site.client();
    expect(await writeCheckpoint(process.tenant)).toMatchObject({ files: 2, unread: [] });
    expect(process.logged).toEqual([
      { message: expect.stringContaining('cannot be read'), fields: { code: 'integrity' } },
    ]);
  });
});

describe('a stored checkpoint', () => {
  /**
   * Answers what a process reads of the first checkpoint, after a change to the records of the tenant's checkpoints.
   */
  async function read(change: (tenant: CheckedTenant, work: Work) => Promise<unknown>, line?: string) {
    const tenant = await createCheckedTenant(await openSite(), 'on');
    await writeCheckpoint((await tenant.site.client()).tenant, {}, { partBytes: 1 });
    const work = await (await tenant.site.client()).open();
    await change(tenant, work);
    return readCheckpoint(work, line === undefined ? { number: 1 } : parseLine(line));
  }

  const HEAD = 'tenants/acme/checkpoints/c000000000001' as ObjectKey;
  const nothing = async (): Promise<void> => {};
  /** Writes the head once more, by a holder of the keys. */
  async function rewrite(
    { site }: CheckedTenant,
    work: Work,
    changed: Partial<CheckpointHead>,
  ): Promise<void> {
    const head = await readHead(work, 1);
    if (head === undefined) throw new Error('there is no head');
    await site.base.delete([{ key: HEAD }]);
    await putRecord(work, 'checkpoints', 'c000000000001', encodeHead({ ...head, ...changed }));
  }

  it('is read with its head, its root and its entries', async () => {
    expect(await read(nothing)).toMatchObject({ head: { number: 1, files: 2, parts: 2 }, entries: [{}, {}] });
  });

  it.each<readonly [string, Awaited<ReturnType<typeof read>>, Parameters<typeof read>[0]]>([
    ['without a head', 'missing', ({ site }) => site.base.delete([{ key: HEAD }])],
    [
      'with a head that does not open',
      'damaged',
      ({ site }) => site.base.put(HEAD, new Uint8Array(400), { mode: 'overwrite' }),
    ],
    ['with the head of another number', 'other', (tenant, work) => rewrite(tenant, work, { number: 2 })],
    [
      'with a head that says another number of files',
      'damaged',
      (tenant, work) => rewrite(tenant, work, { files: 3 }),
    ],
    ['with a head that says one part more', 'damaged', (tenant, work) => rewrite(tenant, work, { parts: 3 })],
    [
      'with a head that is none',
      'damaged',
      async ({ site }, work) => {
        await site.base.delete([{ key: HEAD }]);
        await putRecord(work, 'checkpoints', 'c000000000001', bytes('{}'));
      },
    ],
  ])('%s is %s', async (_, fault, change) => {
    expect(await read(change)).toBe(fault);
  });

  it('is another one than that of a line with another root', async () => {
    expect(await read(nothing, `1:${'A'.repeat(43)}`)).toBe('other');
  });

  it('is not judged where the store does not answer', async () => {
    const tenant = await createCheckedTenant(await openSite(), 'on');
    const client = await tenant.site.client();
    const work = await client.open();
    client.intercept(() => Promise.reject(new MemoryError('timeout', 'no')));
    await expect(readCheckpoint(work, { number: 1 })).rejects.toMatchObject({ code: 'timeout' });
  });
});
