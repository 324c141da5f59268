import { describe, expect, it } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { type KeptVersion, noVersions, type ObjectVersions } from '../../../src/store/port.ts';
import { type RemovalRequest, removalFailure, removeVersions } from '../../../src/store/remove-versions.ts';

const KEY = 'data/file' as ObjectKey;

function version(id: string, key: ObjectKey = KEY): KeptVersion {
  return { key, versionId: id, isCurrent: false, size: 1 };
}

function failed(code: MemoryErrorCode): MemoryError {
  return new MemoryError(code, `It failed with ${code}.`);
}

/** A listing that fails behind an empty page. */
async function* breakOff(error: unknown): AsyncGenerator<readonly KeptVersion[]> {
  yield [];
  throw error;
}

/** A bucket that lists what is kept, two versions a page, and loses a version when it is removed. */
function bucketOf(...names: readonly string[]) {
  let kept: KeptVersion[] = names.map((name) => version(name));
  const asked: string[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  let walks = 0;
  async function* listing(): AsyncGenerator<readonly KeptVersion[]> {
    walks++;
    const seen = [...kept];
    for (let at = 0; at < seen.length; at += 2) yield seen.slice(at, at + 2);
  }
  const bucket = {
    asked,
    signals,
    listing,
    /** Called before a version goes. */
    onRemove: (_: string): void => {},
    get walks() {
      return walks;
    },
    get kept() {
      return kept.map(({ versionId }) => versionId);
    },
    add(...others: readonly KeptVersion[]) {
      kept.push(...others);
    },
  };
  const versions: Pick<ObjectVersions, 'remove'> = {
    async remove(key, versionId, request) {
      asked.push(versionId);
      signals.push(request?.signal);
      bucket.onRemove(versionId);
      kept = kept.filter((each) => each.key !== key || each.versionId !== versionId);
    },
  };
  const remove = (request: Partial<RemovalRequest> = {}) =>
    removeVersions({
      versions: versions as ObjectVersions,
      listings: [listing],
      judge: async () => 'remove',
      ...request,
    });
  return Object.assign(bucket, { remove });
}

describe('removeVersions', () => {
  it('removes all older versions, and walks until a listing shows none that went', async () => {
    const bucket = bucketOf('a', 'b', 'c');
    const told: number[] = [];
    const { signal } = new AbortController();
    expect(await bucket.remove({ signal, onRemoved: (removed) => told.push(removed) })).toEqual({
      removed: 3,
      left: [],
      unlisted: [],
    });
    expect(bucket.kept).toEqual([]);
    expect(bucket.asked).toEqual(['a', 'b', 'c']);
    expect(bucket.signals).toEqual([signal, signal, signal]);
    expect([told, bucket.walks]).toEqual([[1, 2, 3], 2]);
  });

  it('walks once where nothing is to go', async () => {
    const bucket = bucketOf();
    expect(await bucket.remove()).toEqual({ removed: 0, left: [], unlisted: [] });
    expect(bucket.walks).toBe(1);
  });

  it('never judges the current version of an object', async () => {
    const bucket = bucketOf();
    bucket.add({ ...version('current'), isCurrent: true }, version('older'));
    const judged: string[] = [];
    const judge = async ({ versionId }: KeptVersion) => {
      judged.push(versionId);
      return 'remove' as const;
    };
    expect(await bucket.remove({ judge })).toMatchObject({ removed: 1 });
    expect([judged, bucket.kept]).toEqual([['older'], ['current']]);
  });

  it.each(['keep', 'later'] as const)('leaves one of which it is told: %s', async (verdict) => {
    const bucket = bucketOf('a', 'b');
    const judge = async ({ versionId }: KeptVersion) => (versionId === 'a' ? verdict : 'remove');
    expect(await bucket.remove({ judge })).toEqual({ removed: 1, left: [], unlisted: [] });
    expect([bucket.asked, bucket.kept, bucket.walks]).toEqual([['b'], ['a'], 2]);
  });

  it('judges again in a later walk what was to stay in the one before', async () => {
    const bucket = bucketOf('a', 'b');
    let isLater = true;
    const judge = async ({ versionId }: KeptVersion) => {
      if (versionId !== 'a') isLater = false;
      return versionId === 'a' && isLater ? ('later' as const) : ('remove' as const);
    };
    expect(await bucket.remove({ judge })).toMatchObject({ removed: 2 });
    expect([bucket.asked, bucket.walks]).toEqual([['b', 'a'], 3]);
  });

  it('counts one that went by itself for nothing, and sends no request for it', async () => {
    const bucket = bucketOf('a', 'b');
    const told: number[] = [];
    const request = {
      judge: async ({ versionId }: KeptVersion) => {
        if (versionId !== 'a') return 'remove' as const;
        bucket.listing = async function* () {};
        return 'gone' as const;
      },
      listings: [() => bucket.listing()],
      onRemoved: (removed: number) => told.push(removed),
    };
    expect(await bucket.remove(request)).toEqual({ removed: 1, left: [], unlisted: [] });
    expect([bucket.asked, told]).toEqual([['b'], [1]]);
  });

  it('names one that is listed again although the server confirmed that it went', async () => {
    const stays = version('a');
    let walks = 0;
    async function* listing() {
      walks++;
      yield [stays];
    }
    const outcome = await bucketOf().remove({ listings: [listing] });
    expect(outcome).toMatchObject({
      removed: 1,
      left: [{ kept: stays, error: { code: 'misconfigured' } }],
      unlisted: [],
    });
    expect(walks).toBe(2);
  });

  it('goes on behind each one that stays, and tries it once', async () => {
    const bucket = bucketOf('a', 'b', 'c');
    const denied = failed('access_denied');
    bucket.onRemove = (name) => {
      if (name === 'b') throw denied;
    };
    expect(await bucket.remove()).toEqual({
      removed: 2,
      left: [{ kept: version('b'), error: denied }],
      unlisted: [],
    });
    expect([bucket.asked, bucket.walks]).toEqual([['a', 'b', 'c'], 2]);
  });

  it('tells versions of two objects apart, which have one name', async () => {
    const bucket = bucketOf('a');
    bucket.add(version('a', 'data/other' as ObjectKey));
    expect(await bucket.remove()).toMatchObject({ removed: 2, left: [] });
  });

  it('names one that could not be judged', async () => {
    const bucket = bucketOf('a', 'b');
    const error = failed('access_denied');
    const judge = async ({ versionId }: KeptVersion) => {
      if (versionId === 'a') throw error;
      return 'remove' as const;
    };
    expect(await bucket.remove({ judge })).toEqual({
      removed: 1,
      left: [{ kept: version('a'), error }],
      unlisted: [],
    });
    expect(bucket.asked).toEqual(['b']);
  });

  it.each(['unavailable', 'timeout'] as const)(
    'asks a server no more that answered three times in a row with %s',
    async (code) => {
      const bucket = bucketOf('a', 'b', 'c', 'd', 'e');
      const error = failed(code);
      bucket.onRemove = () => {
        throw error;
      };
      const outcome = await bucket.remove();
      expect(bucket.asked).toEqual(['a', 'b', 'c']);
      expect(outcome).toMatchObject({
        removed: 0,
        left: ['a', 'b', 'c'].map((name) => ({ kept: version(name), error })),
        unlisted: [{ code: 'unavailable' }],
      });
    },
  );

  it('counts failures one after another alone, and such of the server alone', async () => {
    const codes: Record<string, MemoryErrorCode> = {
      ...{ a: 'unavailable', b: 'timeout', d: 'unavailable', e: 'access_denied', f: 'timeout' },
      ...{ h: 'access_denied', i: 'access_denied', j: 'access_denied' },
    };
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'];
    const bucket = bucketOf(...names);
    bucket.onRemove = (name) => {
      const code = codes[name];
      if (code !== undefined) throw failed(code);
    };
    const outcome = await bucket.remove();
    expect(outcome).toMatchObject({ removed: 3, unlisted: [] });
    expect(bucket.asked).toEqual(names);
    expect(bucket.kept).toEqual(Object.keys(codes));
  });

  it('asks a server again that once answered, be it that a version is to be kept', async () => {
    const bucket = bucketOf('a', 'b', 'keep', 'c', 'd', 'e');
    bucket.onRemove = () => {
      throw failed('unavailable');
    };
    const judge = async ({ versionId }: KeptVersion) =>
      versionId === 'keep' ? ('keep' as const) : ('remove' as const);
    expect(await bucket.remove({ judge })).toMatchObject({ unlisted: [] });
    expect(bucket.asked).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('looks at the other places when a listing breaks off, and says that', async () => {
    const bucket = bucketOf('a');
    const error = failed('unavailable');
    const breaking = () => breakOff(error);
    expect(await bucket.remove({ listings: [breaking, bucket.listing] })).toEqual({
      removed: 1,
      left: [],
      unlisted: [error],
    });
  });

  it('forgets the failure of a listing that comes to its end in the next walk', async () => {
    const bucket = bucketOf('a', 'b', 'c', 'd');
    let walks = 0;
    async function* listing() {
      for await (const page of bucket.listing()) {
        yield page;
        if (++walks === 1) throw failed('unavailable');
      }
    }
    expect(await bucket.remove({ listings: [listing] })).toEqual({ removed: 4, left: [], unlisted: [] });
  });

  it('gives each page to the caller’s own hand, where there is one', async () => {
    const bucket = bucketOf('a', 'b', 'c');
    const pages: string[][] = [];
    const each: RemovalRequest['each'] = async (page, work) => {
      if (page.length > 0) pages.push(page.map(({ versionId }) => versionId));
      await Promise.all(page.map(work));
    };
    expect(await bucket.remove({ each })).toMatchObject({ removed: 3 });
    expect(pages).toEqual([['a', 'b'], ['c']]);
  });

  it('says so where a server has no requests for versions', async () => {
    const listing = () => breakOff(noVersions(undefined));
    expect(await bucketOf().remove({ listings: [listing] })).toBe('no_versions');
  });

  it('ends where its caller cancels, at a version or in a listing', async () => {
    const bucket = bucketOf('a', 'b');
    const aborted = failed('aborted');
    bucket.onRemove = () => {
      throw aborted;
    };
    await expect(bucket.remove()).rejects.toBe(aborted);
    expect(bucket.asked).toEqual(['a']);
    const listing = () => breakOff(aborted);
    await expect(bucket.remove({ listings: [listing, bucket.listing] })).rejects.toBe(aborted);
    expect(bucket.asked).toEqual(['a']);
  });
});

describe('the failure for versions that stay', () => {
  const words = { done: 'the keys are out of use', of: 'the keyring', actions: 's3:DeleteObjectVersion' };
  const [denied, unavailable] = [failed('access_denied'), failed('unavailable')];
  const left = (...errors: readonly unknown[]) =>
    errors.map((error, at) => ({ kept: version(`${at}`), error }));

  it('is none where nothing stays', () => {
    expect(removalFailure({ removed: 5, left: [], unlisted: [] }, words)).toBeUndefined();
  });

  it.each([
    ['one was denied', left(denied), [], 'access_denied', denied],
    ['all was denied', left(denied, denied), [denied], 'access_denied', denied],
    ['a listing alone failed', [], [unavailable], 'unavailable', unavailable],
    ['something failed behind what was denied', left(denied, unavailable), [], 'unavailable', unavailable],
    ['a listing failed before a version', left(failed('timeout')), [unavailable], 'unavailable', unavailable],
  ] as const)('has the code and the cause of what decides: %s', (_, stays, unlisted, code, cause) => {
    const error = removalFailure({ removed: 2, left: stays, unlisted }, words);
    expect(error).toMatchObject({
      code,
      details: { reason: 'versions_left', versions: stays.length, removed: 2 },
    });
    expect(error?.cause).toBe(cause);
  });

  it.each([
    [1, 0, 'the keys are out of use, but 1 older version of the keyring may still be there: '],
    [2, 0, 'the keys are out of use, but 2 older versions of the keyring may still be there: '],
    [0, 1, 'the keys are out of use, but not all older versions of the keyring could be listed: '],
    [
      1,
      1,
      'the keys are out of use, but 1 older version of the keyring may still be there, and not all older versions of the keyring could be listed: ',
    ],
  ])('counts what stays: %d left, %d not listed', (count, unlisted, beginning) => {
    const errors = (length: number): readonly unknown[] => Array.from({ length }, () => denied);
    const removal = { removed: 0, left: left(...errors(count)), unlisted: errors(unlisted) };
    const message = removalFailure(removal, words)?.message;
    expect(message?.slice(0, beginning.length)).toBe(beginning);
    expect(message?.slice(beginning.length)).toMatch(/^allow to list, read and remove them \(s3:Delete/);
  });

  it('tells what to do in the words of another failure', () => {
    const error = new MemoryError('unavailable', 'Version 1.2 failed. Look at it.');
    const message = removalFailure({ removed: 0, left: left(error), unlisted: [] }, words)?.message;
    expect(message).toMatch(/: Version 1\.2 failed\. Look at it; then run this again$/);
  });

  it('adds the caller’s details, and lets none of them stand for its own', () => {
    const details = { reason: 'theirs', tenant: 'acme' };
    const error = removalFailure({ removed: 1, left: left(denied), unlisted: [] }, { ...words, details });
    expect(error?.details).toEqual({ tenant: 'acme', reason: 'versions_left', versions: 1, removed: 1 });
  });

  it('throws what is no failure of the store', () => {
    const bug = new TypeError('a bug');
    expect(() => removalFailure({ removed: 0, left: left(denied, bug), unlisted: [] }, words)).toThrow(bug);
  });
});
