import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { fileKey } from '../../../../src/format/object-keys.ts';
import { NO_ID } from '../../../../src/format/wrap.ts';
import type { DeleteFailure } from '../../../../src/store/port.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { type FilePlace, keepNewest } from '../../../../src/tree/rename/keep-newest.ts';
import type { HistorySaver, Work } from '../../../../src/tree/tenant.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import {
  atFirst,
  countCalls,
  type NotedOptions,
  noteOptions,
  type StoreCall,
} from '../../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, type TestClient, withTenant } from '../../../stage/test-tree.ts';

const [NEWEST, ...OLDER] = ['new', 'b', 'c', 'd', 'e'].map((name) => at(`/memories/${name}`));

describeOnBothKinds('keeping the newest of several places of a file', (newSite) => {
  async function start() {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    if (NEWEST === undefined) throw new Error('there is a newest place');
    for (const path of [NEWEST, ...OLDER]) await client.create(path, 'text');
    const work = await client.open();
    const newest = await placeOf(work, NEWEST);
    const older: FilePlace[] = [];
    for (const path of OLDER) older.push(await placeOf(work, path));
    client.calls.length = 0;
    return { site, client, other, work, newest, older };
  }

  async function placeOf(work: Work, path: FilePlace['path']): Promise<FilePlace> {
    const found = await readFile(work, path);
    if (found === undefined) throw new Error(`there is nothing at ${path}`);
    const key = fileKey(work.tenant.layout, work.keyring.names, path);
    return { path, key, etag: found.stored.etag, id: found.id, bound: found.bound };
  }

  it('writes it again with a mark of its own, behind all others, before it removes them', async () => {
    const { client, other, work, newest, older } = await start();
    const [first, ...rest] = older;
    const late = newest.bound + 1_000n;
    const places = first === undefined ? rest : [{ ...first, bound: late }, ...rest];
    expect(await keepNewest(work, newest, places)).toEqual(places);
    const { delete: _, ...requests } = countCalls(client.calls);
    expect(requests).toEqual({ get: 1, put: 1 });
    expect(client.calls.map(({ verb }) => verb).slice(0, 3)).toEqual(['get', 'put', 'delete']);
    expect(await other.paths()).toEqual([newest.path]);
    const after = await readFile(work, newest.path);
    expect(after?.id).toEqual(newest.id);
    expect(after?.origin).not.toEqual(NO_ID);
    expect(after?.bound).toBeGreaterThan(late);
  });

  it.each([
    ['was edited', (other: TestClient, path: string) => other.append(path, '+')],
    ['is gone', (other: TestClient, path: string) => other.remove(path)],
  ])('removes nothing where that %s', async (_, meddle) => {
    const { client, other, work, newest, older } = await start();
    await meddle(other, newest.path);
    expect(await keepNewest(work, newest, older)).toEqual([]);
    expect(countCalls(client.calls)['delete']).toBeUndefined();
    expect(await other.paths('/memories')).toEqual(expect.arrayContaining(OLDER));
  });

  it('answers which places are gone, and writes down those alone that it has removed itself', async () => {
    const { client, work, newest, older } = await start();
    const events: unknown[] = [];
    const saver: Partial<HistorySaver> = {
      nameActor: async () => void events.push(['named', countCalls(client.calls)['delete']]),
      noteMoved: async (_, { from, to, id }, file) => void events.push([from, to, id, file]),
    };
    const answers = ['missing', 'changed', 'refused', 'gone'];
    client.intercept(
      atFirst('delete', async <T>(proceed: () => Promise<T>) => {
        await proceed();
        return older.flatMap<DeleteFailure>(({ key }, i) => {
          const answer = answers[i];
          if (answer === 'missing' || answer === 'changed') return { key, conflict: answer };
          return answer === 'gone' ? [] : { key, error: new MemoryError('access_denied', 'no') };
        }) as T;
      }),
    );
    const kept = { ...work, saver: saver as HistorySaver };
    const gone = await keepNewest(kept, newest, older);
    expect(gone).toEqual(older.filter((__, i) => answers[i] === 'missing' || answers[i] === 'gone'));
    const { origin } = (await readFile(work, newest.path)) ?? {};
    const [removed] = older.slice(3);
    expect(events).toEqual([
      ['named', undefined],
      [removed?.path, newest.path, origin, [removed?.path, removed?.id, removed?.bound]],
    ]);
  });

  it('draws its data key anew under the active key, and ends with its caller', async () => {
    const { site, newest, older } = await start();
    await (await createOperator(site)).rotate();
    const { signal } = new AbortController();
    const opened = await (await site.client()).open(signal);
    const noted: NotedOptions[] = [];
    const work = withTenant(opened, { store: noteOptions(opened.tenant.store, noted) });
    await keepNewest(work, newest, older);
    expect(noted.map((each): [StoreCall['verb'], boolean] => [each.verb, each.signal === signal])).toEqual([
      ['get', true],
      ['put', true],
      ['delete', true],
    ]);
    expect((await readFile(work, newest.path))?.drawnUnder).toBe(2);
  });
});
