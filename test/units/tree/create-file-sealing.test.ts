import { afterEach, describe, expect, it } from 'vitest';
import { type OpenedObject, open } from '../../../src/format/object.ts';
import { logicalName } from '../../../src/format/object-keys.ts';
import type { LoadedKeyring } from '../../../src/keys/keyring-cache.ts';
import type { SendBound } from '../../../src/store/port.ts';
import { createFile, overwriteFile, textWrite } from '../../../src/tree/create-file.ts';
import { readFile } from '../../../src/tree/read-file.ts';
import { MIGRATIONS, migrateFile } from '../../stage/rare-writes.ts';
import { atFirst, countCalls, type NotedOptions, noteOptions } from '../../stage/store-wrappers.ts';
import { at, bytes, createSite, inTime, type TestSite, withTenant } from '../../stage/test-tree.ts';

const PATH = '/memories/a';

describe('writing a file', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  it('seals the time of its own clock, and what it replaces', async () => {
    site = await createSite();
    const client = await site.client();
    await client.create(PATH, 'text');
    const work = await client.open();
    const replaced = await readFile(withTenant(work, { clock: () => work.tenant.clock() }), at(PATH));
    if (replaced === undefined) throw new Error('there is no file');
    const clock = (): number => 1_234_567;
    const keys = work.keyring.keys;
    const name = logicalName(at(PATH));
    const sealed = (before?: typeof replaced): OpenedObject => {
      const { write } = textWrite(withTenant(work, { stamps: inTime(clock) }), at(PATH), bytes('new'), {
        replaced: before,
      });
      return open({ keys, name, object: write.seal({ clock: clock(), after: write.after }) });
    };
    const first = sealed();
    expect(first).toMatchObject({ mtime: 1_234_567, previous: new Uint8Array(16) });
    const next = sealed(replaced);
    expect(next).toMatchObject({ mtime: 1_234_567, previous: replaced.id });
    expect(next.bound > replaced.bound).toBe(true);
    expect(first.bound > replaced.bound).toBe(false);
  });

  it('looks for clashes where it creates, not where it overwrites', async () => {
    site = await createSite();
    const client = await site.client({ cacheBytes: 0 });
    await client.create('/memories/warm', '');
    client.calls.length = 0;
    await client.tree.overwrite(at('/memories/d/a'), bytes('first'));
    expect(countCalls(client.calls)).toEqual({ head: 2, put: 1, list: 1 });
    client.calls.length = 0;
    await client.tree.overwrite(at('/memories/d/a'), bytes('second'));
    expect(countCalls(client.calls)).toEqual({ head: 1, put: 1 });
  });

  it('takes back what it has created beside a directory, also once a migration of keys wrote it again', async () => {
    for (const how of MIGRATIONS) {
      site = await createSite();
      const [client, other] = [await site.client(), await site.client()];
      await other.create(`${PATH}/below`, 'there');
      client.intercept(
        atFirst('delete', async (proceed) => {
          await migrateFile(other, PATH, how);
          return proceed();
        }),
      );
      const writing = client.tree.overwrite(at(PATH), bytes('new'));
      await expect(writing).rejects.toMatchObject({ code: 'is_directory' });
      expect(await other.paths()).toEqual([`${PATH}/below`]);
      await site.base[Symbol.asyncDispose]();
    }
    site = await createSite();
  });

  it('ends with the caller', async () => {
    site = await createSite();
    const client = await site.client();
    const { signal } = new AbortController();
    const opened = await client.open(signal);
    const noted: NotedOptions[] = [];
    await overwriteFile(
      withTenant(opened, { store: noteOptions(opened.tenant.store, noted) }),
      at(PATH),
      bytes('text'),
    );
    expect(noted.map(({ verb }) => verb)).toEqual(['head', 'put', 'list']);
    for (const each of noted) expect(each.signal).toBe(signal);
  });

  /** A clock that has moved on at every reading. */
  function moving(clock: () => number): () => number {
    let readings = 0;
    return () => clock() + ++readings * 1_000;
  }

  it('takes back the sealing that landed: the second one, where the first came too late', async () => {
    site = await createSite();
    const [client, other] = [await site.client(), await site.client()];
    await other.create(`${PATH}/below`, 'there');
    const work = await client.open();
    let bounds = 0;
    const sendBy = (): SendBound => {
      const bound = ++bounds;
      return { isPast: () => bound === 1 };
    };
    client.intercept(
      atFirst('delete', async (proceed) => {
        await migrateFile(other, PATH, 'sealed');
        return proceed();
      }),
    );
    const late = withTenant(work, {
      clock: moving(work.tenant.clock),
      keyrings: { ...work.tenant.keyrings, sendBy },
    });
    await expect(createFile(late, at(PATH), bytes('new'))).rejects.toMatchObject({ code: 'is_directory' });
    expect(bounds).toBe(2);
    expect(await other.paths()).toEqual([`${PATH}/below`]);
  });

  it('takes back the sealing that landed: the first one, where a migration of keys came before the second', async () => {
    site = await createSite();
    const [client, other] = [await site.client(), await site.client()];
    await other.create(`${PATH}/below`, 'there');
    const work = await client.open();
    let [bounds, puts] = [0, 0];
    const sendBy = (): SendBound => {
      bounds++;
      return { isPast: () => puts === 1 };
    };
    const { keyring } = work;
    const active = { ...keyring.keys.active, keyId: new Uint8Array(16) };
    const look = async (): Promise<LoadedKeyring> => ({ ...keyring, keys: { ...keyring.keys, active } });
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && puts === 1) await migrateFile(other, PATH, 'sealed');
      const answer = await proceed();
      if (call.verb === 'put') puts++;
      return answer;
    });
    const late = withTenant(work, {
      clock: moving(work.tenant.clock),
      keyrings: { ...work.tenant.keyrings, sendBy, look },
    });
    await expect(createFile(late, at(PATH), bytes('new'))).rejects.toMatchObject({ code: 'is_directory' });
    expect([bounds, puts]).toEqual([2, 2]);
    expect(await other.paths()).toEqual([`${PATH}/below`]);
  });
});
