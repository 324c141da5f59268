import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { fileKey, type ObjectKey } from '../../../src/format/object-keys.ts';
import { nextBound } from '../../../src/format/wrap.ts';
import {
  type ChangeResult,
  type Changes,
  type ETag,
  isTooLate,
  lateness,
  type ObjectStore,
  type SendBound,
} from '../../../src/store/port.ts';
import { confirmedChange } from '../../../src/tree/confirmed-change.ts';
import type { ConditionalWrite } from '../../../src/tree/confirmed-put.ts';
import { textWrite } from '../../../src/tree/create-file.ts';
import { identityOf } from '../../../src/tree/sightings.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { at, bytes, createSite, withTenant } from '../../stage/test-tree.ts';

type ChangeAll = NonNullable<ObjectStore['changeAll']>;
type ChangeOptions = Parameters<ChangeAll>[1];

const [A, B, C] = [at('/memories/a'), at('/memories/b'), at('/memories/c')];
const NEVER: SendBound = { isPast: () => false };
const ALWAYS: SendBound = { isPast: () => true };

/** A process that has read the file C, and its store, which makes several changes as one. */
async function start() {
  const site = await createSite();
  const client = await site.client();
  await client.create(C, 'c');
  const work = await client.open();
  const { changeAll } = site.base;
  if (changeAll === undefined) throw new Error('the store makes one change at a time');
  const sent: { readonly changes: Changes; readonly options: ChangeOptions }[] = [];
  const recorded: ChangeAll = (changes, options) => {
    sent.push({ changes, options });
    return changeAll(changes, options);
  };
  return { ...(await held(work, C)), site, client, work, changeAll: recorded, sent };
}

function keyOf(work: Work, path = A): ObjectKey {
  return fileKey(work.tenant.layout, work.keyring.names, path);
}

async function held(work: Work, path: typeof A) {
  const key = keyOf(work, path);
  const found = await work.tenant.store.get(key);
  if (typeof found !== 'object') throw new Error('there is no file');
  return { key, etag: found.etag, version: identityOf(found.body) };
}

function create(work: Work, path: typeof A, text = 'new'): ConditionalWrite {
  return { ...textWrite(work, path, bytes(text)).write, mode: 'create' };
}

/** The same work, whose sealed bytes may be sent until `sendBy` says so. */
function sealedUntil(work: Work, sendBy: SendBound, active = true) {
  const looks: unknown[] = [];
  const keyrings = {
    ...work.tenant.keyrings,
    sendBy: () => sendBy,
    look: async (request: unknown) => {
      looks.push(request);
      return active ? work.keyring : undefined;
    },
  };
  return { looks, work: withTenant(work, { keyrings }) };
}

const answering =
  (answer: ChangeResult): ChangeAll =>
  async () =>
    answer;

function tooLate(): never {
  throw lateness(ALWAYS);
}

describe('a change of several objects', () => {
  it('writes and deletes all of them by one request of the caller', async () => {
    const { client, work, changeAll, sent, key, etag } = await start();
    const { signal } = new AbortController();
    const writes = [create(work, A, 'one'), create(work, B, 'two')];
    const deletes = [{ key, ifMatch: etag }];
    const mine = { ...work, call: { signal } };
    expect(await confirmedChange(mine, changeAll, { writes, deletes, forDeletes: true })).toEqual([]);
    expect(await client.paths()).toEqual([A, B]);
    expect([await client.text(A), await client.text(B)]).toEqual(['one', 'two']);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      changes: {
        puts: [
          { key: keyOf(work, A), mode: 'create' },
          { key: keyOf(work, B), mode: 'create' },
        ],
        deletes,
        forDeletes: true,
      },
      options: { signal },
    });
    expect(sent[0]?.options?.sendBy?.isPast()).toBe(false);
  });

  it('is remembered: what was written as it is now, and what was deleted as gone', async () => {
    const { work, changeAll, key, etag, version } = await start();
    const { sightings, cache } = work.tenant;
    sightings.saw({ key, version, etag, since: sightings.begin() });
    cache.hold(key, { etag, body: bytes('held') });
    await confirmedChange(work, changeAll, { writes: [create(work, A)], deletes: [{ key, ifMatch: etag }] });
    expect(cache.find(key)).toBeUndefined();
    expect(sightings.isSuperseded({ key, version })).toBe(true);
    const written = await held(work, A);
    expect(sightings.knowsOther(written)).toBe(false);
    expect(sightings.knowsOther({ key: written.key, etag: 'another' as ETag })).toBe(true);
  });

  it('takes no notice of an ETag for which no PUT was sent', async () => {
    const { work, etag } = await start();
    const told = answering({ etags: [etag] });
    expect(await confirmedChange(work, told, { writes: [], deletes: [] })).toEqual([]);
  });

  it('answers the conditions that failed, and remembers only what was missing as gone', async () => {
    const { work, key, etag, version, site } = await start();
    const other = await (await site.client()).open();
    await site.client().then((client) => client.create(A, 'theirs'));
    const { sightings } = work.tenant;
    const there = await held(other, A);
    for (const seen of [{ key, version, etag }, there]) sightings.saw({ ...seen, since: sightings.begin() });
    const conflicts = [
      { key, conflict: 'missing' },
      { key: there.key, conflict: 'changed' },
      { key: keyOf(work, B), conflict: 'exists' },
    ] as const;
    const deletes = [{ key }, { key: there.key }];
    const writes = [create(work, B)];
    expect(await confirmedChange(work, answering({ conflicts }), { writes, deletes })).toBe(conflicts);
    expect(sightings.isSuperseded({ key, version })).toBe(true);
    expect(sightings.isSuperseded(there)).toBe(false);
    expect(sightings.knowsOther({ key: keyOf(work, B), etag })).toBe(false);
  });

  it('says nothing of a version that was seen while it was on its way', async () => {
    const { work, key, etag, version } = await start();
    const { sightings } = work.tenant;
    sightings.sawNothing({ key, since: sightings.begin() });
    const seen = { key: 'elsewhere' as ObjectKey, version, etag };
    const meanwhile: ChangeAll = async () => {
      sightings.saw({ ...seen, since: sightings.begin() });
      return { etags: [] };
    };
    await confirmedChange(work, meanwhile, { writes: [], deletes: [seen] });
    expect(sightings.isSuperseded(seen)).toBe(false);
  });

  it('seals bodies again that became too old, each bound later than before', async () => {
    const { client, work, changeAll } = await start();
    const write = create(work, A);
    const bounds: bigint[] = [];
    let sends = 0;
    const late: ChangeAll = async (...request) => (++sends < 8 ? tooLate() : changeAll(...request));
    const sealing: ConditionalWrite = {
      ...write,
      seal(stamp) {
        bounds.push(nextBound(stamp.clock, stamp.after));
        return write.seal(stamp);
      },
    };
    expect(await confirmedChange(work, late, { writes: [sealing], deletes: [] })).toEqual([]);
    expect(bounds).toHaveLength(8);
    for (const [nth, bound] of bounds.slice(1).entries()) expect(bound > (bounds[nth] ?? bound)).toBe(true);
    expect(await client.text(A)).toBe('new');
  });

  it('is not sent where eight bodies became too old', async () => {
    const { work } = await start();
    let sends = 0;
    const late: ChangeAll = async () => (++sends > 8 ? { etags: [] } : tooLate());
    const changing = confirmedChange(work, late, { writes: [create(work, A)], deletes: [] });
    await expect(changing).rejects.toSatisfy(isTooLate);
    expect(sends).toBe(8);
  });

  it.each([
    ['past the bound of the caller', ALWAYS, () => tooLate(), 'unavailable'],
    [
      'where it failed otherwise',
      NEVER,
      () => Promise.reject(new MemoryError('access_denied', 'no')),
      'access_denied',
    ],
    [
      'where it failed, and no bound was given',
      undefined,
      () => Promise.reject(new MemoryError('unavailable', 'down')),
      'unavailable',
    ],
  ] as const)('is sent once %s', async (_, sendBy, fail, code) => {
    const { work } = await start();
    let sends = 0;
    const failing: ChangeAll = async () => (++sends > 1 ? { etags: [] } : fail());
    const changing = confirmedChange(work, failing, { writes: [create(work, A)], deletes: [], sendBy });
    await expect(changing).rejects.toMatchObject({ code });
    expect(sends).toBe(1);
  });

  it('is sealed again where only its bodies are too old, and the bound of the caller has not passed', async () => {
    const { client, work, changeAll } = await start();
    let sends = 0;
    const once: ChangeAll = async (...request) => (++sends === 1 ? tooLate() : changeAll(...request));
    const writes = [create(work, A)];
    expect(await confirmedChange(work, once, { writes, deletes: [], sendBy: NEVER })).toEqual([]);
    expect(await client.text(A)).toBe('new');
  });

  it.each([
    [undefined, NEVER, false],
    [NEVER, NEVER, false],
    [ALWAYS, NEVER, true],
    [undefined, ALWAYS, true],
    [NEVER, ALWAYS, true],
  ])('may be sent until the first of all bounds (%#)', async (sendBy, ofBodies, isPast) => {
    const { work, changeAll } = await start();
    const bounds: (SendBound | undefined)[] = [];
    const patient: ChangeAll = (changes, options) => {
      bounds.push(options?.sendBy);
      return changeAll(changes, { sendBy: NEVER });
    };
    const writes = [create(work, A), create(work, B)];
    await confirmedChange(sealedUntil(work, ofBodies).work, patient, { writes, deletes: [], sendBy });
    expect(bounds.map((bound) => bound?.isPast())).toEqual([isPast]);
  });

  it('has no bound where it writes nothing and none is given', async () => {
    const { work, changeAll, sent, key } = await start();
    await confirmedChange(work, changeAll, { writes: [], deletes: [{ key }] });
    expect(sent[0]?.options?.sendBy?.isPast()).toBe(false);
  });

  it('looks at the keyring once for each body that is known too late to have landed', async () => {
    const { work, changeAll } = await start();
    const dressed = sealedUntil(work, ALWAYS);
    const patient: ChangeAll = (changes) => changeAll(changes, { sendBy: NEVER });
    const writes = [create(work, A), create(work, B)];
    expect(await confirmedChange(dressed.work, patient, { writes, deletes: [] })).toEqual([]);
    expect(dressed.looks).toHaveLength(2);
  });

  it('writes a body again whose key is no longer active, on the version that landed', async () => {
    const { client, work, changeAll } = await start();
    let isPast = true;
    const bound: SendBound = { isPast: () => isPast };
    const dressed = sealedUntil(work, bound, false);
    const first: ChangeAll = (changes) => changeAll(changes, { sendBy: NEVER });
    client.calls.length = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put') isPast = false;
      return proceed();
    });
    await confirmedChange(dressed.work, first, { writes: [create(work, A)], deletes: [] });
    expect(client.calls).toMatchObject([{ verb: 'put', key: keyOf(work, A) }]);
    expect(await client.text(A)).toBe('new');
  });
});
