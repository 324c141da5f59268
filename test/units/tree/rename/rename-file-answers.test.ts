import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import type { ETag } from '../../../../src/store/port.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { renameFile } from '../../../../src/tree/rename/rename-file.ts';
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
import {
  at,
  describeOnBothKinds,
  type TestClient,
  type TestSite,
  withTenant,
} from '../../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/to';
const DENIED = new MemoryError('access_denied', 'no');

describeOnBothKinds('a rename of a file', (newSite) => {
  async function start(): Promise<{
    site: TestSite;
    client: TestClient;
    other: TestClient;
    isGuarded: boolean;
  }> {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create(FROM, 'text');
    await site.time.pause(61_000);
    client.calls.length = 0;
    return { site, client, other, isGuarded: site.kind === 'guarded' };
  }

  it('goes on where another process has built on its copy before a clash could take it back', async () => {
    const { client, other, site } = await start();
    const slow = await site.client();
    slow.intercept(atFirst('head', (proceed) => site.time.pause(200).then(proceed)));
    let below: Promise<void> | undefined;
    client.intercept(
      atFirst('list', async (proceed) => {
        await other.append(TO, '!');
        below = expect(slow.create(`${TO}/below`, '')).rejects.toMatchObject({ code: 'already_exists' });
        await site.time.pause(100);
        expect(await other.paths()).toEqual([FROM, TO, `${TO}/below`]);
        return proceed();
      }),
    );
    await client.rename(FROM, TO);
    await below;
    expect(await other.paths()).toEqual([TO]);
    expect(await other.text(TO)).toBe('text!');
  });

  it('follows its copy through two migrations of keys in a row, not through three', async () => {
    for (const [migrations, outcome] of [
      [2, 'moved'],
      [3, 'both_kept'],
    ] as const) {
      const { client, other } = await start();
      let left: number = migrations;
      client.intercept(async (call, proceed) => {
        if (call.verb === 'delete' && left === migrations) await other.append(FROM, '+');
        if (call.verb === 'put' && typeof call.mode === 'object' && left-- > 0)
          await migrateFile(other, TO, 'bound');
        return proceed();
      });
      const moving = client.rename(FROM, TO).then(
        () => 'moved',
        (error: MemoryError) => error.details['reason'],
      );
      expect(await moving).toBe(outcome);
      expect(await other.text(outcome === 'moved' ? TO : FROM)).toBe('text+');
    }
  });

  it('takes a file along that was created in the place of the one that was deleted', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.remove(FROM);
        const answer = await proceed();
        await other.create(FROM, 'another');
        return answer;
      }),
    );
    await client.rename(FROM, TO);
    expect(await other.paths()).toEqual([TO]);
    expect(await other.text(TO)).toBe('another');
  });

  it('says that the source stays when its copy was deleted and the source edited', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.append(FROM, '+');
        await other.remove(TO);
        return proceed();
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await other.paths()).toEqual([FROM]);
  });

  it('knows its latest copy, and needs no look to renew it or to take it back', async () => {
    const { client, other, isGuarded } = await start();
    if (!isGuarded) return;
    let deletes = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'delete' && ++deletes <= 2) await other.append(FROM, '+');
      else if (call.verb === 'delete' && deletes === 3) await other.remove(FROM);
      return proceed();
    });
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'not_found' });
    expect(countCalls(client.calls)).toMatchObject({ put: 3, delete: 4 });
    expect(await other.paths()).toEqual([]);
  });

  it('takes its latest copy back by one request when the source may not be deleted', async () => {
    const { client, other } = await start();
    let deletes = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb !== 'delete') return proceed();
      if (++deletes === 1) await other.append(FROM, '+');
      if (deletes === 2) throw DENIED;
      return proceed();
    });
    await expect(client.rename(FROM, TO)).rejects.toBe(DENIED);
    expect(deletes).toBe(3);
    expect(await other.paths()).toEqual([FROM]);
  });

  it('does not know the outcome of a refused delete when it cannot look, or when its copy was edited', async () => {
    for (const isEdited of [true, false]) {
      const { client, other } = await start();
      let isRefused = false;
      client.intercept(async (call, proceed) => {
        if (call.verb === 'head' && isRefused && !isEdited) throw new MemoryError('unavailable', 'down');
        if (call.verb !== 'delete' || isRefused) return proceed();
        isRefused = true;
        if (isEdited) await other.append(TO, '!');
        throw DENIED;
      });
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown', cause: DENIED });
      expect(await other.paths()).toEqual([FROM, TO]);
    }
  });

  it('is taken back as well when the refusal is told of the key alone', async () => {
    const { client, other } = await start();
    let isRefused = false;
    client.intercept(async <T>(call: { verb: string }, proceed: () => Promise<T>) => {
      if (call.verb !== 'delete' || isRefused) return proceed();
      isRefused = true;
      return [{ key: 'any', error: DENIED }] as T;
    });
    await expect(client.rename(FROM, TO)).rejects.toBe(DENIED);
    expect(await other.paths()).toEqual([FROM]);
  });

  it('names its copy where neither place lets its file go', async () => {
    const { client, other } = await start();
    client.intercept((call, proceed) => (call.verb === 'delete' ? Promise.reject(DENIED) : proceed()));
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'left_behind', paths: [TO] },
      cause: DENIED,
    });
    expect(await other.paths()).toEqual([FROM, TO]);
  });

  it('writes down which binding of the source has ended', async () => {
    const { client } = await start();
    const work = await client.open();
    const source = await readFile(work, at(FROM));
    if (source === undefined) throw new Error('there is no source');
    const noted: unknown[] = [];
    const saver: Partial<HistorySaver> = {
      noteMoved: async (_, { from, to }, file) => void noted.push([from, to, file]),
    };
    await renameFile({ ...work, saver: saver as HistorySaver }, { from: at(FROM), to: at(TO) }, source);
    expect(noted).toEqual([[FROM, TO, [FROM, source.id, source.bound]]]);
  });

  it('leaves what was created at the source behind a delete that was sent twice', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', (proceed) => {
        let sent = 0;
        return sendTwice(async () => {
          if (sent++ === 1) await other.create(FROM, 'another');
          return proceed();
        });
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await other.text(FROM)).toBe('another');
    expect(await other.text(TO)).toBe('text');
  });

  it('deletes the source with the signal of its caller, and takes back without it', async () => {
    const { client } = await start();
    const { signal } = new AbortController();
    const opened = await client.open(signal);
    const noted: NotedOptions[] = [];
    const work: Work = withTenant(opened, { store: noteOptions(opened.tenant.store, noted) });
    const source = await readFile(work, at(FROM));
    if (source === undefined) throw new Error('there is no source');
    client.intercept(atFirst('delete', () => Promise.reject(DENIED)));
    noted.length = 0;
    await expect(renameFile(work, { from: at(FROM), to: at(TO) }, source)).rejects.toBe(DENIED);
    const sent = noted.filter(({ verb }) => verb === 'delete').map((each) => each.signal);
    expect(sent).toEqual([signal, undefined]);
    expect(noted.find(({ verb }) => verb === 'head')?.signal).toBeUndefined();
  });

  it.each([
    ['is there', undefined, 'moved', 'text'],
    [
      'was bound again by a migration of keys',
      (other: TestClient) => migrateFile(other, FROM, 'bound'),
      'moved',
      'text',
    ],
    ['was edited', (other: TestClient) => other.append(FROM, '+'), 'version_conflict', 'text+'],
    ['is gone', (other: TestClient) => other.remove(FROM), 'not_found', undefined],
  ] as const)(
    'of one version alone moves that version, which %s when its copy is made',
    async (_, meddle, ...ends) => {
      const { client, other } = await start();
      const version = await versionAtSource(client);
      client.intercept(
        atFirst('delete', async (proceed) => {
          await meddle?.(other);
          return proceed();
        }),
      );
      const outcome = await client.tree.rename({ from: at(FROM), to: at(TO), version }).then(
        () => 'moved',
        (error: MemoryError) => error.code,
      );
      const [there, gone] = outcome === 'moved' ? [TO, FROM] : [FROM, TO];
      expect([outcome, await other.text(there)]).toEqual(ends);
      expect(await other.text(gone)).toBeUndefined();
    },
  );

  it('of one version alone refuses another version at once, and for good', async () => {
    const { client, other } = await start();
    const version = await versionAtSource(client);
    await other.append(FROM, '+');
    client.calls.length = 0;
    await expect(client.tree.rename({ from: at(FROM), to: at(TO), version })).rejects.toMatchObject({
      code: 'version_conflict',
      retry: 'never',
    });
    expect(countCalls(client.calls)).toEqual({ get: 1 });
  });

  it('does not know the outcome when no answer to the delete comes', async () => {
    const { client } = await start();
    client.intercept(atFirst('delete', () => Promise.reject(noAnswer())));
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
  });
});

async function versionAtSource(client: TestClient): Promise<ETag> {
  const found = await client.tree.readVersion(at(FROM));
  if (found === undefined) throw new Error('there is no source');
  return found.etag;
}
