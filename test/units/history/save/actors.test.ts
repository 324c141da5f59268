import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { toBase64url } from '../../../../src/format/encoding.ts';
import { classKey } from '../../../../src/format/object-keys.ts';
import { NO_ID } from '../../../../src/format/wrap.ts';
import {
  ACTOR_IN_USE_MS,
  decodeActor,
  nameActor,
  readActor,
  readActors,
  renewActor,
  writerOf,
} from '../../../../src/history/save/actors.ts';
import type { MemoryPath } from '../../../../src/language/path.ts';
import type { Changes, ETag } from '../../../../src/store/port.ts';
import { encodeFields } from '../../../../src/tree/records/sealed-record.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { keepingClient } from '../../../stage/history-site.ts';
import {
  at,
  bytes,
  describeOnBothKinds,
  openSite,
  type TestClient,
  withTenant,
} from '../../../stage/test-tree.ts';

const DAY = 86_400_000;

describeOnBothKinds('the naming of an actor', (newSite) => {
  let files = 0;
  async function create({ tree }: TestClient): Promise<MemoryPath> {
    const path = at(`/memories/${files++}`);
    await tree.create(path, bytes('text'), { actor: 'ann' });
    return path;
  }
  /** The requests about actors that a command sends; all others are those that it sends without one. */
  async function billOf(
    client: TestClient,
    command: (client: TestClient) => Promise<unknown> = create,
  ): Promise<readonly string[]> {
    client.calls.length = 0;
    await command(client);
    return client.calls.flatMap((call) =>
      'key' in call && call.key.includes('/actors/') ? [call.verb] : [],
    );
  }

  it('costs a PUT for an actor that is new, and nothing for the rest of the day', async () => {
    const client = await keepingClient(await newSite());
    expect(await billOf(client)).toEqual(['put']);
    expect(await billOf(client)).toEqual([]);
    const path = await create(client);
    const edit = (): Promise<unknown> => client.tree.overwrite(path, bytes('x'), { actor: 'ann' });
    expect(await billOf(client, edit)).toEqual([]);
  });

  it('costs another process, and each day, a PUT and a HEAD, and once a week another PUT', async () => {
    const site = await newSite();
    await create(await keepingClient(site));
    const client = await keepingClient(site);
    const bills: (readonly string[])[] = [];
    for (let day = 0; day < 15; day++) {
      bills.push(await billOf(client));
      expect(await billOf(client)).toEqual([]);
      await site.time.pause(DAY + 1_000);
    }
    const renewed = bills.flatMap((bill, day) => (bill.length > 2 ? [day] : []));
    expect(renewed).toEqual([7, 14]);
    for (const [day, bill] of bills.entries())
      expect(bill).toEqual(renewed.includes(day) ? ['put', 'head', 'put'] : ['put', 'head']);
  });

  it('costs nothing where nothing is written, nor without an actor', async () => {
    const site = await newSite();
    const path = await create(await keepingClient(site));
    const client = await keepingClient(site);
    expect(await billOf(client, ({ tree }) => tree.read(path, { actor: 'bob' }))).toEqual([]);
    expect(await billOf(client, ({ tree }) => tree.overwrite(path, bytes('x')))).toEqual([]);
  });
});

describe('the record of an actor', () => {
  const full = new MemoryError('unavailable', 'full', { details: { reason: 'disk_full' } });
  const busy = new MemoryError('unavailable', 'busy');

  async function prepared() {
    const site = await openSite();
    const client = await site.client({ keepsHistory: true });
    const work: Work = { ...(await client.open()), call: { actor: 'ann' } };
    const id = work.keyring.names.keyedHash('actors', 'ann');
    client.calls.length = 0;
    return { site, client, work, id, key: classKey(client.layout, 'actors', id) };
  }

  it.each([
    { failure: full, before: 'delete', canJoin: true, joined: [true] },
    { failure: full, before: undefined, canJoin: true, joined: [] },
    { failure: full, before: 'delete', canJoin: false, joined: [] },
    { failure: busy, before: 'delete', canJoin: true, joined: [] },
  ] as const)('takes room that is kept for deletes before one, on a full disk: case %#', async (given) => {
    const { client, work } = await prepared();
    client.intercept((call, proceed) => (call.verb === 'put' ? Promise.reject(given.failure) : proceed()));
    const joined: unknown[] = [];
    const changeAll = async ({ forDeletes }: Changes) => {
      joined.push(forDeletes);
      return { etags: ['e' as ETag] };
    };
    const store = { ...work.tenant.store, ...(given.canJoin && { changeAll }) };
    const naming = nameActor(withTenant(work, { store }), given.before);
    if (given.joined.length > 0) await naming;
    else await expect(naming).rejects.toBe(given.failure);
    expect(joined).toEqual(given.joined);
    expect(client.calls.map(({ verb }) => verb)).toEqual(['put']);
  });

  it.each([
    [7, 'named'],
    [8, 'unavailable'],
  ])('is written at most eight times while others write and delete it: %i times', async (times, outcome) => {
    const { client, work } = await prepared();
    let left = times;
    client.intercept(async (call, proceed) =>
      call.verb === 'put' && left-- > 0 ? ({ conflict: 'exists' } as never) : proceed(),
    );
    const naming = nameActor(work).then(
      () => 'named',
      ({ code }: MemoryError) => code,
    );
    expect(await naming).toBe(outcome);
    expect(client.calls.filter(({ verb }) => verb === 'put')).toHaveLength(8);
  });

  it.each([
    [0, 2],
    [1, 3],
  ])('is written again %i ms beyond an age of seven days', async (beyond, puts) => {
    const { site, client, work } = await prepared();
    await nameActor(work);
    await site.time.pause(7 * DAY + beyond);
    await nameActor(work);
    expect(client.calls.filter(({ verb }) => verb === 'put')).toHaveLength(puts);
    expect(ACTOR_IN_USE_MS).toBe(14 * DAY);
  });

  it('is read by its id, and written again only as it was read', async () => {
    const { client, work, id, key } = await prepared();
    expect(await readActor(work, id)).toBeUndefined();
    await nameActor(work);
    const record = (await readActor(work, id)) ?? expect.unreachable('it was written');
    expect(record).toMatchObject({ id, actor: 'ann', writer: toBase64url(writerOf(work) ?? NO_ID) });
    await renewActor(work, record);
    const renewed = (await client.tenant.store.head(key))?.etag;
    expect(renewed).not.toBe(record.etag);
    await renewActor(work, record);
    expect((await client.tenant.store.head(key))?.etag).toBe(renewed);
    expect(await readActor(work, id)).toEqual({ ...record, etag: renewed });
  });

  it('is read once where its reader has a list of those that it has read', async () => {
    const { client, work, id } = await prepared();
    await nameActor(work);
    const read = new Set<string>();
    expect([...(await readActors(work, read)).values()]).toEqual(['ann']);
    expect([...read]).toEqual([id]);
    client.calls.length = 0;
    expect(await readActors(work, read)).toEqual(new Map());
    expect(client.calls.map(({ verb }) => verb)).toEqual(['list']);
  });

  it.each(['', 7, '\ud800', undefined])('holds no name such as %j', (actor) => {
    expect(() => decodeActor(encodeFields({ actor }))).toThrow(
      expect.objectContaining({ code: 'integrity' }),
    );
  });

  it('is of a text, and of nobody without one', async () => {
    const { client, work } = await prepared();
    await expect(nameActor({ ...work, call: { actor: '' } })).rejects.toThrow(/^actor must/);
    await nameActor({ ...work, call: {} });
    expect(client.calls).toEqual([]);
    expect(writerOf({ ...work, call: {} })).toBeUndefined();
  });
});
