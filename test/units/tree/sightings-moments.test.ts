import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { ETag } from '../../../src/store/port.ts';
import {
  createSightingRoom,
  createSightings,
  type Sightings,
  type VersionIdentity,
} from '../../../src/tree/sightings.ts';

const KEY = 'tenants/acme/data/notes' as ObjectKey;
const ETAG = '"etag"' as ETag;
const [A, B] = ['a', 'b'] as unknown as [VersionIdentity, VersionIdentity];

function read(sightings: Sightings, version: VersionIdentity, key = KEY): void {
  sightings.saw({ key, since: sightings.begin(), version, etag: ETAG });
}

const putBack = { code: 'integrity', details: { reason: 'put_back' } };

it('a version stays superseded from the first sighting of its successor, however often that is seen again', () => {
  const sightings = createSightings();
  read(sightings, A);
  read(sightings, B);
  const since = sightings.begin();
  read(sightings, B);
  expect(() => sightings.saw({ key: KEY, since, version: A, etag: ETAG })).toThrow(
    expect.objectContaining(putBack),
  );
});

it('a request that began before its successor was judged may still meet a version', () => {
  const sightings = createSightings();
  read(sightings, A);
  const first = sightings.begin();
  const second = sightings.begin();
  sightings.saw({ key: KEY, since: first, version: B, etag: ETAG });
  expect(() => sightings.saw({ key: KEY, since: second, version: A, etag: ETAG })).not.toThrow();
});

it('a key where nothing was seen is remembered as long as one that was read', () => {
  const sightings = createSightings({ versions: 2, versionsOfKey: 2 });
  const other = 'tenants/acme/data/other' as ObjectKey;
  read(sightings, A);
  read(sightings, A, other);
  sightings.sawNothing({ key: KEY, since: sightings.begin() });
  read(sightings, B, 'tenants/acme/data/third' as ObjectKey);
  expect(() => read(sightings, A)).toThrow(expect.objectContaining(putBack));
});

it('writing one version again and again takes no more room than once', () => {
  const room = createSightingRoom(3);
  const sightings = createSightings({ versions: 3, versionsOfKey: 3 }, room);
  const other = 'tenants/acme/data/other' as ObjectKey;
  read(sightings, A, other);
  read(sightings, B, other);
  for (let times = 0; times < 9; times++)
    sightings.wrote({ key: KEY, since: sightings.begin(), version: A, etag: ETAG });
  expect(() => read(sightings, A, other)).toThrow(expect.objectContaining(putBack));
});

it('remembers 64 versions of a key, and 8,192 of a tenant, unless told otherwise', () => {
  const version = (n: number): VersionIdentity => `v${n}` as unknown as VersionIdentity;
  const sightings = createSightings();
  for (let n = 0; n < 64; n++) read(sightings, version(n));
  expect(() => read(sightings, version(0))).toThrow(expect.objectContaining(putBack));
  read(sightings, version(64));
  expect(() => read(sightings, version(0))).not.toThrow();

  const many = createSightings();
  const keyOf = (n: number): ObjectKey => `tenants/acme/data/${n}` as ObjectKey;
  read(many, A, keyOf(0));
  read(many, B, keyOf(0));
  for (let n = 1; n <= 8_190; n++) read(many, A, keyOf(n));
  expect(() => read(many, A, keyOf(0))).toThrow(expect.objectContaining(putBack));
  read(many, A, keyOf(8_191));
  expect(() => read(many, A, keyOf(0))).not.toThrow();
});

it('remembers 65,536 versions of all tenants together, unless told otherwise', () => {
  const keyOf = (n: number): ObjectKey => `tenants/acme/data/${n}` as ObjectKey;
  const fill = (sightings: ReturnType<typeof createSightings>, versions: number): void => {
    for (let n = 1; n <= versions; n++) read(sightings, A, keyOf(n));
  };
  const first = createSightings();
  read(first, A, keyOf(0));
  read(first, B, keyOf(0));
  fill(first, 8_190);
  for (let tenant = 2; tenant <= 8; tenant++) fill(createSightings(), 8_192);
  expect(() => read(first, A, keyOf(0))).toThrow(expect.objectContaining(putBack));
  fill(createSightings(), 1);
  expect(() => read(first, A, keyOf(0))).not.toThrow();
});

describe('what is known of a key', () => {
  const [ONE, TWO] = ['"1"', '"2"'] as unknown as [ETag, ETag];
  const see = (sightings: Sightings, version: VersionIdentity, etag: ETag): void =>
    sightings.saw({ key: KEY, since: sightings.begin(), version, etag });
  const others = (sightings: Sightings): readonly boolean[] =>
    [ONE, TWO].map((etag) => sightings.knowsOther({ key: KEY, etag }));

  it('is nothing before it was looked at, nor where nothing was there', () => {
    const sightings = createSightings();
    expect(others(sightings)).toEqual([false, false]);
    expect(sightings.isSuperseded({ key: KEY, version: A })).toBe(false);
    expect(sightings.stays({ key: KEY, etag: ONE })).toBe(false);
    sightings.sawNothing({ key: KEY, since: sightings.begin() });
    expect(others(sightings)).toEqual([false, false]);
  });

  it('is the version seen last, by its latest ETag', () => {
    const sightings = createSightings();
    see(sightings, A, ONE);
    expect(others(sightings)).toEqual([false, true]);
    see(sightings, A, TWO);
    expect(others(sightings)).toEqual([true, false]);
    see(sightings, B, ONE);
    expect(others(sightings)).toEqual([false, true]);
    expect([A, B].map((version) => sightings.isSuperseded({ key: KEY, version }))).toEqual([true, false]);
    sightings.sawNothing({ key: KEY, since: sightings.begin() });
    expect(others(sightings)).toEqual([true, true]);
  });

  it('is either of two versions that overlapping requests met', () => {
    const sightings = createSightings();
    const [first, second] = [sightings.begin(), sightings.begin()];
    sightings.saw({ key: KEY, since: first, version: A, etag: ONE });
    sightings.saw({ key: KEY, since: second, version: B, etag: TWO });
    expect(others(sightings)).toEqual([false, false]);
  });

  it('tells of each version whether it certainly stays', () => {
    const sightings = createSightings();
    const stay = (): readonly boolean[] => [ONE, TWO].map((etag) => sightings.stays({ key: KEY, etag }));
    sightings.noteStays({ key: KEY, version: A, etag: ONE });
    see(sightings, A, ONE);
    see(sightings, B, TWO);
    expect(stay()).toEqual([false, false]);
    sightings.noteStays({ key: KEY, version: B, etag: TWO });
    expect(stay()).toEqual([false, true]);
    sightings.noteStays({ key: KEY, version: A, etag: ONE });
    expect(stay()).toEqual([true, true]);
  });
});
