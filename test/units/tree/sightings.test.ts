import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { ETag } from '../../../src/store/port.ts';
import {
  createSightingRoom,
  createSightings,
  identityOf,
  type SightingOrder,
  type Sightings,
  type VersionIdentity,
} from '../../../src/tree/sightings.ts';

const KEY = 'tenants/acme/data/notes' as ObjectKey;
const ETAG = '"etag"' as ETag;
const [A, B, C] = ['a', 'b', 'c'] as unknown as [VersionIdentity, VersionIdentity, VersionIdentity];

/** One read from its begin to its judgement, with nothing in between. */
function read(sightings: Sightings, version: VersionIdentity | undefined, key = KEY): void {
  finish(sightings, { since: sightings.begin(), version, key });
}

function finish(
  sightings: Sightings,
  sighting: {
    readonly since: SightingOrder;
    readonly version: VersionIdentity | undefined;
    readonly key?: ObjectKey;
  },
): void {
  const { since, version, key = KEY } = sighting;
  if (version === undefined) sightings.sawNothing({ key, since });
  else sightings.saw({ key, since, version, etag: ETAG });
}

function write(sightings: Sightings, version: VersionIdentity, key = KEY): void {
  sightings.wrote({ key, since: sightings.begin(), version, etag: ETAG });
}

function isRefused(action: () => void): boolean {
  try {
    action();
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(MemoryError);
    expect(error).toMatchObject({ code: 'integrity', details: { reason: 'put_back' } });
    return true;
  }
}

describe('the sightings of versions', () => {
  it('takes whatever it sees first, and the same again', () => {
    const sightings = createSightings();
    for (const version of [A, A, B, B, C, C]) read(sightings, version);
  });

  it('refuses a version that has made way for another one', () => {
    const sightings = createSightings();
    read(sightings, A);
    read(sightings, B);
    expect(isRefused(() => read(sightings, A))).toBe(true);
    expect(isRefused(() => read(sightings, A))).toBe(true);
    read(sightings, B);
  });

  it('refuses a version that was gone', () => {
    const sightings = createSightings();
    read(sightings, A);
    read(sightings, undefined);
    expect(isRefused(() => read(sightings, A))).toBe(true);
  });

  it('counts its own writes as sightings', () => {
    const sightings = createSightings();
    write(sightings, A);
    write(sightings, B);
    expect(isRefused(() => read(sightings, A))).toBe(true);
  });

  it('takes a version that it has not seen, wherever that comes from', () => {
    const sightings = createSightings();
    read(sightings, B);
    read(sightings, undefined);
    read(sightings, A);
  });

  it('takes an older version from a request that began before the newer one was known', () => {
    const sightings = createSightings();
    read(sightings, A);
    const slow = sightings.begin();
    read(sightings, B);
    finish(sightings, { since: slow, version: A });
    expect(isRefused(() => read(sightings, A))).toBe(true);
  });

  it('takes two versions from requests that overlap, in either order', () => {
    for (const [first, second] of [
      [A, B],
      [B, A],
    ] as const) {
      const sightings = createSightings();
      const [one, other] = [sightings.begin(), sightings.begin()];
      finish(sightings, { since: one, version: first });
      finish(sightings, { since: other, version: second });
      // Which of them is the older one is still open.
      const again = sightings.begin();
      finish(sightings, { since: again, version: first });
    }
  });

  it('learns nothing from a version that it refuses', () => {
    const sightings = createSightings();
    read(sightings, A);
    read(sightings, B);
    expect(isRefused(() => read(sightings, A))).toBe(true);
    read(sightings, B);
  });

  it('takes back what it knew of a version that it writes again itself', () => {
    const sightings = createSightings();
    write(sightings, A);
    const slow = sightings.begin();
    read(sightings, undefined);
    write(sightings, A);
    read(sightings, A);
    // A look from before the second write tells nothing about it.
    finish(sightings, { since: slow, version: undefined });
    read(sightings, A);
    read(sightings, B);
    expect(isRefused(() => read(sightings, A))).toBe(true);
  });

  it('keeps keys apart', () => {
    const sightings = createSightings();
    const other = 'tenants/acme/data/others' as ObjectKey;
    read(sightings, A);
    read(sightings, B);
    read(sightings, A, other);
    read(sightings, undefined, other);
    read(sightings, B);
  });

  it('forgets the earliest versions of one key and the keys seen longest ago, and nothing else', () => {
    const sightings = createSightings({ versions: 6, versionsOfKey: 3 });
    const versions = ['v1', 'v2', 'v3', 'v4'] as unknown as VersionIdentity[];
    for (const version of versions) read(sightings, version);
    expect(isRefused(() => read(sightings, versions[1]))).toBe(true);
    expect(isRefused(() => read(sightings, versions[2]))).toBe(true);
    const [second, third] = ['second', 'third'] as ObjectKey[];
    for (const version of [A, B, C]) read(sightings, version, second);
    read(sightings, versions[3]);
    for (const version of [A, B]) read(sightings, version, third);
    expect(isRefused(() => read(sightings, versions[1]))).toBe(true);
    expect(isRefused(() => read(sightings, A, third))).toBe(true);
    read(sightings, A, second);
  });

  it('shares its room with those of other tenants, of which the one seen longest ago forgets first', () => {
    const room = createSightingRoom(8);
    const limits = { versions: 6, versionsOfKey: 3 };
    const [one, two, three] = Array.from({ length: 3 }, () => createSightings(limits, room)) as [
      Sightings,
      Sightings,
      Sightings,
    ];
    const other = 'other' as ObjectKey;
    const seeTwo = (sightings: Sightings, key = KEY): void => {
      for (const version of [A, B]) read(sightings, version, key);
    };
    for (const sightings of [one, two]) for (const key of [KEY, other]) seeTwo(sightings, key);
    for (const sightings of [one, two])
      for (const key of [KEY, other]) expect(isRefused(() => read(sightings, A, key))).toBe(true);
    read(one, B);
    seeTwo(three);
    // Two was seen longest ago, and its first key before its other one.
    read(two, A);
    expect(isRefused(() => read(one, A))).toBe(true);
    expect(isRefused(() => read(three, A))).toBe(true);
  });

  it('remembers no more of a thousand tenants than there is room for, and as much', () => {
    const room = createSightingRoom(1_000);
    const members = Array.from({ length: 1_000 }, () => createSightings(undefined, room));
    const keys = Array.from({ length: 10 }, (_, i) => `key ${i}` as ObjectKey);
    for (const sightings of members)
      for (const key of keys) for (const version of [A, B]) read(sightings, version, key);
    // Those seen last are asked first: a version that is new again is remembered in the place of another one.
    const known = members
      .toReversed()
      .flatMap((sightings) => keys.toReversed().filter((key) => isRefused(() => read(sightings, A, key))));
    expect(known).toHaveLength(500);
  });

  it('holds no more than the room does after others have made it forget', () => {
    const room = createSightingRoom(4);
    const [one, two] = [createSightings(undefined, room), createSightings(undefined, room)];
    const keys = ['a', 'b'] as ObjectKey[];
    const seeBoth = (sightings: Sightings, key: ObjectKey | undefined): void => {
      for (const version of [A, B]) read(sightings, version, key);
    };
    for (const key of keys) seeBoth(one, key);
    seeBoth(two, keys[0]);
    // The first has forgotten a key, and sees the other one again.
    read(one, B, keys[1]);
    seeBoth(two, keys[1]);
    for (const key of keys) expect(isRefused(() => read(two, A, key))).toBe(true);
    expect(isRefused(() => read(one, A, keys[1]))).toBe(false);
  });

  it('counts as seen last where it has seen that a key is gone', () => {
    const room = createSightingRoom(4);
    const [one, two, three] = Array.from({ length: 3 }, () => createSightings(undefined, room));
    for (const sightings of [one, two]) for (const version of [A, B]) sightings && read(sightings, version);
    if (one === undefined || two === undefined || three === undefined) throw new Error('there are three');
    read(one, undefined);
    read(three, A);
    expect(isRefused(() => read(one, B))).toBe(true);
    expect(isRefused(() => read(two, A))).toBe(false);
  });

  it('is asked once for what it has forgotten altogether', () => {
    const room = createSightingRoom(1);
    let asked = 0;
    const member = {
      forgetOldestKey() {
        asked++;
        return undefined;
      },
    };
    room.use(member, 0);
    const sightings = createSightings(undefined, room);
    read(sightings, A);
    for (const key of ['b', 'c'] as ObjectKey[]) read(sightings, A, key);
    expect(asked).toBe(1);
  });

  it('names a version by the nonce of its wrap', () => {
    const object = Uint8Array.from({ length: 236 }, (_, at) => at);
    const edited = object.slice();
    edited[75] = 0;
    edited[100] = 0;
    expect(identityOf(edited)).toBe(identityOf(object));
    for (const at of [76, 99]) {
      const renamed = object.slice();
      renamed[at] = 0;
      expect(identityOf(renamed)).not.toBe(identityOf(object));
    }
  });
});

/**
 * An event of one instant: a deed of an honest server, or what a client with several requests at once has seen of it.
 */
type Event =
  | { readonly kind: 'change' | 'delete' | 'own_write' | 'begin' }
  | { readonly kind: 'execute' | 'answer'; readonly which: number };

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom<Event>({ kind: 'change' }, { kind: 'delete' }) },
  { weight: 1, arbitrary: fc.constant<Event>({ kind: 'own_write' }) },
  { weight: 3, arbitrary: fc.constant<Event>({ kind: 'begin' }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom('execute' as const, 'answer' as const), which: fc.nat(5) }),
  },
);

interface Request {
  readonly since: SightingOrder;
  readonly writes: VersionIdentity | undefined;
  seen: { readonly version: VersionIdentity | undefined } | undefined;
}

/** Plays the events, which throws when the sightings refuse anything. */
function play(events: readonly Event[]): Sightings {
  const sightings = createSightings();
  const requests: Request[] = [];
  let versions = 0;
  let current: VersionIdentity | undefined;
  const fresh = (): VersionIdentity => `v${++versions}` as VersionIdentity;
  for (const each of events) {
    if (!('which' in each)) {
      if (each.kind === 'change') current = fresh();
      else if (each.kind === 'delete') current = undefined;
      else {
        const writes = each.kind === 'own_write' ? fresh() : undefined;
        requests.push({ since: sightings.begin(), writes, seen: undefined });
      }
    } else {
      const request = requests[each.which % Math.max(1, requests.length)];
      if (request === undefined) continue;
      if (each.kind === 'execute' && request.seen === undefined) {
        current = request.writes ?? current;
        request.seen = { version: current };
      }
      if (each.kind === 'answer' && request.seen !== undefined) {
        requests.splice(requests.indexOf(request), 1);
        const { since, seen, writes } = request;
        if (writes !== undefined) sightings.wrote({ key: KEY, since, version: writes, etag: ETAG });
        else finish(sightings, { since, version: seen.version });
      }
    }
  }
  return sightings;
}

describe('the sightings of versions, for any order of requests, changes and answers', () => {
  it('refuses nothing of an honest server', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => void play(events)),
      {
        numRuns: 5_000,
      },
    );
  });

  it('refuses every version that a request met and a later one did not meet any more', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 40 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
        (events, gone) => {
          const sightings = play(events);
          const shown = gone.map((isGone, at) => (isGone ? undefined : (`last${at}` as VersionIdentity)));
          read(sightings, A);
          for (const version of shown) read(sightings, version);
          expect(isRefused(() => read(sightings, A))).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
