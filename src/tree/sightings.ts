import { MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import { OFFSET } from '../format/header.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import type { ETag } from '../store/port.ts';

/** Tells one version of an object apart from all others that were ever written: the nonce of its wrap. */
export type VersionIdentity = string & { readonly __brand: 'VersionIdentity' };

/** A place in the order of what this process did and saw. No clock: nothing sets it back. */
export type SightingOrder = number & { readonly __brand: 'Instant' };

interface StoredVersion {
  readonly key: ObjectKey;
  readonly etag: ETag;
}

/** What a process saw at a key, by a request that it began at `since`. */
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
 * The versions of a tenant's objects that this process has seen, to notice an older one that was put back. A version
 * is superseded once a request that began after its first sighting saw another version, or none. One that was
 * superseded before a request began cannot be what that request meets, however its answer was delayed, unless it was
 * put back. Memory is bounded, and what is forgotten is not noticed any more; nothing is remembered between processes.
 */
export interface Sightings {
  begin(): SightingOrder;
  /**
   * A version was read and verified. @throws MemoryError `integrity` (`reason: 'put_back'`) when it had been
   * superseded before.
   */
  saw(sighting: Sighting & SeenVersion): void;
  /** A write of our own was acknowledged; it is in its place by right, whatever was known of it. */
  wrote(sighting: Sighting & SeenVersion): void;
  /** Whether a version is known to have made way for another one, or for none. */
  isSuperseded(seen: Pick<Sighting, 'key'> & { readonly version: VersionIdentity }): boolean;
  /**
   * Whether what this process knows last of the key is anything but the version of that ETag, so that only a read tells which of
   * both is older. False where it knows nothing of the key.
   */
  knowsOther(stored: StoredVersion): boolean;
  /** Nothing was at the key, be it because a delete of our own succeeded. */
  sawNothing(sighting: Sighting): void;
  /** It is certain that the writer of a version, which was seen or written here, does not take it back any more. */
  settle(settled: StoredVersion & { readonly version: VersionIdentity }): void;
  /** Whether that was noted, and not forgotten since. */
  isSettled(stored: StoredVersion): boolean;
}

interface SightingLimits {
  /** Versions of one tenant that are remembered. The keys seen longest ago are forgotten first. */
  readonly versions: number;
  /** Versions of one key that are remembered, the latest ones. */
  readonly versionsOfKey: number;
}

const LIMITS: SightingLimits = { versions: 8_192, versionsOfKey: 64 };

/** The identity of an object that was sealed here or has been opened. */
export function identityOf(object: Uint8Array): VersionIdentity {
  return toBase64url(object.subarray(OFFSET.nonce, OFFSET.wrap)) as VersionIdentity;
}

/** Room for versions that the sightings of many tenants share. */
interface SightingRoom {
  /** `member` has seen something, and remembers so many versions more than before. */
  use(member: RoomMember, more: number): void;
}

interface RoomMember {
  /** Forgets the key seen longest ago and answers how many versions that were; undefined when none is left. */
  forgetOldestKey(): number | undefined;
}

/** @param versions that are remembered in all. The tenant that was seen longest ago forgets first. */
export function createSightingRoom(versions: number): SightingRoom {
  /** In the order of their latest sightings. */
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

/** Of this process: the worker of a thousand tenants has the memory of one worker. */
const ROOM_OF_PROCESS = createSightingRoom(65_536);

export function createSightings(
  limits: SightingLimits = LIMITS,
  room: SightingRoom = ROOM_OF_PROCESS,
): Sightings {
  /** In the order of their latest sightings. */
  const known = new Map<ObjectKey, KnownVersion[]>();
  let count = 0;
  /** What the room knows of. */
  let reported = 0;
  let last = 0;

  const next = (): SightingOrder => ++last as SightingOrder;

  /** Puts the key at the end of those that are forgotten. */
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
      versions.push({ identity: version, etag, firstSeen: now, superseded: undefined, settledAs: undefined });
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
      // What an attacker shows supersedes nothing.
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
    settle({ key, version, etag }) {
      const found = find(key, version);
      if (found !== undefined) found.settledAs = etag;
    },
    isSettled: ({ key, etag }) => known.get(key)?.some(({ settledAs }) => settledAs === etag) ?? false,
  };
}

interface KnownVersion {
  readonly identity: VersionIdentity;
  /** As it was met last. */
  etag: ETag;
  /** When the answer that showed it first was judged. */
  readonly firstSeen: SightingOrder;
  /** When it was known to have made way for another version, or for none. */
  superseded: SightingOrder | undefined;
  settledAs: ETag | undefined;
}

/** Versions that were there before the request began have made way for what it met. */
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
