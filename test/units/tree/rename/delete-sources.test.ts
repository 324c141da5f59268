import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { type CopiedFile, copyFiles } from '../../../../src/tree/rename/copy-files.ts';
import { deleteSources } from '../../../../src/tree/rename/delete-sources.ts';
import type { DirectoryRename } from '../../../../src/tree/rename/register.ts';
import type { HistorySaver, Work } from '../../../../src/tree/tenant.ts';
import { migrateFile } from '../../../stage/rare-writes.ts';
import {
  atFirst,
  countCalls,
  type NotedOptions,
  noAnswer,
  noteOptions,
  sendTwice,
} from '../../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, leased, type TestClient, withTenant } from '../../../stage/test-tree.ts';

const RENAME: DirectoryRename = {
  from: at('/memories/from'),
  to: at('/memories/to'),
  id: new Uint8Array(16).fill(9),
};
const NAMES: readonly string[] = ['a', 'b', 'c'];

describeOnBothKinds('deleting the sources of a rename', (newSite) => {
  async function start(names = NAMES): Promise<{
    client: TestClient;
    other: TestClient;
    work: Work;
    copied: readonly CopiedFile[];
  }> {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    for (const name of names) await client.create(`/memories/from/${name}`, name);
    const work = await client.open();
    const files = names.map((name) => ({ path: at(`/memories/from/${name}`), size: 1 }));
    const { copied } = await copyFiles(leased(work), RENAME, { files, phase: 'copying' });
    return { client, other, work, copied };
  }
  const moved = (names = NAMES): readonly string[] => names.map((name) => `/memories/to/${name}`);

  it('takes the copy back of a file that a user deleted, also of one deleted before a takeover', async () => {
    for (const takenOver of [false, true]) {
      const { client, other, work, copied } = await start();
      await other.remove('/memories/from/b');
      client.calls.length = 0;
      const done = await deleteSources(leased(work), RENAME, { copied, takenOver });
      expect(done).toEqual({ keptBoth: false, left: [] });
      // The rename does not look again for a file that is gone: what lies there by now is another file, and follows as
      // one.
      expect(client.calls.filter(({ verb }) => verb === 'get')).toEqual([]);
      // After a takeover the delete may have been that of the process before, and the copy is all there is.
      expect(await other.paths()).toEqual(moved(takenOver ? NAMES : ['a', 'c']));
    }
  });

  it('ends with its caller, also where it looks for a source that is not let go', async () => {
    const { work, copied } = await start();
    const noted: NotedOptions[] = [];
    const { signal } = new AbortController();
    const watched = {
      ...work,
      tenant: { ...work.tenant, store: noteOptions(work.tenant.store, noted) },
      call: { signal },
    };
    const refused = refusing(watched, copied[1], new MemoryError('access_denied', 'no'));
    await deleteSources(leased(refused), RENAME, { copied, takenOver: false });
    expect(noted.map((each) => [each.verb, each.signal === signal])).toEqual([
      ['delete', true],
      ['head', true],
      ['delete', false],
    ]);
  });

  it('takes the copy back of a file that was changed and then deleted since the takeover', async () => {
    const { client, other, work, copied } = await start();
    await other.append('/memories/from/b', '+');
    let deletes = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'delete' && ++deletes === 2) await other.remove('/memories/from/b');
      return proceed();
    });
    await deleteSources(leased(work), RENAME, { copied, takenOver: true });
    expect(await other.paths()).toEqual(moved(['a', 'c']));
  });

  it('copies again what was changed before a takeover', async () => {
    const { other, work, copied } = await start();
    await other.append('/memories/from/b', '+');
    const done = await deleteSources(leased(work), RENAME, { copied, takenOver: true });
    expect(done).toEqual({ keptBoth: false, left: [] });
    expect(await other.paths()).toEqual(moved());
    expect(await other.text('/memories/to/b')).toBe('b+');
  });

  it('keeps the copy when an earlier attempt of its own may have deleted the source, not one that was edited', async () => {
    const { client, other, work, copied } = await start();
    await other.append('/memories/from/b', '+');
    client.intercept((call, proceed) => (call.verb === 'delete' ? sendTwice(proceed) : proceed()));
    const done = await deleteSources(leased(work), RENAME, { copied, takenOver: false });
    expect(done).toEqual({ keptBoth: false, left: [] });
    expect(await other.paths()).toEqual(moved());
    expect(await other.text('/memories/to/b')).toBe('b+');
  });

  it('writes down which bindings end, before each of its deletes', async () => {
    const { client, other, work, copied } = await start(['a']);
    const noted: unknown[] = [];
    const saver: Partial<HistorySaver> = {
      saveMoves: async (_, { id }, files) => void noted.push([id, files, countCalls(client.calls)['delete']]),
    };
    await other.append('/memories/from/a', '+');
    client.calls.length = 0;
    const kept = leased({ ...work, saver: saver as HistorySaver });
    await deleteSources(kept, RENAME, { copied, takenOver: false });
    const edited = [at('/memories/from/a'), expect.any(Uint8Array), expect.any(BigInt)];
    expect(noted).toEqual([
      [RENAME.id, copied.map(({ from, source }) => [from, source.id, source.bound]), undefined],
      [RENAME.id, [edited], 1],
    ]);
  });

  it('takes the copy back when a source that had changed is gone when it is read', async () => {
    const { client, other, work, copied } = await start();
    await other.append('/memories/from/b', '+');
    client.intercept(
      atFirst('get', async (proceed) => {
        await other.remove('/memories/from/b');
        return proceed();
      }),
    );
    await deleteSources(leased(work), RENAME, { copied, takenOver: false });
    expect(await other.paths()).toEqual(moved(['a', 'c']));
  });

  it('says that a file is at both places when it was changed at both', async () => {
    const { other, work, copied } = await start();
    await other.append('/memories/from/a', '1');
    await other.append('/memories/to/a', '2');
    const done = await deleteSources(leased(work), RENAME, { copied, takenOver: false });
    expect(done).toEqual({ keptBoth: true, left: [] });
    expect(await other.paths()).toEqual(['/memories/from/a', ...moved()]);
    expect(await other.text('/memories/to/a')).toBe('a2');
  });

  it('goes on where a copy was edited and a migration of keys has bound its source again', async () => {
    const { client, other, work, copied } = await start();
    await migrateFile(other, '/memories/from/a', 'bound');
    await other.append('/memories/to/a', '2');
    client.calls.length = 0;
    const done = await deleteSources(leased(work), RENAME, { copied, takenOver: false });
    expect(done).toEqual({ keptBoth: false, left: [] });
    expect(countCalls(client.calls)).toEqual({ get: 2, put: 1, delete: 2 });
    expect(await other.paths()).toEqual(moved());
    expect(await other.text('/memories/to/a')).toBe('a2');
  });

  it('keeps a source that was written again under another origin, though its content is the same', async () => {
    const { other, work, copied } = await start();
    await other.rename('/memories/from/a', '/memories/kept');
    await other.rename('/memories/kept', '/memories/from/a');
    await other.remove('/memories/to/a');
    const done = await deleteSources(leased(work), RENAME, { copied, takenOver: false });
    expect(done).toEqual({ keptBoth: true, left: [] });
    expect(await other.paths()).toEqual(['/memories/from/a', ...moved(['b', 'c'])]);
  });

  it('copies a source that keeps changing eight times, then keeps it at both places', async () => {
    for (const [edits, isKept] of [
      [7, false],
      [8, true],
    ] as const) {
      const { client, other, work, copied } = await start();
      let left: number = edits;
      let deletes = 0;
      client.intercept(async (call, proceed) => {
        if (call.verb === 'delete' && left-- > 0) await other.append('/memories/from/a', '+');
        if (call.verb === 'delete') deletes++;
        return proceed();
      });
      const done = await deleteSources(leased(work), RENAME, { copied, takenOver: false });
      expect(done).toEqual({ keptBoth: isKept, left: [] });
      expect(deletes).toBe(8);
      expect(await other.paths()).toEqual(isKept ? ['/memories/from/a', ...moved()] : moved());
      expect(await other.text('/memories/to/a')).toBe(`a${'+'.repeat(edits)}`);
    }
  });

  it('brings all others to their end before it throws the first of what went wrong', async () => {
    const { client, other, work, copied } = await start(['a', 'b', 'c', 'd']);
    for (const name of ['a', 'b', 'c']) await other.append(`/memories/from/${name}`, '+');
    const failures = [new MemoryError('unavailable', 'first'), new MemoryError('timeout', 'second')];
    client.intercept((call, proceed) => {
      const failure = call.verb === 'get' ? failures.shift() : undefined;
      return failure === undefined ? proceed() : Promise.reject(failure);
    });
    const deleting = deleteSources(leased(work), RENAME, { copied, takenOver: false });
    await expect(deleting).rejects.toThrow('first');
    expect(failures).toEqual([]);
    expect(await other.paths('/memories/from')).toEqual(['/memories/from/a', '/memories/from/b']);
  });

  it('throws what the store throws for a whole batch, whatever it is', async () => {
    for (const error of [new MemoryError('access_denied', 'no'), new MemoryError('timeout', 'slow')]) {
      const { client, other, work, copied } = await start();
      client.intercept(atFirst('delete', () => Promise.reject(error)));
      await expect(deleteSources(leased(work), RENAME, { copied, takenOver: false })).rejects.toBe(error);
      expect(await other.paths()).toHaveLength(6);
    }
  });

  it('throws, for a single file, what is no refusal of that file', async () => {
    for (const error of [noAnswer(), new MemoryError('unavailable', 'down')]) {
      const { client, other, work, copied } = await start(['a']);
      client.intercept(atFirst('delete', () => Promise.reject(error)));
      await expect(deleteSources(leased(work), RENAME, { copied, takenOver: false })).rejects.toBe(error);
      expect(await other.paths()).toEqual(['/memories/from/a', '/memories/to/a']);
    }
  });

  it.each([
    ['one of a batch', NAMES, ['a', 'c']],
    ['the only one', ['b'], []],
  ])(
    'leaves a file that the server does not let go at its old place, and names it: %s',
    async (_, names, gone) => {
      const { other, work, copied } = await start(names);
      const error = new MemoryError('is_directory', 'not this one');
      const refused = refusing(
        work,
        copied.find(({ from }) => from === '/memories/from/b'),
        error,
      );
      const done = await deleteSources(leased(refused), RENAME, { copied, takenOver: false });
      expect(done).toEqual({ keptBoth: false, left: [{ path: '/memories/from/b', cause: error }] });
      expect(await other.paths('/memories/to')).toEqual(moved(gone));
    },
  );

  it('takes no copy back when the failure is no refusal, or the source is not seen to be there', async () => {
    for (const [error, isThere] of [
      [noAnswer(), true],
      [new MemoryError('access_denied', 'no'), false],
    ] as const) {
      const { other, work, copied } = await start();
      if (!isThere) await other.remove('/memories/from/b');
      const refused = refusing(work, copied[1], error);
      await expect(deleteSources(leased(refused), RENAME, { copied, takenOver: false })).rejects.toBe(error);
      expect(await other.paths('/memories/to')).toEqual(moved());
    }
  });

  it('leaves a file whose newer version cannot be copied, and takes its older copy back', async () => {
    const { client, other, work, copied } = await start();
    await other.append('/memories/from/b', '+');
    const error = new MemoryError('access_denied', 'not this one');
    client.intercept((call, proceed) =>
      call.verb === 'put' && call.key === copied[1]?.target.key && call.body.length > 100
        ? Promise.reject(error)
        : proceed(),
    );
    const done = await deleteSources(leased(work), RENAME, { copied, takenOver: false });
    expect(done).toEqual({ keptBoth: false, left: [{ path: '/memories/from/b', cause: error }] });
    expect(await other.paths()).toEqual(['/memories/from/b', ...moved(['a', 'c'])]);
  });
});

/** Work with a server that lets the others of a batch go, and fails for the one of that name. */
function refusing(work: Work, refused: CopiedFile | undefined, error: MemoryError): Work {
  const key = refused?.source.key;
  if (key === undefined) throw new Error('there is no such file');
  const remove: ObjectStore['delete'] = async (targets, options) => {
    const failures = await work.tenant.store.delete(
      targets.filter((target) => target.key !== key),
      options,
    );
    if (!targets.some((target) => target.key === key)) return failures;
    if (targets.length === 1) throw error;
    return [...failures, { key, error }];
  };
  return withTenant(work, { store: { ...work.tenant.store, delete: remove } });
}
