import { deepStrictEqual, equal, notEqual, ok, rejects } from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { ObjectKey } from '../../format/object-keys.ts';
import {
  type Changes,
  type DeleteTarget,
  type ETag,
  isTooLate,
  type ListOptions,
  type ListPage,
  type ObjectStore,
  type PutMode,
  type SendBound,
  type WriteResult,
} from '../../store/port.ts';
import { CASE_MS, type ContractCase, failsWith, sameBytes, sameFields } from './contract.ts';

const MIB = 1024 * 1024;
const BODY: Uint8Array = Uint8Array.of(1, 2, 3);
const RACERS = 20;
/** The number of objects that are written at once where many are. */
const AT_ONCE = 32;
/** The most creates that race at once: each may wait seconds for a delete, and a busy server must answer in time. */
const RACES_AT_ONCE = 10;

/** A store's differences from what every store does. */
export interface StoreConformance {
  /** The number of races of a delete with an edit, and with a create; default 40. */
  readonly rounds?: number;
  /** The store is for reading: that it writes correctly is not judged, though the cases write what they read. */
  readonly readingOnly?: true;
  /**
   * Promises that the server behind the store does not keep; it is not judged by them. A memory is safe only on a store
   * that lacks none.
   */
  readonly lacks?: readonly StoreLack[];
  /** The store has `changeAll`, which is judged; one without this must not have it. */
  readonly changesAll?: true;
}

/**
 * `atomicity`: it judges a condition first and executes the request then. `conditions on parts`: it judges none where a
 * body comes in parts. `speed`: a thousand objects take it half a minute. `absence of what was deleted`: it refuses to
 * create an object where one was deleted, of which the store tells, and takes an edit of that one.
 */
export type StoreLack = 'atomicity' | 'conditions on parts' | 'speed' | 'absence of what was deleted';

/**
 * Lists what every object store promises, whatever lies behind it; the promises are those of the type `ObjectStore`.
 * Each case works below a random prefix of its own, `conformance/…`, and removes what it wrote there; one writes
 * `!first-…`. The store is opened before, and closed afterwards, by the caller. All cases together send some 2,000
 * requests, and write 30 MiB.
 */
export function objectStoreContract(options: StoreConformance = {}): readonly ContractCase<ObjectStore>[] {
  const rows = [
    ...READING,
    ...(options.readingOnly === true ? [] : WRITING),
    changing(options),
    ...(options.changesAll === true ? CHANGING : []),
    ...LISTING,
  ];
  return rows
    .filter(({ unless = [] }) => !unless.some((lack) => options.lacks?.includes(lack)))
    .map(({ name, withinMs = CASE_MS, work }) => ({
      name,
      withinMs,
      run: (store) => runIn(store, work, options),
    }));
}

/** A case as it is written down here. */
interface StoreCase {
  readonly name: string;
  /** A store that lacks one of these is not judged by this case. */
  readonly unless?: readonly StoreLack[];
  readonly withinMs?: number;
  readonly work: (place: CasePlace, options: StoreConformance) => Promise<void>;
}

/** A store, seen from the place in it where one case works. */
interface CasePlace {
  readonly store: ObjectStore;
  /** Makes another prefix at each call, so that no key is also the prefix of another. */
  freshPrefix(): string;
  freshKey(): ObjectKey;
  create(key: ObjectKey, body: Uint8Array): Promise<ETag>;
  bodyOf(key: ObjectKey): Promise<Uint8Array | undefined>;
  pagesOf(request: ListOptions): Promise<readonly ListPage[]>;
  /** The keys without the prefix. */
  keysBelow(request: ListOptions): Promise<readonly string[]>;
  fill(under: string, names: readonly string[]): Promise<void>;
}

async function runIn(store: ObjectStore, work: StoreCase['work'], options: StoreConformance): Promise<void> {
  const prefix = `conformance/${randomBytes(8).toString('hex')}/`;
  const place = placeBelow(prefix, store);
  const clear = async (): Promise<void> => {
    const targets = (await place.pagesOf({ prefix })).flatMap((page) => page.objects);
    await store.delete(targets.map(({ key }) => ({ key })));
  };
  try {
    await work(place, options);
  } catch (error) {
    await clear().catch(() => {});
    throw error;
  }
  await clear();
}

function placeBelow(prefix: string, store: ObjectStore): CasePlace {
  let counter = 0;
  const place: CasePlace = {
    store,
    freshPrefix: () => `${prefix}${counter++}/`,
    freshKey: () => `${place.freshPrefix()}object` as ObjectKey,
    create: async (key, body) => etagOf(await store.put(key, body, { mode: 'create' })),
    async bodyOf(key) {
      const stored = await store.get(key);
      return typeof stored === 'object' ? stored.body : undefined;
    },
    async pagesOf(request) {
      const pages: ListPage[] = [];
      for await (const page of store.list(request)) pages.push(page);
      return pages;
    },
    keysBelow: async (request) =>
      (await place.pagesOf(request)).flatMap((page) =>
        page.objects.map((object) => object.key.slice(request.prefix.length)),
      ),
    async fill(under, names) {
      await inBatches(AT_ONCE, names, (name) =>
        place.create(`${under}${name}` as ObjectKey, bytesOf(`content of ${name}`)),
      );
    },
  };
  return place;
}

const READING: readonly StoreCase[] = [
  {
    name: 'get and head answer undefined for an absent object',
    async work({ store, freshKey }) {
      const key = freshKey();
      equal(await store.get(key), undefined);
      equal(await store.head(key), undefined);
    },
  },
  {
    name: 'get and head return the stored bytes, their size, one ETag and the times of the server',
    async work({ store, freshKey, create }) {
      const key = freshKey();
      const body = randomBytes(3000);
      const etag = await create(key, body);
      const stored = await store.get(key);
      if (typeof stored !== 'object') throw new Error('the object is missing');
      const { body: got, ...meta } = stored;
      sameBytes(got, body);
      sameFields(meta, { etag, size: 3000 });
      sameFields(await store.head(key), { etag, size: 3000, lastModified: meta.lastModified });
      const age = meta.servedAt - meta.lastModified;
      ok(age > -2000 && age < CASE_MS, `the object is ${age} ms old by the clock of the server`);
    },
  },
  {
    name: 'get and head return an empty object',
    async work({ store, freshKey, create }) {
      const key = freshKey();
      const etag = await create(key, new Uint8Array(0));
      const stored = await store.get(key);
      sameFields(stored, { etag, size: 0 });
      sameBytes(typeof stored === 'object' ? stored.body : undefined, new Uint8Array(0));
      sameFields(await store.head(key), { etag, size: 0 });
    },
  },
  {
    name: 'get refuses an object above maxBytes and returns one of exactly that size',
    async work({ store, freshKey, create }) {
      const key = freshKey();
      await create(key, randomBytes(5000));
      await failsWith(store.get(key, { maxBytes: 4999 }), {
        code: 'limit_exceeded',
        details: { limit: 'object_bytes', value: 5000, max: 4999 },
      });
      sameFields(await store.get(key, { maxBytes: 5000 }), { size: 5000 });
    },
  },
  {
    name: 'get says that a version which the caller has is there still, whatever its size, and returns any other one',
    async work({ store, freshKey, create }) {
      const key = freshKey();
      const etag = await create(key, bytesOf('first'));
      equal(await store.get(key, { ifNoneMatch: etag }), 'not_modified');
      equal(await store.get(key, { ifNoneMatch: etag, maxBytes: 1 }), 'not_modified');
      const other = await create(freshKey(), bytesOf('other'));
      const stored = await store.get(key, { ifNoneMatch: other });
      sameFields(stored, { etag });
      sameBytes(typeof stored === 'object' ? stored.body : undefined, bytesOf('first'));
      equal(await store.get(freshKey(), { ifNoneMatch: etag }), undefined);
    },
  },
  {
    name: 'get hands out bytes of which there is no other holder',
    async work({ freshKey, create, bodyOf }) {
      const key = freshKey();
      const body = bytesOf('as written');
      await create(key, body);
      body.fill(0);
      (await bodyOf(key))?.fill(0);
      sameBytes(await bodyOf(key), bytesOf('as written'));
    },
  },
  {
    name: 'a key with special characters is kept apart from others',
    async work({ store, freshPrefix, fill, bodyOf, keysBelow, pagesOf }) {
      const under = freshPrefix();
      const names = [
        'a b',
        'a%20b',
        'a+b',
        'a?b',
        'a#b',
        'a&b',
        'a=b',
        'a%2Fb',
        '<"\'>',
        'a;b',
        '\u{e9}\u{1f600}',
        'e\u{301}',
      ];
      await fill(under, names);
      for (const name of names) {
        sameBytes(await bodyOf(`${under}${name}` as ObjectKey), bytesOf(`content of ${name}`));
      }
      deepStrictEqual([...(await keysBelow({ prefix: under }))].sort(), [...names].sort());
      const objects = (await pagesOf({ prefix: under })).flatMap((page) => page.objects);
      const [first, ...rest] = objects.map(({ key, etag }) => ({ key, ifMatch: etag }));
      if (first === undefined) throw new Error('nothing was listed');
      deepStrictEqual(await store.delete([first]), []);
      deepStrictEqual(await store.delete(rest), []);
      deepStrictEqual(await keysBelow({ prefix: under }), []);
    },
  },
  {
    name: 'a call that is cancelled before it begins does nothing',
    async work({ store, freshKey, create, bodyOf, pagesOf }) {
      const key = freshKey();
      const signal = AbortSignal.abort();
      const aborted = { code: 'aborted' };
      await failsWith(store.put(key, bytesOf('x'), { mode: 'create', signal }), aborted);
      equal(await store.head(key), undefined);
      await create(key, bytesOf('x'));
      await failsWith(store.get(key, { signal }), aborted);
      await failsWith(store.head(key, { signal }), aborted);
      await failsWith(store.delete([{ key }], { signal }), aborted);
      await failsWith(pagesOf({ prefix: key, signal }), aborted);
      sameBytes(await bodyOf(key), bytesOf('x'));
    },
  },
];

const WRITING: readonly StoreCase[] = [
  {
    name: 'put makes a version that is another one to a reader of the version before',
    async work({ store, freshKey, create }) {
      const key = freshKey();
      const first = await create(key, bytesOf('first'));
      const written = await store.put(key, bytesOf('second'), { mode: { ifMatch: first } });
      const stored = await store.get(key, { ifNoneMatch: first });
      sameBytes(typeof stored === 'object' ? stored.body : undefined, bytesOf('second'));
      equal(await store.get(key, { ifNoneMatch: etagOf(written) }), 'not_modified');
      await store.delete([{ key }]);
      equal(await store.get(key, { ifNoneMatch: etagOf(written) }), undefined);
    },
  },
  {
    name: 'put creates where nothing is and refuses where something is',
    async work({ store, freshKey, create, bodyOf }) {
      const key = freshKey();
      await create(key, bytesOf('first'));
      const again = await store.put(key, bytesOf('second'), { mode: 'create' });
      deepStrictEqual(again, { conflict: 'exists' });
      sameBytes(await bodyOf(key), bytesOf('first'));
    },
  },
  {
    name: 'put overwrites whatever is there',
    async work({ store, freshKey, bodyOf }) {
      const key = freshKey();
      const first = etagOf(await store.put(key, bytesOf('first'), { mode: 'overwrite' }));
      const second = etagOf(await store.put(key, bytesOf('second'), { mode: 'overwrite' }));
      notEqual(second, first);
      sameBytes(await bodyOf(key), bytesOf('second'));
    },
  },
  {
    name: 'put replaces exactly the version of an if-match',
    async work({ store, freshKey, create, bodyOf }) {
      const key = freshKey();
      const first = await create(key, bytesOf('first'));
      const second = etagOf(await store.put(key, bytesOf('second'), { mode: { ifMatch: first } }));
      notEqual(second, first);
      const stale = await store.put(key, bytesOf('third'), { mode: { ifMatch: first } });
      deepStrictEqual(stale, { conflict: 'changed' });
      sameBytes(await bodyOf(key), bytesOf('second'));
    },
  },
  {
    name: 'put never turns an if-match into a create',
    async work({ store, freshKey, create, bodyOf }, { lacks }) {
      const key = freshKey();
      const etag = await create(key, bytesOf('first'));
      deepStrictEqual(await store.delete([{ key }]), []);
      const late = await store.put(key, bytesOf('second'), { mode: { ifMatch: etag } });
      if (lacks?.includes('absence of what was deleted')) return ok('etag' in late);
      deepStrictEqual(late, { conflict: 'missing' });
      equal(await bodyOf(key), undefined);
    },
  },
  {
    name: 'put lets exactly one of many racing creates win',
    unless: ['atomicity'],
    async work({ store, freshKey, bodyOf }) {
      const key = freshKey();
      const bodies = Array.from({ length: RACERS }, () => randomBytes(500));
      const results = await Promise.all(bodies.map((body) => store.put(key, body, { mode: 'create' })));
      sameBytes(await bodyOf(key), onlyWinner(bodies, results));
      const losers = results.filter((result) => 'conflict' in result);
      deepStrictEqual(new Set(losers.map(({ conflict }) => conflict)), new Set(['exists']));
    },
  },
  {
    name: 'put lets exactly one of many racing if-matches win',
    unless: ['atomicity'],
    async work({ store, freshKey, create, bodyOf }) {
      const key = freshKey();
      const ifMatch = await create(key, bytesOf('base'));
      const bodies = Array.from({ length: RACERS }, () => randomBytes(500));
      const results = await Promise.all(bodies.map((body) => store.put(key, body, { mode: { ifMatch } })));
      sameBytes(await bodyOf(key), onlyWinner(bodies, results));
    },
  },
  {
    name: 'put keeps every edit of racing read-modify-write loops',
    unless: ['atomicity'],
    async work({ store, freshKey, create, bodyOf }) {
      const key = freshKey();
      await create(key, bytesOf('0'));
      const increment = async (_: unknown, racer: number): Promise<void> => {
        for (;;) {
          const stored = await store.get(key);
          if (typeof stored !== 'object') throw new Error('the counter vanished');
          const value = Number(new TextDecoder().decode(stored.body)) + 1;
          // Each racer has a length of its own: on S3 equal contents have an equal ETag.
          const body = bytesOf(`${value}${' '.repeat(100 + 500 * racer)}`);
          if ('etag' in (await store.put(key, body, { mode: { ifMatch: stored.etag } }))) return;
        }
      };
      await Promise.all(Array.from({ length: 10 }, increment));
      equal(Number(new TextDecoder().decode(await bodyOf(key))), 10);
    },
  },
  {
    name: 'put keeps the conditions for objects above 5 MiB',
    unless: ['conditions on parts'],
    async work({ store, freshKey, create, bodyOf }) {
      const key = freshKey();
      const first = randomBytes(6 * MIB);
      const second = randomBytes(5 * MIB + 1);
      const etag = await create(key, first);
      sameFields(await store.put(key, second, { mode: 'create' }), { conflict: 'exists' });
      sameBytes(await bodyOf(key), first);
      const next = etagOf(await store.put(key, second, { mode: { ifMatch: etag } }));
      sameFields(await store.put(key, first, { mode: { ifMatch: etag } }), { conflict: 'changed' });
      sameFields(await store.head(key), { etag: next });
      sameBytes(await bodyOf(key), second);
      const gone = freshKey();
      sameFields(await store.put(gone, second, { mode: { ifMatch: etag } }), { conflict: 'missing' });
      equal(await store.head(gone), undefined);
    },
  },
  {
    name: 'delete removes an object, and is content when it is already gone',
    async work({ store, freshKey, create }) {
      const key = freshKey();
      await create(key, bytesOf('x'));
      deepStrictEqual(await store.delete([{ key }]), []);
      equal(await store.head(key), undefined);
      deepStrictEqual(await store.delete([{ key }]), []);
      deepStrictEqual(await store.delete([]), []);
    },
  },
  {
    name: 'delete with if-match removes that version only',
    async work({ store, freshKey, create, bodyOf }) {
      const key = freshKey();
      const first = await create(key, bytesOf('first'));
      const second = etagOf(await store.put(key, bytesOf('second'), { mode: { ifMatch: first } }));
      deepStrictEqual(await store.delete([{ key, ifMatch: first }]), [{ key, conflict: 'changed' }]);
      sameBytes(await bodyOf(key), bytesOf('second'));
      deepStrictEqual(await store.delete([{ key, ifMatch: second }]), []);
      equal(await store.head(key), undefined);
      deepStrictEqual(await store.delete([{ key, ifMatch: second }]), [{ key, conflict: 'missing' }]);
    },
  },
  {
    name: 'delete leaves the place free for a create',
    async work({ store, freshKey, create, bodyOf }, { lacks }) {
      const key = freshKey();
      const first = await create(key, bytesOf('first'));
      deepStrictEqual(await store.delete([{ key, ifMatch: first }]), []);
      if (lacks?.includes('absence of what was deleted')) {
        return rejects(create(key, bytesOf('second')), (error) => {
          sameFields(error, { code: 'misconfigured' });
          ok(String(error).includes('refuses to create an object where it shows none'), String(error));
          return true;
        });
      }
      await create(key, bytesOf('second'));
      sameBytes(await bodyOf(key), bytesOf('second'));
    },
  },
  {
    name: 'delete judges every target of a batch by itself',
    async work({ store, freshPrefix, create, keysBelow }) {
      const under = freshPrefix();
      const kept = `${under}kept` as ObjectKey;
      const stale = await create(kept, bytesOf('first'));
      const current = etagOf(await store.put(kept, bytesOf('second'), { mode: { ifMatch: stale } }));
      const matching = `${under}matching` as ObjectKey;
      const plain = `${under}plain` as ObjectKey;
      const ifMatch = await create(matching, bytesOf('matching'));
      await create(plain, bytesOf('plain'));
      const missing = `${under}missing` as ObjectKey;
      const failures = await store.delete([
        { key: kept, ifMatch: stale },
        { key: matching, ifMatch },
        { key: plain },
        { key: missing, ifMatch: current },
      ]);
      deepStrictEqual(
        [...failures].sort((a, b) => (a.key < b.key ? -1 : 1)),
        [
          { key: kept, conflict: 'changed' },
          { key: missing, conflict: 'missing' },
        ],
      );
      deepStrictEqual(await keysBelow({ prefix: under }), ['kept']);
    },
  },
  {
    name: 'delete races an edit with the same if-match, and one of the two happens',
    unless: ['atomicity'],
    async work({ store, freshKey, create, bodyOf }, { rounds = 40 }) {
      const race = async (): Promise<void> => {
        const key = freshKey();
        const ifMatch = await create(key, bytesOf('base'));
        const [edited, failures] = await Promise.all([
          store.put(key, bytesOf('edited'), { mode: { ifMatch } }),
          store.delete([{ key, ifMatch }]),
        ]);
        const [wasEdited, wasDeleted] = ['etag' in edited, failures.length === 0];
        notEqual(wasEdited, wasDeleted, `edited: ${wasEdited}, deleted: ${wasDeleted}`);
        const left = await bodyOf(key);
        if (wasEdited) sameBytes(left, bytesOf('edited'));
        else equal(left, undefined);
      };
      await Promise.all(Array.from({ length: rounds }, race));
    },
  },
  {
    name: 'delete races a create, and loses no acknowledged create',
    unless: ['atomicity', 'absence of what was deleted'],
    async work({ store, freshKey, create, bodyOf }, { rounds = 40 }) {
      const race = async (): Promise<void> => {
        const key = freshKey();
        const ifMatch = await create(key, bytesOf('base'));
        const [created, failures] = await Promise.all([
          store.put(key, bytesOf('created'), { mode: 'create' }),
          store.delete([{ key, ifMatch }]),
        ]);
        deepStrictEqual(failures, []);
        const left = await bodyOf(key);
        if ('etag' in created) sameBytes(left, bytesOf('created'));
        else equal(left, undefined);
      };
      await inBatches(RACES_AT_ONCE, Array.from({ length: rounds }), race);
    },
  },
  {
    name: 'a write that is to be sent by a moment is not sent once that is over, and says so',
    async work({ store, freshKey, create, bodyOf }) {
      const key = freshKey();
      const late = { sendBy: { isPast: () => true } };
      await rejects(store.put(key, BODY, { mode: 'create', ...late }), isTooLate);
      equal(await bodyOf(key), undefined);
      const ifMatch = await create(key, BODY);
      await rejects(store.put(key, BODY, { mode: { ifMatch }, ...late }), isTooLate);
      equal((await store.head(key))?.etag, ifMatch);
    },
  },
  {
    name: 'a write that is to be sent by a moment is sent before that',
    async work({ store, freshKey, bodyOf }) {
      const key = freshKey();
      const soon = { sendBy: { isPast: () => false } };
      const put = await store.put(key, BODY, { mode: 'create', ...soon });
      sameBytes(await bodyOf(key), BODY);
      deepStrictEqual(await store.delete([{ key, ifMatch: etagOf(put) }], soon), []);
      equal(await bodyOf(key), undefined);
    },
  },
];

function changing({ changesAll }: StoreConformance): StoreCase {
  return {
    name: `the store ${changesAll === true ? 'makes' : 'does not promise to make'} several changes as one`,
    work: async ({ store }) => equal(store.changeAll !== undefined, changesAll === true),
  };
}

const CHANGING: readonly StoreCase[] = [
  {
    name: 'several changes as one are all made, and the ETags are those of the puts in their order',
    async work({ store, freshKey, create, bodyOf }) {
      const [gone, replaced, created] = [freshKey(), freshKey(), freshKey()];
      const ifMatch = await create(gone, bytesOf('gone'));
      const base = await create(replaced, bytesOf('base'));
      const puts = [putting(created, 'created'), putting(replaced, 'replaced', { ifMatch: base })];
      const result = await change(store, { puts, deletes: [{ key: gone, ifMatch }] });
      if (result === undefined || 'conflicts' in result) throw new Error('nothing was changed');
      equal(await store.get(created, { ifNoneMatch: result.etags[0] }), 'not_modified');
      equal(await store.get(replaced, { ifNoneMatch: result.etags[1] }), 'not_modified');
      sameBytes(await bodyOf(replaced), bytesOf('replaced'));
      equal(await store.head(gone), undefined);
      equal(result.etags.length, 2);
    },
  },
  {
    name: 'several changes as one are none of them made where conditions fail, and each of these is named',
    async work({ store, freshKey, create }) {
      const [there, changed, missing, free] = [freshKey(), freshKey(), freshKey(), freshKey()];
      const first = await create(there, bytesOf('there'));
      const stale = await create(changed, bytesOf('first'));
      const now = await store.put(changed, bytesOf('second'), { mode: { ifMatch: stale } });
      const result = await change(store, {
        puts: [putting(free, 'new'), putting(there, 'again'), putting(missing, 'late', { ifMatch: first })],
        deletes: [{ key: changed, ifMatch: stale }],
      });
      deepStrictEqual(result, {
        conflicts: [
          { key: there, conflict: 'exists' },
          { key: missing, conflict: 'missing' },
          { key: changed, conflict: 'changed' },
        ],
      });
      equal(await store.head(free), undefined);
      sameFields(await store.head(there), { etag: first });
      sameFields(await store.head(changed), { etag: etagOf(now) });
    },
  },
  {
    name: 'several changes as one are none of them made past the bound, and one that failed is a conflict first',
    async work({ store, freshKey, create }) {
      const [gone, created] = [freshKey(), freshKey()];
      const ifMatch = await create(gone, bytesOf('gone'));
      const changes = { puts: [putting(created, 'created')], deletes: [{ key: gone, ifMatch }] };
      const past = { sendBy: { isPast: () => true } };
      await rejects(change(store, changes, past), isTooLate);
      deepStrictEqual([await store.head(created), (await store.head(gone))?.etag], [undefined, ifMatch]);
      const refused = await change(store, { puts: [putting(gone, 'again')], deletes: [] }, past);
      deepStrictEqual(refused, { conflicts: [{ key: gone, conflict: 'exists' }] });
    },
  },
  {
    name: 'several changes as one delete without a condition what is there and what is not',
    async work({ store, freshKey, create }) {
      const [there, missing] = [freshKey(), freshKey()];
      await create(there, bytesOf('there'));
      const deletes = [{ key: there }, { key: missing }];
      deepStrictEqual(await change(store, { puts: [], deletes }), { etags: [] });
      equal(await store.head(there), undefined);
    },
  },
  {
    name: 'several changes as one are seen by no reader in part',
    async work({ store, freshPrefix, create, keysBelow }) {
      const under = freshPrefix();
      let [from, to] = [`${under}one` as ObjectKey, `${under}other` as ObjectKey];
      let ifMatch = await create(from, bytesOf('0'));
      const seen: number[] = [];
      let isOver = false;
      const watching = (async () => {
        while (!isOver) seen.push((await keysBelow({ prefix: under })).length);
      })();
      for (let round = 1; round <= RACERS; round++) {
        const puts = [putting(to, String(round))];
        const result = await change(store, { puts, deletes: [{ key: from, ifMatch }] });
        if (result === undefined || 'conflicts' in result) throw new Error('nothing was changed');
        ifMatch = result.etags[0] ?? ifMatch;
        [from, to] = [to, from];
      }
      isOver = true;
      await watching;
      deepStrictEqual(new Set(seen), new Set([1]));
    },
  },
  {
    name: 'several changes as one, made by many at once on the same version, are made by one',
    async work({ store, freshKey, create }) {
      const key = freshKey();
      const ifMatch = await create(key, bytesOf('base'));
      const kept = Array.from({ length: RACERS }, () => freshKey());
      const results = await Promise.all(
        kept.map((copy) => change(store, { puts: [putting(copy, 'base')], deletes: [{ key, ifMatch }] })),
      );
      const made = results.map((result) => result !== undefined && 'etags' in result);
      equal(made.filter(Boolean).length, 1);
      const there = await Promise.all(kept.map(async (copy) => (await store.head(copy)) !== undefined));
      deepStrictEqual(there, made);
    },
  },
];

const LISTING: readonly StoreCase[] = [
  {
    name: 'list is one empty page below a prefix that holds nothing',
    async work({ freshPrefix, pagesOf }) {
      const pages = await pagesOf({ prefix: freshPrefix() });
      deepStrictEqual(
        pages.map(({ objects }) => objects),
        [[]],
      );
    },
  },
  {
    name: 'list describes each object as get does',
    async work({ store, freshPrefix, create, pagesOf }) {
      const under = freshPrefix();
      const key = `${under}one` as ObjectKey;
      const etag = await create(key, randomBytes(777));
      const [page] = await pagesOf({ prefix: under });
      const head = await store.head(key);
      const [listed, ...more] = page?.objects ?? [];
      equal(more.length, 0);
      sameFields(listed, { key, etag, size: 777 });
      ok(Math.abs((listed?.lastModified ?? 0) - (head?.lastModified ?? 0)) < 1000, 'another lastModified');
      ok(Math.abs((page?.servedAt ?? 0) - (head?.servedAt ?? 0)) < CASE_MS, 'another servedAt');
    },
  },
  {
    name: 'list begins with the first key there is when no prefix is asked for',
    async work({ store, create, pagesOf }) {
      // Further down others may have written in between.
      const key = `!first-${randomBytes(4).toString('hex')}` as ObjectKey;
      await create(key, randomBytes(7));
      try {
        const [page] = await pagesOf({ prefix: '' });
        ok(
          page?.objects.some((object) => object.key === key),
          'it is not among the first keys',
        );
      } finally {
        await store.delete([{ key }]);
      }
    },
  },
  {
    name: 'list orders keys by their UTF-8 bytes',
    async work({ freshPrefix, fill, keysBelow }) {
      const under = freshPrefix();
      const names = ['Z', 'a', 'a-b', 'd-b', 'd.b', 'd/x', 'd0', 'e', '\u{e9}', '\u{ff5e}', '\u{1f600}'];
      await fill(under, [...names].reverse());
      deepStrictEqual(await keysBelow({ prefix: under }), names);
    },
  },
  {
    name: 'list takes the prefix as text, not as a directory',
    async work({ freshPrefix, fill, keysBelow }) {
      const under = freshPrefix();
      await fill(under, ['note', 'notebook', 'other']);
      deepStrictEqual(await keysBelow({ prefix: `${under}note` }), ['', 'book']);
    },
  },
  {
    name: 'list starts after a key, whether it exists or not',
    async work({ freshPrefix, fill, keysBelow }) {
      const under = freshPrefix();
      await fill(under, ['a', 'b', 'c', '\u{ff5e}', '\u{1f600}']);
      const keysAfter = (startAfter: string): Promise<readonly string[]> =>
        keysBelow({ prefix: under, startAfter: `${under}${startAfter}` });
      deepStrictEqual(await keysAfter('b'), ['c', '\u{ff5e}', '\u{1f600}']);
      deepStrictEqual(await keysAfter('bb'), ['c', '\u{ff5e}', '\u{1f600}']);
      deepStrictEqual(await keysAfter('\u{ff5e}'), ['\u{1f600}']);
      deepStrictEqual(await keysAfter('\u{1f600}'), []);
      equal((await keysBelow({ prefix: under, startAfter: '!' })).length, 5);
    },
  },
  {
    name: 'list cuts pages at maxKeys',
    async work({ freshPrefix, fill, pagesOf }) {
      const under = freshPrefix();
      const names = ['a', 'b/1', 'b/2', 'c', 'd/1', 'e'];
      await fill(under, names);
      const pages = await pagesOf({ prefix: under, maxKeys: 4 });
      ok(pages.length >= 2, 'all came on one page');
      for (const { objects } of pages) ok(objects.length <= 4, `a page has ${objects.length} objects`);
      const listed = pages.flatMap(({ objects }) => objects.map(({ key }) => key.slice(under.length)));
      deepStrictEqual(listed, names);
    },
  },
  {
    name: 'list asks for no page the caller does not want',
    async work({ store, freshPrefix, fill }) {
      const under = freshPrefix();
      await fill(under, ['a', 'b', 'c']);
      for await (const page of store.list({ prefix: under, maxKeys: 1 })) {
        equal(page.objects.length, 1);
        break;
      }
    },
  },
  {
    name: 'list pages through more than 1,000 objects, which one delete removes',
    unless: ['speed'],
    withinMs: 4 * CASE_MS,
    async work({ store, freshPrefix, fill, keysBelow, pagesOf }) {
      const under = freshPrefix();
      const names = Array.from({ length: 1001 }, (_, i) => `${String(i).padStart(4, '0')}`);
      await fill(under, names);
      const pages = await pagesOf({ prefix: under });
      deepStrictEqual(
        pages.map((page) => page.objects.length),
        [1000, 1],
      );
      const objects = pages.flatMap((page) => page.objects);
      deepStrictEqual(
        objects.map(({ key }) => key.slice(under.length)),
        names,
      );
      deepStrictEqual(await keysBelow({ prefix: under, startAfter: `${under}0998` }), ['0999', '1000']);

      const [edited] = objects;
      if (edited === undefined) throw new Error('nothing was listed');
      await store.put(edited.key, bytesOf('newer'), { mode: { ifMatch: edited.etag } });
      const targets: DeleteTarget[] = objects.map(({ key, etag }) => ({ key, ifMatch: etag }));
      deepStrictEqual(await store.delete(targets), [{ key: edited.key, conflict: 'changed' }]);
      deepStrictEqual(await keysBelow({ prefix: under }), ['0000']);
    },
  },
];

/** Does the work for each item, some at a time. */
async function inBatches<T>(
  size: number,
  all: readonly T[],
  work: (each: T) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < all.length; at += size) await Promise.all(all.slice(at, at + size).map(work));
}

async function change(store: ObjectStore, changes: Changes, request?: { readonly sendBy?: SendBound }) {
  return store.changeAll?.(changes, request);
}

function putting(key: ObjectKey, body: string, mode: PutMode = 'create') {
  return { key, mode, body: bytesOf(body) };
}

/** Finds the body whose write was taken, of which there must be exactly one. */
function onlyWinner(bodies: readonly Uint8Array[], results: readonly WriteResult[]): Uint8Array {
  const winners = bodies.filter((_, at) => 'etag' in (results[at] ?? {}));
  const [winner] = winners;
  equal(winners.length, 1);
  return winner ?? new Uint8Array(0);
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function etagOf(result: WriteResult): ETag {
  if (!('etag' in result)) throw new Error(`the write met a conflict: ${result.conflict}`);
  return result.etag;
}
