import { MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import { OFFSET } from '../format/header.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import type { ETag } from '../store/port.ts';

/** Tells one version of an object apart from all others that were ever written: the nonce of its wrap. */
export type VersionIdentity = string & { readonly __brand: 'VersionIdentity' };

/** A place in the order of this process's requests and sightings. No clock can set it back. */
export type SightingOrder = number & { readonly __brand: 'SightingOrder' };

interface StoredVersion {
  readonly key: ObjectKey;
  readonly etag: ETag;
}

/** The key that a process looked at, by a request that it began at `since`. */
interface Sighting {
  readonly key: ObjectKey;
  /** Taken before the request was sent; where it was sent several times, before the first time. */
  readonly since: SightingOrder;
}

interface SeenVersion {
  readonly version: VersionIdentity;
  readonly etag: ETag;
}

/**
 * The versions of a tenant's objects that this process has seen, to notice an older one that was put back. A version is
 * superseded once a request that began after its first sighting saw another version, or none. One that was superseded
 * before a request began cannot be what that request meets, however its answer was delayed, unless it was put back.
 * Memory is bounded: a process no longer notices the return of a version that it has forgotten. Processes share no
 * memory of this.
 */
export interface Sightings {
  begin(): SightingOrder;
  /**
   * Notes a version that was read and verified.
   *
   * @throws MemoryError `integrity` (`reason: 'put_back'`) when it had been superseded before.
   */
  saw(sighting: Sighting & SeenVersion): void;
  /** Notes an acknowledged write of this process: it is in its place by right, even where it was superseded before. */
  wrote(sighting: Sighting & SeenVersion): void;
  /** Tells whether a version is known to have made way for another one, or for none. */
  isSuperseded(seen: Pick<Sighting, 'key'> & { readonly version: VersionIdentity }): boolean;
  /**
   * Tells whether the key's last known state is something else than the version of that ETag, so that only a read tells
   * which of the two is older. False when this process knows nothing about the key.
   */
  knowsOther(stored: StoredVersion): boolean;
  /** Notes that the key was empty, also after a delete of this process. */
  sawNothing(sighting: Sighting): void;
  /**
   * Notes that a version, which this process saw or wrote, certainly stays: its writer does not take it back any more.
   */
  noteStays(staying: StoredVersion & { readonly version: VersionIdentity }): void;
  /** Tells whether `noteStays` noted that version and it has not been forgotten since. */
  stays(stored: StoredVersion): boolean;
}

interface SightingLimits {
  /** The number of versions of one tenant that are remembered. The keys seen longest ago are forgotten first. */
  readonly versions: number;
  /** The number of versions of one key that are remembered, the latest ones. */
  readonly versionsOfKey: number;
}

const LIMITS: SightingLimits = { versions: 8_192, versionsOfKey: 64 };

/** Answers the identity of an object that this process sealed or has opened. */
export function identityOf(object: Uint8Array): VersionIdentity {
  return toBase64url(object.subarray(OFFSET.nonce, OFFSET.wrap)) as VersionIdentity;
}

/** Room for versions that the sightings of many tenants share. */
interface SightingRoom {
  /** Notes that `member` has seen something, and remembers `more` versions more than before. */
  use(member: RoomMember, more: number): void;
}

interface RoomMember {
  /**
   * Forgets the key seen longest ago and answers how many versions it had; undefined when the member remembers none.
   */
  forgetOldestKey(): number | undefined;
}

/**
 * Makes a room.
 *
 * @param versions the number that is remembered in all. The tenant that was seen longest ago forgets first.
 */
export function createSightingRoom(versions: number): SightingRoom {
  /** Members in the order of their latest sightings. */
  const members = new Set<RoomMember>();
  let count = 0;
  return {
    use(member, more) {
      members.delete(member);
      members.add(member);
      count += more;
      for (const oldest of members) {
        while (count > versions) {
          const forgotten = oldest.forgetOldestKey();
          if (forgotten === undefined) break;
          count -= forgotten;
        }
        if (count <= versions) return;
        members.delete(oldest);
      }
    },
  };
}

/** The room that all tenants of this process share: a worker for a thousand tenants has the memory of one worker. */
const ROOM_OF_PROCESS = createSightingRoom(65_536);

export function createSightings(
  limits: SightingLimits = LIMITS,
  room: SightingRoom = ROOM_OF_PROCESS,
): Sightings {
  /** Keys in the order of their latest sightings. */
  const known = new Map<ObjectKey, KnownVersion[]>();
  let count = 0;
  /** The number of versions that the room knows of. */
  let reported = 0;
  let last = 0;

  const next = (): SightingOrder => ++last as SightingOrder;

  /** Makes the key the last one to be forgotten. */
  const touch = (key: ObjectKey): KnownVersion[] => {
    const versions = known.get(key) ?? [];
    known.delete(key);
    known.set(key, versions);
    return versions;
  };

  const note = ({ key, since, version, etag }: Sighting & SeenVersion): void => {
    const versions = touch(key);
    const now = next();
    supersede(versions, { since, now, by: version });
    const seen = versions.find(({ identity }) => identity === version);
    if (seen !== undefined) seen.etag = etag;
    else {
      versions.push({ identity: version, etag, firstSeen: now, superseded: undefined, staysAs: undefined });
      count++;
    }
    if (versions.length > limits.versionsOfKey) {
      versions.shift();
      count--;
    }
    while (count > limits.versions) forgetOldestKey();
    report();
  };

  const report = (): void => {
    const more = count - reported;
    reported = count;
    room.use(member, more);
  };

  const forget = (key: ObjectKey, version: VersionIdentity): void => {
    const versions = known.get(key) ?? [];
    const at = versions.findIndex(({ identity }) => identity === version);
    if (at >= 0) count -= versions.splice(at, 1).length;
  };

  const forgetOldestKey = (): number | undefined => {
    for (const [key, versions] of known) {
      known.delete(key);
      count -= versions.length;
      return versions.length;
    }
    return undefined;
  };

  const member: RoomMember = {
    forgetOldestKey() {
      const forgotten = forgetOldestKey();
      reported = count;
      return forgotten;
    },
  };

  const find = (key: ObjectKey, version: VersionIdentity): KnownVersion | undefined =>
    known.get(key)?.find(({ identity }) => identity === version);

  return {
    begin: next,
    isSuperseded: ({ key, version }) => find(key, version)?.superseded !== undefined,
    saw(sighting) {
      const { key, since, version } = sighting;
      const superseded = find(key, version)?.superseded;
      // A version that an attacker shows supersedes no other.
      if (superseded !== undefined && superseded < since) throw putBack();
      note(sighting);
    },
    wrote(sighting) {
      forget(sighting.key, sighting.version);
      note(sighting);
    },
    knowsOther({ key, etag }) {
      const versions = known.get(key);
      const isThat = (each: KnownVersion): boolean => each.superseded === undefined && each.etag === etag;
      return versions !== undefined && !versions.some(isThat);
    },
    sawNothing({ key, since }) {
      if (!known.has(key)) return;
      supersede(touch(key), { since, now: next(), by: undefined });
      report();
    },
    noteStays({ key, version, etag }) {
      const found = find(key, version);
      if (found !== undefined) found.staysAs = etag;
    },
    stays: ({ key, etag }) => known.get(key)?.some(({ staysAs }) => staysAs === etag) ?? false,
  };
}

interface KnownVersion {
  readonly identity: VersionIdentity;
  /** The ETag under which it was met last. */
  etag: ETag;
  /** The moment when the answer that showed it first was judged. */
  readonly firstSeen: SightingOrder;
  /** The moment when it was known to have made way for another version, or for none. */
  superseded: SightingOrder | undefined;
  staysAs: ETag | undefined;
}

/** Marks the versions that were there before the request began: they have made way for the one that it met. */
function supersede(
  versions: readonly KnownVersion[],
  met: {
    readonly since: SightingOrder;
    readonly now: SightingOrder;
    readonly by: VersionIdentity | undefined;
  },
): void {
  for (const version of versions) {
    if (version.identity === met.by || version.firstSeen >= met.since) continue;
    version.superseded ??= met.now;
  }
}

function putBack(): MemoryError {
  return new MemoryError('integrity', 'an older version of an object was put back in its place', {
    details: { reason: 'put_back' },
  });
}
