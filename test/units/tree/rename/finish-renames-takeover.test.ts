import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { copyFiles } from '../../../../src/tree/rename/copy-files.ts';
import { createRenameRegister } from '../../../../src/tree/rename/finish-renames.ts';
import type { RenameLease } from '../../../../src/tree/rename/lease.ts';
import { readRegister } from '../../../../src/tree/rename/register.ts';
import { putUnchecked } from '../../../stage/rare-writes.ts';
import { countCalls } from '../../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/x/to';
const NAMES: readonly string[] = ['a', 'b/c'];

describeOnBothKinds('taking the rename of a directory over', (newSite) => {
  const below = (directory: string): readonly string[] => NAMES.map((name) => `${directory}/${name}`);

  /** A process that dies when it has copied the first `copies` files, in that phase. */
  async function leave(phase: 'copying' | 'moving' | 'aborting', copies = NAMES.length): Promise<Left> {
    const site = await newSite();
    const [client, gone] = [await site.client(), await site.client()];
    for (const name of NAMES) await client.create(`${FROM}/${name}`, name);
    const lease = await createRenameRegister().begin(await gone.open(), { from: at(FROM), to: at(TO) });
    const files = below(FROM).map((path) => ({ path: at(path), size: 1 }));
    await copyFiles(lease.work, lease.rename, { files: files.slice(0, copies), phase: 'copying' });
    if (phase !== 'copying') await lease.enter(phase);
    return { site, client, lease, next: await site.client() };
  }

  it('waits for ten seconds after the last write, by the clock of the server', async () => {
    const { site, next } = await leave('copying');
    const ahead = await site.client({ clock: () => site.time.clock() + 3_600_000 });
    await site.time.pause(10_000);
    for (const client of [next, ahead]) {
      expect(await createRenameRegister().recover(await client.open())).toBe('under_way');
    }
    await site.time.pause(1);
    expect(await createRenameRegister().recover(await next.open())).toBe('finished');
    expect(await next.paths()).toEqual(below(TO));
  });

  it('finishes the copying and the moves, over copies that are there and those that are not', async () => {
    for (const copies of [0, 1, 2]) {
      const { site, next } = await leave('copying', copies);
      await site.time.pause(10_001);
      expect(await next.paths()).toEqual(below(TO));
      expect(await next.text(`${TO}/b/c`)).toBe('b/c');
      expect(await readRegister(await next.open())).toMatchObject({ entry: undefined });
    }
  });

  it('looks for clashes when it goes on copying, and takes all copies back, known or not', async () => {
    for (const appearing of [`${TO}/own`, `${TO}/b`, '/memories/x']) {
      const { site, client, next } = await leave('copying');
      await putUnchecked(client, appearing);
      // A copy whose source is gone since is found by its origin.
      await client.remove(`${FROM}/a`);
      await site.time.pause(10_001);
      expect(await next.paths()).toEqual([`${FROM}/b/c`, appearing].sort());
      expect(next.logged).toContainEqual(
        expect.objectContaining({ fields: expect.objectContaining({ code: 'already_exists' }) }),
      );
    }
  });

  it('takes the copies back, too, of files that all went meanwhile', async () => {
    const { site, client, next } = await leave('copying');
    for (const path of below(FROM)) await client.remove(path).catch(() => {});
    await site.time.pause(10_001);
    expect(await next.paths()).toEqual([]);
    expect(next.logged).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ code: 'not_found' }) }),
    );
  });

  it('does not overwrite, while moving, a copy by a source that is another one now', async () => {
    const { site, client, lease, next } = await leave('moving');
    const { store } = lease.work.tenant;
    const [listed] = (await client.tree.list(at(FROM))).files;
    if (listed === undefined) throw new Error('there is no source');
    expect(await store.delete([{ key: listed.key, ifMatch: listed.etag }])).toEqual([]);
    await client.create(`${FROM}/a`, 'a new one');
    await site.time.pause(10_001);
    expect(await next.paths()).toEqual([`${FROM}/a`, ...below(TO)]);
    expect(await next.text(`${TO}/a`)).toBe('a');
  });

  it('takes the copies back that were being taken back, and copies nothing', async () => {
    const { site, next } = await leave('aborting', 1);
    await site.time.pause(10_001);
    next.calls.length = 0;
    expect(await createRenameRegister().recover(await next.open())).toBe('finished');
    expect(await next.paths()).toEqual(below(FROM));
    // The register is taken, entered and left again.
    if (site.kind === 'guarded') expect(countCalls(next.calls)['put']).toBe(3);
  });

  it('keeps the id of the rename, and is told to the operator', async () => {
    const { site, client, lease, next } = await leave('moving');
    await site.time.pause(10_001);
    const ids: string[] = [];
    const watching = await client.open();
    next.intercept(async (call, proceed) => {
      if (call.verb === 'delete') ids.push(String((await readRegister(watching)).entry?.id));
      return proceed();
    });
    await createRenameRegister().recover(await next.open());
    expect(ids).toEqual([String(lease.rename.id)]);
    expect(next.logged).toContainEqual({
      message: 'finishing the rename of a directory that another process began',
      fields: { phase: 'moving' },
    });
  });

  it.each(['copying', 'moving', 'aborting'] as const)(
    'goes on in the phase %s, and says so',
    async (phase) => {
      const { site, client, next } = await leave(phase);
      await site.time.pause(10_001);
      const watching = await client.open();
      const phases: (string | undefined)[] = [];
      next.intercept(async (call, proceed) => {
        if (call.verb === 'list') phases.push((await readRegister(watching)).entry?.phase);
        return proceed();
      });
      await createRenameRegister().recover(await next.open());
      expect(phases[0]).toBe(phase);
    },
  );

  it('ends with the caller who waits for it, and does not call the store unavailable', async () => {
    const { site, next } = await leave('moving');
    await site.time.pause(10_001);
    const controller = new AbortController();
    const work = await next.open(controller.signal);
    next.intercept((call, proceed) => {
      if (call.verb === 'list') return Promise.reject(new MemoryError('aborted', 'the caller cancelled'));
      return proceed();
    });
    const settling = createRenameRegister().finishAbandoned(work);
    await expect(settling).rejects.toMatchObject({ code: 'aborted' });
  });
});

interface Left {
  readonly site: TestSite;
  readonly client: TestClient;
  readonly lease: RenameLease;
  readonly next: TestClient;
}
