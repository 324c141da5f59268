import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../src/format/object-keys.ts';
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
} from '../../src/store/port.ts';

const MIB = 1024 * 1024;
const BODY: Uint8Array = Uint8Array.of(1, 2, 3);
const RACERS = 20;
const SLOW = 60_000;

export interface Conformance {
  /** Rounds of the delete-against-edit race. */
  readonly rounds?: number;
  /** The store is for reading: its writing half is the test's own and is not judged. */
  readonly readingOnly?: true;
  /** What the server behind the store does not keep, and is not judged by. */
  readonly lacks?: readonly Lack[];
  /** The store makes several changes as one; one that does not must not seem to. */
  readonly changesAll?: true;
}

/**
 * `atomicity`: it judges a condition first and executes the request then. `conditions on parts`: it judges none where a
 * body comes in parts. `speed`: a thousand objects take it half a minute. `absence of what was
 * deleted`: it refuses to create an object where one was deleted, of which the store tells, and takes an edit of that one.
 */
type Lack = 'atomicity' | 'conditions on parts' | 'speed' | 'absence of what was deleted';

/**
 * What every object store keeps, whatever lies behind it. `open` is called once; every test works below a random
 * prefix of its own, and no key is also the prefix of another.
 */
export function describeObjectStore(
  name: string,
  open: () => ObjectStore | Promise<ObjectStore>,
  options: Conformance = {},
): void {
  describe(`${name} as an object store`, () => {
    let store: ObjectStore;
    let prefix: string;

    beforeAll(async () => {
      store = await open();
      prefix = `conformance/${randomBytes(8).toString('hex')}/`;
    }, SLOW);

    afterAll(async () => {
      const targets = (await pagesOf({ prefix })).flatMap((page) => page.objects);
      await store.delete(targets.map(({ key }) => ({ key })));
      await store[Symbol.asyncDispose]();
    }, SLOW);

    const describeWriting = options.readingOnly === true ? () => {} : describe;
    const itUnless = (...lacks: readonly Lack[]): typeof it =>
      lacks.some((lack) => options.lacks?.includes(lack)) ? ((() => {}) as unknown as typeof it) : it;

    let counter = 0;
    const freshPrefix = (): string => `${prefix}${counter++}/`;
    const freshKey = (): ObjectKey => `${freshPrefix()}object` as ObjectKey;

    const create = async (key: ObjectKey, body: Uint8Array): Promise<ETag> =>
      etagOf(await store.put(key, body, { mode: 'create' }));

    const bodyOf = async (key: ObjectKey): Promise<Uint8Array | undefined> => {
      const stored = await store.get(key);
      return typeof stored === 'object' ? stored.body : undefined;
    };

    const pagesOf = async (request: ListOptions): Promise<readonly ListPage[]> => {
      const pages: ListPage[] = [];
      for await (const page of store.list(request)) pages.push(page);
      return pages;
    };

    const keysBelow = async (request: ListOptions): Promise<readonly string[]> =>
      (await pagesOf(request)).flatMap((page) =>
        page.objects.map((object) => object.key.slice(request.prefix.length)),
      );

    const fill = async (under: string, names: readonly string[]): Promise<void> => {
      for (let at = 0; at < names.length; at += 32) {
        const batch = names.slice(at, at + 32);
        await Promise.all(batch.map((n) => create(`${under}${n}` as ObjectKey, bytesOf(`content of ${n}`))));
      }
    };

    describe('get and head', () => {
      it('answer undefined for an absent object', async () => {
        const key = freshKey();
        expect(await store.get(key)).toBeUndefined();
        expect(await store.head(key)).toBeUndefined();
      });

      it('return the stored bytes, their size, one ETag and the times of the server', async () => {
        const key = freshKey();
        const body = randomBytes(3000);
        const etag = await create(key, body);
        const stored = await store.get(key);
        if (typeof stored !== 'object') throw new Error('the object is missing');
        const { body: got, ...meta } = stored;
        expect(Buffer.from(got).equals(body)).toBe(true);
        expect(meta).toMatchObject({ etag, size: 3000 });
        const head = await store.head(key);
        expect(head).toMatchObject({ etag, size: 3000, lastModified: meta.lastModified });
        const age = meta.servedAt - meta.lastModified;
        expect(age).toBeGreaterThan(-2000);
        expect(age).toBeLessThan(SLOW);
      });

      it('return an empty object', async () => {
        const key = freshKey();
        const etag = await create(key, new Uint8Array(0));
        expect(await store.get(key)).toMatchObject({ etag, size: 0, body: new Uint8Array(0) });
        expect(await store.head(key)).toMatchObject({ etag, size: 0 });
      });

      it('refuse an object above maxBytes and return one of exactly that size', async () => {
        const key = freshKey();
        await create(key, randomBytes(5000));
        await expect(store.get(key, { maxBytes: 4999 })).rejects.toMatchObject({
          code: 'limit_exceeded',
          details: { limit: 'object_bytes', value: 5000, max: 4999 },
        });
        expect(await store.get(key, { maxBytes: 5000 })).toMatchObject({ size: 5000 });
      });

      it('say that a version which the caller has is there still, whatever its size, and return any other one', async () => {
        const key = freshKey();
        const etag = await create(key, bytesOf('first'));
        expect(await store.get(key, { ifNoneMatch: etag })).toBe('not_modified');
        expect(await store.get(key, { ifNoneMatch: etag, maxBytes: 1 })).toBe('not_modified');
        const other = await create(freshKey(), bytesOf('other'));
        expect(await store.get(key, { ifNoneMatch: other })).toMatchObject({ etag, body: bytesOf('first') });
        expect(await store.get(freshKey(), { ifNoneMatch: etag })).toBeUndefined();
      });

      it('hand out bytes of which there is no other holder', async () => {
        const key = freshKey();
        const body = bytesOf('as written');
        await create(key, body);
        body.fill(0);
        (await bodyOf(key))?.fill(0);
        expect(await bodyOf(key)).toEqual(bytesOf('as written'));
      });
    });

    describeWriting('put', () => {
      it('makes a version that is another one to a reader of the version before', async () => {
        const key = freshKey();
        const first = await create(key, bytesOf('first'));
        const written = await store.put(key, bytesOf('second'), { mode: { ifMatch: first } });
        expect(await store.get(key, { ifNoneMatch: first })).toMatchObject({ body: bytesOf('second') });
        expect(await store.get(key, { ifNoneMatch: etagOf(written) })).toBe('not_modified');
        await store.delete([{ key }]);
        expect(await store.get(key, { ifNoneMatch: etagOf(written) })).toBeUndefined();
      });

      it('creates where nothing is and refuses where something is', async () => {
        const key = freshKey();
        await create(key, bytesOf('first'));
        const again = await store.put(key, bytesOf('second'), { mode: 'create' });
        expect(again).toEqual({ conflict: 'exists' });
        expect(await bodyOf(key)).toEqual(bytesOf('first'));
      });

      it('overwrites whatever is there', async () => {
        const key = freshKey();
        const first = etagOf(await store.put(key, bytesOf('first'), { mode: 'overwrite' }));
        const second = etagOf(await store.put(key, bytesOf('second'), { mode: 'overwrite' }));
        expect(second).not.toBe(first);
        expect(await bodyOf(key)).toEqual(bytesOf('second'));
      });

      it('replaces exactly the version of an if-match', async () => {
        const key = freshKey();
        const first = await create(key, bytesOf('first'));
        const second = etagOf(await store.put(key, bytesOf('second'), { mode: { ifMatch: first } }));
        expect(second).not.toBe(first);
        const stale = await store.put(key, bytesOf('third'), { mode: { ifMatch: first } });
        expect(stale).toEqual({ conflict: 'changed' });
        expect(await bodyOf(key)).toEqual(bytesOf('second'));
      });

      it('never turns an if-match into a create', async () => {
        const key = freshKey();
        const etag = await create(key, bytesOf('first'));
        expect(await store.delete([{ key }])).toEqual([]);
        const late = await store.put(key, bytesOf('second'), { mode: { ifMatch: etag } });
        if (options.lacks?.includes('absence of what was deleted')) {
          expect(late).toHaveProperty('etag');
          return;
        }
        expect(late).toEqual({ conflict: 'missing' });
        expect(await bodyOf(key)).toBeUndefined();
      });

      itUnless('atomicity')('lets exactly one of many racing creates win', { timeout: SLOW }, async () => {
        const key = freshKey();
        const bodies = Array.from({ length: RACERS }, () => randomBytes(500));
        const results = await Promise.all(bodies.map((body) => store.put(key, body, { mode: 'create' })));
        expect(results.filter((result) => 'etag' in result)).toHaveLength(1);
        const winner = bodies[results.findIndex((result) => 'etag' in result)];
        expect(Buffer.from((await bodyOf(key)) ?? []).equals(winner ?? Buffer.of())).toBe(true);
        const losers = results.filter((result) => 'conflict' in result);
        expect(new Set(losers.map(({ conflict }) => conflict))).toEqual(new Set(['exists']));
      });

      itUnless('atomicity')('lets exactly one of many racing if-matches win', { timeout: SLOW }, async () => {
        const key = freshKey();
        const ifMatch = await create(key, bytesOf('base'));
        const bodies = Array.from({ length: RACERS }, () => randomBytes(500));
        const results = await Promise.all(bodies.map((body) => store.put(key, body, { mode: { ifMatch } })));
        expect(results.filter((result) => 'etag' in result)).toHaveLength(1);
        const winner = bodies[results.findIndex((result) => 'etag' in result)];
        expect(Buffer.from((await bodyOf(key)) ?? []).equals(winner ?? Buffer.of())).toBe(true);
      });

      itUnless('atomicity')(
        'keeps every edit of racing read-modify-write loops',
        { timeout: SLOW },
        async () => {
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
          expect(Number(new TextDecoder().decode(await bodyOf(key)))).toBe(10);
        },
      );

      itUnless('conditions on parts')(
        'keeps the conditions for objects above 5 MiB',
        { timeout: SLOW },
        async () => {
          const key = freshKey();
          const first = randomBytes(6 * MIB);
          const second = randomBytes(5 * MIB + 1);
          const etag = await create(key, first);
          expect(await store.put(key, second, { mode: 'create' })).toMatchObject({ conflict: 'exists' });
          expect(Buffer.from((await bodyOf(key)) ?? []).equals(first)).toBe(true);
          const next = etagOf(await store.put(key, second, { mode: { ifMatch: etag } }));
          expect(await store.put(key, first, { mode: { ifMatch: etag } })).toMatchObject({
            conflict: 'changed',
          });
          expect(await store.head(key)).toMatchObject({ etag: next });
          expect(Buffer.from((await bodyOf(key)) ?? []).equals(second)).toBe(true);
          const gone = freshKey();
          expect(await store.put(gone, second, { mode: { ifMatch: etag } })).toMatchObject({
            conflict: 'missing',
          });
          expect(await store.head(gone)).toBeUndefined();
        },
      );
    });

    describeWriting('delete', () => {
      it('removes an object, and is content when it is already gone', async () => {
        const key = freshKey();
        await create(key, bytesOf('x'));
        expect(await store.delete([{ key }])).toEqual([]);
        expect(await store.head(key)).toBeUndefined();
        expect(await store.delete([{ key }])).toEqual([]);
        expect(await store.delete([])).toEqual([]);
      });

      it('with if-match removes that version only', async () => {
        const key = freshKey();
        const first = await create(key, bytesOf('first'));
        const second = etagOf(await store.put(key, bytesOf('second'), { mode: { ifMatch: first } }));
        expect(await store.delete([{ key, ifMatch: first }])).toEqual([{ key, conflict: 'changed' }]);
        expect(await bodyOf(key)).toEqual(bytesOf('second'));
        expect(await store.delete([{ key, ifMatch: second }])).toEqual([]);
        expect(await store.head(key)).toBeUndefined();
        expect(await store.delete([{ key, ifMatch: second }])).toEqual([{ key, conflict: 'missing' }]);
      });

      it('leaves the place free for a create', async () => {
        const key = freshKey();
        const first = await create(key, bytesOf('first'));
        expect(await store.delete([{ key, ifMatch: first }])).toEqual([]);
        if (options.lacks?.includes('absence of what was deleted')) {
          await expect(create(key, bytesOf('second'))).rejects.toMatchObject({
            code: 'misconfigured',
            message: expect.stringContaining('refuses to create an object where it shows none'),
          });
          return;
        }
        await create(key, bytesOf('second'));
        expect(await bodyOf(key)).toEqual(bytesOf('second'));
      });

      it('judges every target of a batch by itself', async () => {
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
        expect([...failures].sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
          { key: kept, conflict: 'changed' },
          { key: missing, conflict: 'missing' },
        ]);
        expect(await keysBelow({ prefix: under })).toEqual(['kept']);
      });

      itUnless('atomicity')(
        'racing an edit with the same if-match, one of the two happens',
        { timeout: SLOW },
        async () => {
          const rounds = Array.from({ length: options.rounds ?? 40 }, async () => {
            const key = freshKey();
            const ifMatch = await create(key, bytesOf('base'));
            const [edited, failures] = await Promise.all([
              store.put(key, bytesOf('edited'), { mode: { ifMatch } }),
              store.delete([{ key, ifMatch }]),
            ]);
            expect({ edited: 'etag' in edited, deleted: failures.length === 0 }).toSatisfy(
              (outcome: { edited: boolean; deleted: boolean }) => outcome.edited !== outcome.deleted,
            );
            expect(await bodyOf(key)).toEqual('etag' in edited ? bytesOf('edited') : undefined);
          });
          await Promise.all(rounds);
        },
      );

      itUnless('atomicity', 'absence of what was deleted')(
        'racing a create, loses no acknowledged create',
        { timeout: SLOW },
        async () => {
          const rounds = Array.from({ length: options.rounds ?? 40 }, async () => {
            const key = freshKey();
            const ifMatch = await create(key, bytesOf('base'));
            const [created, failures] = await Promise.all([
              store.put(key, bytesOf('created'), { mode: 'create' }),
              store.delete([{ key, ifMatch }]),
            ]);
            expect(failures).toEqual([]);
            expect(await bodyOf(key)).toEqual('etag' in created ? bytesOf('created') : undefined);
          });
          await Promise.all(rounds);
        },
      );
    });

    it(`${options.changesAll === true ? 'makes' : 'does not promise to make'} several changes as one`, () => {
      expect(store.changeAll !== undefined).toBe(options.changesAll === true);
    });

    const describeChanges = options.changesAll === true ? describe : () => {};
    describeChanges('several changes as one', () => {
      const change = async (changes: Changes, request?: { readonly sendBy?: SendBound }) =>
        store.changeAll?.(changes, request);
      const putting = (key: ObjectKey, body: string, mode: PutMode = 'create') => ({
        key,
        mode,
        body: bytesOf(body),
      });

      it('are all made, and the ETags are those of the puts in their order', async () => {
        const [gone, replaced, created] = [freshKey(), freshKey(), freshKey()];
        const ifMatch = await create(gone, bytesOf('gone'));
        const base = await create(replaced, bytesOf('base'));
        const puts = [putting(created, 'created'), putting(replaced, 'replaced', { ifMatch: base })];
        const result = await change({ puts, deletes: [{ key: gone, ifMatch }] });
        if (result === undefined || 'conflicts' in result) throw new Error('nothing was changed');
        expect(await store.get(created, { ifNoneMatch: result.etags[0] })).toBe('not_modified');
        expect(await store.get(replaced, { ifNoneMatch: result.etags[1] })).toBe('not_modified');
        expect(await bodyOf(replaced)).toEqual(bytesOf('replaced'));
        expect(await store.head(gone)).toBeUndefined();
        expect(result.etags).toHaveLength(2);
      });

      it('are none of them made where conditions fail, and each of these is named', async () => {
        const [there, changed, missing, free] = [freshKey(), freshKey(), freshKey(), freshKey()];
        const first = await create(there, bytesOf('there'));
        const stale = await create(changed, bytesOf('first'));
        const now = await store.put(changed, bytesOf('second'), { mode: { ifMatch: stale } });
        const result = await change({
          puts: [putting(free, 'new'), putting(there, 'again'), putting(missing, 'late', { ifMatch: first })],
          deletes: [{ key: changed, ifMatch: stale }],
        });
        expect(result).toEqual({
          conflicts: [
            { key: there, conflict: 'exists' },
            { key: missing, conflict: 'missing' },
            { key: changed, conflict: 'changed' },
          ],
        });
        expect(await store.head(free)).toBeUndefined();
        expect(await store.head(there)).toMatchObject({ etag: first });
        expect(await store.head(changed)).toMatchObject({ etag: etagOf(now) });
      });

      it('are none of them made past the bound, and one that failed is a conflict first', async () => {
        const [gone, created] = [freshKey(), freshKey()];
        const ifMatch = await create(gone, bytesOf('gone'));
        const changes = { puts: [putting(created, 'created')], deletes: [{ key: gone, ifMatch }] };
        const past = { sendBy: { isPast: () => true } };
        const late = await change(changes, past).catch((error: unknown) => error);
        expect(isTooLate(late)).toBe(true);
        expect([await store.head(created), (await store.head(gone))?.etag]).toEqual([undefined, ifMatch]);
        const refused = await change({ puts: [putting(gone, 'again')], deletes: [] }, past);
        expect(refused).toEqual({ conflicts: [{ key: gone, conflict: 'exists' }] });
      });

      it('delete without a condition what is there and what is not', async () => {
        const [there, missing] = [freshKey(), freshKey()];
        await create(there, bytesOf('there'));
        expect(await change({ puts: [], deletes: [{ key: there }, { key: missing }] })).toEqual({
          etags: [],
        });
        expect(await store.head(there)).toBeUndefined();
      });

      it('are seen by no reader in part', { timeout: SLOW }, async () => {
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
          const result = await change({ puts, deletes: [{ key: from, ifMatch }] });
          if (result === undefined || 'conflicts' in result) throw new Error('nothing was changed');
          ifMatch = result.etags[0] ?? ifMatch;
          [from, to] = [to, from];
        }
        isOver = true;
        await watching;
        expect(new Set(seen)).toEqual(new Set([1]));
      });

      it('made by many at once on the same version are made by one', { timeout: SLOW }, async () => {
        const key = freshKey();
        const ifMatch = await create(key, bytesOf('base'));
        const kept = Array.from({ length: RACERS }, () => freshKey());
        const results = await Promise.all(
          kept.map((copy) => change({ puts: [putting(copy, 'base')], deletes: [{ key, ifMatch }] })),
        );
        const made = results.map((result) => result !== undefined && 'etags' in result);
        expect(made.filter(Boolean)).toHaveLength(1);
        const there = await Promise.all(kept.map(async (copy) => (await store.head(copy)) !== undefined));
        expect(there).toEqual(made);
      });
    });

    describe('list', () => {
      it('is one empty page below a prefix that holds nothing', async () => {
        const pages = await pagesOf({ prefix: freshPrefix() });
        expect(pages).toMatchObject([{ objects: [] }]);
      });

      it('describes each object as get does', async () => {
        const under = freshPrefix();
        const key = `${under}one` as ObjectKey;
        const etag = await create(key, randomBytes(777));
        const [page] = await pagesOf({ prefix: under });
        const head = await store.head(key);
        const listed = page?.objects[0];
        expect(page?.objects).toHaveLength(1);
        expect(listed).toMatchObject({ key, etag, size: 777 });
        expect(Math.abs((listed?.lastModified ?? 0) - (head?.lastModified ?? 0))).toBeLessThan(1000);
        expect(Math.abs((page?.servedAt ?? 0) - (head?.servedAt ?? 0))).toBeLessThan(SLOW);
      });

      it('begins with the first key there is when no prefix is asked for', async () => {
        // Further down others may have written in between.
        const key = `!first-${randomBytes(4).toString('hex')}` as ObjectKey;
        await create(key, randomBytes(7));
        const [page] = await pagesOf({ prefix: '' });
        expect(page?.objects.map((object) => object.key)).toContain(key);
        await store.delete([{ key }]);
      });

      it('orders keys by their UTF-8 bytes', async () => {
        const under = freshPrefix();
        const names = ['Z', 'a', 'a-b', 'd-b', 'd.b', 'd/x', 'd0', 'e', '\u{e9}', '\u{ff5e}', '\u{1f600}'];
        await fill(under, [...names].reverse());
        expect(await keysBelow({ prefix: under })).toEqual(names);
      });

      it('takes the prefix as text, not as a directory', async () => {
        const under = freshPrefix();
        await fill(under, ['note', 'notebook', 'other']);
        expect(await keysBelow({ prefix: `${under}note` })).toEqual(['', 'book']);
      });

      it('starts after a key, whether it exists or not', async () => {
        const under = freshPrefix();
        await fill(under, ['a', 'b', 'c', '\u{ff5e}', '\u{1f600}']);
        const keysAfter = (startAfter: string): Promise<readonly string[]> =>
          keysBelow({ prefix: under, startAfter: `${under}${startAfter}` });
        expect(await keysAfter('b')).toEqual(['c', '\u{ff5e}', '\u{1f600}']);
        expect(await keysAfter('bb')).toEqual(['c', '\u{ff5e}', '\u{1f600}']);
        expect(await keysAfter('\u{ff5e}')).toEqual(['\u{1f600}']);
        expect(await keysAfter('\u{1f600}')).toEqual([]);
        expect(await keysBelow({ prefix: under, startAfter: '!' })).toHaveLength(5);
      });

      it('cuts pages at maxKeys', async () => {
        const under = freshPrefix();
        const names = ['a', 'b/1', 'b/2', 'c', 'd/1', 'e'];
        await fill(under, names);
        const pages = await pagesOf({ prefix: under, maxKeys: 4 });
        expect(pages.length).toBeGreaterThanOrEqual(2);
        for (const { objects } of pages) expect(objects.length).toBeLessThanOrEqual(4);
        const listed = pages.flatMap(({ objects }) => objects.map(({ key }) => key.slice(under.length)));
        expect(listed).toEqual(names);
      });

      it('asks for no page the caller does not want', async () => {
        const under = freshPrefix();
        await fill(under, ['a', 'b', 'c']);
        for await (const page of store.list({ prefix: under, maxKeys: 1 })) {
          expect(page.objects).toHaveLength(1);
          break;
        }
      });

      itUnless('speed')(
        'pages through more than 1,000 objects, which one delete removes',
        {
          timeout: 4 * SLOW,
        },
        async () => {
          const under = freshPrefix();
          const names = Array.from({ length: 1001 }, (_, i) => `${String(i).padStart(4, '0')}`);
          await fill(under, names);
          const pages = await pagesOf({ prefix: under });
          expect(pages.map((page) => page.objects.length)).toEqual([1000, 1]);
          const objects = pages.flatMap((page) => page.objects);
          expect(objects.map(({ key }) => key.slice(under.length))).toEqual(names);
          expect(await keysBelow({ prefix: under, startAfter: `${under}0998` })).toEqual(['0999', '1000']);

          const [edited] = objects;
          if (edited === undefined) throw new Error('nothing was listed');
          await store.put(edited.key, bytesOf('newer'), { mode: { ifMatch: edited.etag } });
          const targets: DeleteTarget[] = objects.map(({ key, etag }) => ({ key, ifMatch: etag }));
          expect(await store.delete(targets)).toEqual([{ key: edited.key, conflict: 'changed' }]);
          expect(await keysBelow({ prefix: under })).toEqual(['0000']);
        },
      );
    });

    it('keeps keys with special characters apart', async () => {
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
        expect(await bodyOf(`${under}${name}` as ObjectKey)).toEqual(bytesOf(`content of ${name}`));
      }
      expect([...(await keysBelow({ prefix: under }))].sort()).toEqual([...names].sort());
      const objects = (await pagesOf({ prefix: under })).flatMap((page) => page.objects);
      const [first, ...rest] = objects.map(({ key, etag }) => ({ key, ifMatch: etag }));
      if (first === undefined) throw new Error('nothing was listed');
      expect(await store.delete([first])).toEqual([]);
      expect(await store.delete(rest)).toEqual([]);
      expect(await keysBelow({ prefix: under })).toEqual([]);
    });

    describeWriting('a write that is to be sent by a moment', () => {
      it('is not sent once that is over, and says so', async () => {
        const key = freshKey();
        const late = { sendBy: { isPast: () => true } };
        const put = store.put(key, BODY, { mode: 'create', ...late });
        await expect(put).rejects.toSatisfy(isTooLate);
        expect(await bodyOf(key)).toBeUndefined();
        const ifMatch = await create(key, BODY);
        await expect(store.put(key, BODY, { mode: { ifMatch }, ...late })).rejects.toSatisfy(isTooLate);
        expect((await store.head(key))?.etag).toBe(ifMatch);
      });

      it('is sent before that', async () => {
        const key = freshKey();
        const soon = { sendBy: { isPast: () => false } };
        const put = await store.put(key, BODY, { mode: 'create', ...soon });
        expect(await bodyOf(key)).toEqual(BODY);
        expect(await store.delete([{ key, ifMatch: etagOf(put) }], soon)).toEqual([]);
        expect(await bodyOf(key)).toBeUndefined();
      });
    });

    it('does nothing for a caller that has already cancelled', async () => {
      const key = freshKey();
      const signal = AbortSignal.abort();
      const aborted = { code: 'aborted' };
      await expect(store.put(key, bytesOf('x'), { mode: 'create', signal })).rejects.toMatchObject(aborted);
      expect(await store.head(key)).toBeUndefined();
      await create(key, bytesOf('x'));
      await expect(store.get(key, { signal })).rejects.toMatchObject(aborted);
      await expect(store.head(key, { signal })).rejects.toMatchObject(aborted);
      await expect(store.delete([{ key }], { signal })).rejects.toMatchObject(aborted);
      await expect(pagesOf({ prefix: key, signal })).rejects.toMatchObject(aborted);
      expect(await bodyOf(key)).toEqual(bytesOf('x'));
    });
  });
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function etagOf(result: WriteResult): ETag {
  if (!('etag' in result)) throw new Error(`the write met a conflict: ${result.conflict}`);
  return result.etag;
}
