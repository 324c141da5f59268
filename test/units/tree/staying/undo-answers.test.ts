import { afterEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { fileKey } from '../../../../src/format/object-keys.ts';
import { newVersion, type VersionIdBytes } from '../../../../src/format/version.ts';
import { type ObjectStore, resentConflict } from '../../../../src/store/port.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import {
  isStill,
  notTakenBack,
  orTakeBack,
  takeBack,
  takePutBack,
  type Written,
} from '../../../../src/tree/staying/take-back.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { migrateFile } from '../../../stage/rare-writes.ts';
import {
  atFirst,
  countCalls,
  type NotedOptions,
  noAnswer,
  noteOptions,
  sendTwice,
} from '../../../stage/store-wrappers.ts';
import { at, createSite, type TestClient, type TestSite, withTenant } from '../../../stage/test-tree.ts';

const PATH = '/memories/a';

describe('taking a write back', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  async function start(): Promise<{
    client: TestClient;
    other: TestClient;
    work: Work;
    written: Written & { readonly mark: { readonly created: VersionIdBytes } };
  }> {
    site = await createSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create(PATH, 'text');
    const work = await client.open();
    const key = fileKey(work.tenant.layout, work.keyring.names, at(PATH));
    const first = await readFile(work, at(PATH));
    if (first === undefined) throw new Error('nothing was written');
    client.calls.length = 0;
    const mark = { created: first.id };
    return { client, other, work, written: { path: at(PATH), key, etag: first.stored.etag, mark } };
  }

  it('sends no request with the signal of a caller that may cancel', async () => {
    const { other, work, written } = await start();
    const noted: NotedOptions[] = [];
    await migrateFile(other, PATH, 'bound');
    const { signal } = new AbortController();
    await takePutBack(
      {
        ...work,
        tenant: { ...work.tenant, store: noteOptions(work.tenant.store, noted) },
        call: { signal },
      },
      written,
    );
    expect(noted.map(({ verb }) => verb)).toEqual(['delete', 'get', 'delete']);
    for (const each of noted) expect(each.signal).toBeUndefined();
  });

  it('tries four times, and answers at once where nothing is there', async () => {
    const { client, other, work, written } = await start();
    client.intercept(async (call, proceed) => {
      if (call.verb === 'delete') await migrateFile(other, PATH, 'bound');
      return proceed();
    });
    await expect(takePutBack(work, written)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(countCalls(client.calls)['delete']).toBe(4);
    client.intercept((_, proceed) => proceed());
    await other.remove(PATH);
    client.calls.length = 0;
    expect(await takePutBack(work, written)).toBe('gone');
    expect(countCalls(client.calls)).toEqual({ delete: 1 });
  });

  it('looks at what is there where its delete met an earlier attempt of its own', async () => {
    const { client, other, work, written } = await start();
    client.intercept(atFirst('delete', (proceed) => sendTwice(proceed)));
    expect(await takePutBack(work, written)).toBe('gone');
    expect(await client.paths()).toEqual([]);
    client.intercept((_, proceed) => proceed());
    await other.create(PATH, 'of another process');
    client.intercept(atFirst('delete', () => Promise.reject(resentConflict())));
    expect(await takePutBack(work, written)).toBe('built_on');
    const there = await readFile(work, at(PATH));
    if (there === undefined) throw new Error('there is no file');
    const own = { ...written, etag: there.stored.etag, mark: { created: there.id } };
    client.intercept(atFirst('delete', () => Promise.reject(resentConflict())));
    expect(await takePutBack(work, own)).toBe('undone');
    await other.create(PATH, 'of another process');
    expect(await client.text(PATH)).toBe('of another process');
  });

  it('does not know the outcome of a check that fails where another process has taken the write away', async () => {
    const { other, work, written } = await start();
    const failing = orTakeBack(work, written, async () => {
      await other.remove(PATH);
      throw new MemoryError('timeout', 'slow');
    });
    await expect(failing).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it('removes the other copies, too, behind one of which nothing is known', async () => {
    const { client, work, written } = await start();
    await client.create('/memories/b', 'text');
    const key = fileKey(work.tenant.layout, work.keyring.names, at('/memories/b'));
    const second = await readFile(work, at('/memories/b'));
    if (second === undefined) throw new Error('nothing was written');
    const mark = { created: second.id };
    client.intercept(atFirst('delete', () => Promise.reject(noAnswer())));
    const taking = takeBack(withTenant(work, { concurrency: 1 }), [
      written,
      { path: at('/memories/b'), key, etag: second.stored.etag, mark },
    ]);
    await expect(taking).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await client.paths()).toEqual([PATH]);
  });

  it('names a copy that may not go unless it is seen to be gone', async () => {
    const denied = new MemoryError('access_denied', 'not this one');
    for (const [look, isNamed] of [
      ['there', true],
      ['fails', true],
      ['gone', false],
    ] as const) {
      const { client, other, work, written } = await start();
      client.intercept(async (call, proceed) => {
        if (call.verb === 'head' && look === 'fails') throw new MemoryError('unavailable', 'down');
        if (call.verb !== 'delete') return proceed();
        if (look === 'gone') await other.remove(PATH);
        throw denied;
      });
      const { left } = await takeBack(work, [written]);
      expect(left).toEqual(isNamed ? [{ path: PATH, cause: denied }] : []);
      await site.base[Symbol.asyncDispose]();
    }
    site = await createSite();
  });

  it('finds it gone when the changed file has gone until it is read', async () => {
    const { client, other, work, written } = await start();
    await other.append(PATH, '!');
    client.intercept(async (call, proceed) => {
      if (call.verb === 'get') await other.remove(PATH);
      return proceed();
    });
    expect(await takePutBack(work, written)).toBe('gone');
  });

  it('knows its own by its version where it was created, whatever lies between, and by no text or time', async () => {
    const { work, written } = await start();
    const found = await readFile(work, at(PATH));
    if (found === undefined) throw new Error('there is no file');
    expect(isStill(written, found)).toBe(true);
    expect(isStill(written, { ...found, origin: new Uint8Array(16).fill(1) })).toBe(false);
    const again = newVersion({ mtime: found.mtime, random: work.tenant.random });
    expect(isStill(written, { ...found, ...again })).toBe(false);
  });

  it('says why it is unknown, and keeps an error that says so already', async () => {
    const { work, written } = await start();
    const down = new MemoryError('unavailable', 'down');
    const failing: ObjectStore['delete'] = () => Promise.reject(down);
    const undoing = takePutBack(
      withTenant(work, { store: { ...work.tenant.store, delete: failing } }),
      written,
    );
    await expect(undoing).rejects.toMatchObject({ code: 'outcome_unknown', cause: down });
    const unknown = new MemoryError('outcome_unknown', 'no answer');
    expect(notTakenBack(unknown)).toBe(unknown);
  });
});
