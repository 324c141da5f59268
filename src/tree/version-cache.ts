import type { ObjectKey } from '../format/object-keys.ts';
import type { MemoryPath } from '../language/path.ts';
import { createRecent } from '../recent.ts';
import type { StoredObject } from '../store/port.ts';
import type { Instant } from '../time.ts';

/** A version of a file as it lies in the store: sealed, so that only the tenant's keys open it. */
export type HeldVersion = Pick<StoredObject, 'etag' | 'body'>;

/**
 * The versions that one tenant read or wrote last in this process, by key, and the places where it saw directories.
 * Either may have changed since: only a request whose condition names the ETag, or a listing that shows a file, proves
 * that it is current.
 */
export interface VersionCache {
  /** Answers a copy of the held version, for the caller to keep. */
  find(key: ObjectKey): HeldVersion | undefined;
  /** Holds a version in place of the key's former one. Does nothing after `close`. */
  hold(key: ObjectKey, version: HeldVersion): void;
  drop(key: ObjectKey): void;
  /** Notes when a request began that showed the held version to be the stored one. */
  confirm(key: ObjectKey, at: Instant): void;
  /** Answers the moment of the last `confirm`; undefined where the held version has none. */
  confirmedAt(key: ObjectKey): Instant | undefined;
  /** Tells whether files were seen below the path when a call last looked at it. */
  isDirectory(path: MemoryPath): boolean;
  noteDirectory(path: MemoryPath, seen: 'files' | 'nothing'): void;
  /** Overwrites and drops all held versions. */
  close(): void;
}

interface CachedVersion extends HeldVersion {
  confirmed?: Instant;
}

/** The most bytes that a process holds by default. */
export const DEFAULT_CACHE_BYTES = 16_777_216;
/** The approximate bytes of an entry beside its body and its key. */
const ENTRY_BYTES = 256;
/** The most directories that are remembered, of all tenants together. */
const MOST_DIRECTORIES = 10_000;

/**
 * Makes the caches of many tenants, which never see one another's versions and share `maxBytes`: the version that any
 * of them used longest ago is overwritten and goes first. With 0 they hold nothing.
 */
export function createVersionCaches(maxBytes: number): () => VersionCache {
  if (maxBytes === 0) return () => EMPTY;
  const held = createRecent<string, CachedVersion>({
    most: maxBytes,
    sizeOf,
    dispose: ({ body }) => body.fill(0),
  });
  const directories = createRecent<string, true>({ most: MOST_DIRECTORIES });
  let tenants = 0;
  return () => {
    const prefix = `${tenants++} `;
    let closed = false;
    return {
      find(key) {
        const found = held.get(`${prefix}${key}`);
        return found && { etag: found.etag, body: found.body.slice() };
      },
      hold(key, { etag, body }) {
        const name = `${prefix}${key}`;
        if (closed || sizeOf({ etag, body }, name) > maxBytes) held.delete(name);
        else held.set(name, { etag, body: body.slice() });
      },
      drop(key) {
        held.delete(`${prefix}${key}`);
      },
      confirm(key, at) {
        const found = held.get(`${prefix}${key}`);
        if (found !== undefined) found.confirmed = at;
      },
      confirmedAt: (key) => held.get(`${prefix}${key}`)?.confirmed,
      isDirectory: (path) => directories.get(`${prefix}${path}`) === true,
      noteDirectory(path, seen) {
        const name = `${prefix}${path}`;
        if (seen === 'files' && !closed) directories.set(name, true);
        else directories.delete(name);
      },
      close() {
        closed = true;
        for (const names of [held, directories]) {
          for (const name of [...names.keys()]) if (name.startsWith(prefix)) names.delete(name);
        }
      },
    };
  };
}

function sizeOf({ body }: HeldVersion, name: string): number {
  return body.length + name.length + ENTRY_BYTES;
}

const EMPTY: VersionCache = {
  find: () => undefined,
  hold: () => {},
  drop: () => {},
  confirm: () => {},
  confirmedAt: () => undefined,
  isDirectory: () => false,
  noteDirectory: () => {},
  close: () => {},
};
