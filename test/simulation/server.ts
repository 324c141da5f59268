import { createHash } from 'node:crypto';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import type {
  DatedMeta,
  DeleteFailure,
  DeleteTarget,
  ETag,
  ListedObject,
  PutMode,
  StoredObject,
} from '../../src/store/port.ts';

/** An object server as S3 is one: every call here is the instant at which a request is executed. */
export interface Server {
  get(key: ObjectKey): StoredObject | undefined;
  head(key: ObjectKey): DatedMeta | undefined;
  put(key: ObjectKey, body: Uint8Array, mode: PutMode): PutAnswer;
  /** Removes one key; its condition is judged in the same instant. */
  remove(target: DeleteTarget): DeleteFailure | undefined;
  /** Finds the first object after `after` that starts with `prefix`, in byte order. */
  next(prefix: string, after: string): ListedObject | undefined;
  date(): number;
  keys(): readonly ObjectKey[];
  /** Lists every body that was ever written to a key. */
  written(key: ObjectKey): readonly Uint8Array[];
}

export type PutAnswer = { readonly etag: ETag } | { readonly conflict: 'exists' | 'changed' | 'missing' };

interface Held {
  readonly body: Uint8Array;
  readonly etag: ETag;
  readonly lastModified: number;
}

/**
 * Makes a server. An ETag is the hash of the body, so that the same bytes written twice are one version, as with S3.
 */
export function createServer(clock: () => number): Server {
  const objects = new Map<ObjectKey, Held>();
  const keyrings: { readonly key: ObjectKey; readonly body: Uint8Array }[] = [];
  // HTTP dates know whole seconds.
  const date = (): number => Math.floor(clock() / 1000) * 1000;

  function head(key: ObjectKey): DatedMeta | undefined {
    const held = objects.get(key);
    if (held === undefined) return undefined;
    const { body, etag, lastModified } = held;
    return { etag, size: body.length, lastModified, servedAt: date() };
  }

  function refusal(key: ObjectKey, mode: PutMode): 'exists' | 'changed' | 'missing' | undefined {
    if (mode === 'overwrite') return undefined;
    const held = objects.get(key);
    if (mode === 'create') return held === undefined ? undefined : 'exists';
    if (held === undefined) return 'missing';
    return held.etag === mode.ifMatch ? undefined : 'changed';
  }

  return {
    head,
    date,
    get(key) {
      const meta = head(key);
      const body = objects.get(key)?.body;
      return meta && body && { ...meta, body: body.slice() };
    },
    put(key, body, mode) {
      const refused = refusal(key, mode);
      if (refused !== undefined) return { conflict: refused };
      if (key.startsWith('keyrings/')) keyrings.push({ key, body: body.slice() });
      const etag = createHash('md5').update(body).digest('hex') as ETag;
      objects.set(key, { body: body.slice(), etag, lastModified: date() });
      return { etag };
    },
    remove({ key, ifMatch }) {
      const held = objects.get(key);
      if (ifMatch !== undefined && held?.etag !== ifMatch) {
        return { key, conflict: held === undefined ? 'missing' : 'changed' };
      }
      objects.delete(key);
      return undefined;
    },
    next(prefix, after) {
      // All keys of a simulation are ASCII, whose code unit order is the byte order.
      let found: ObjectKey | undefined;
      for (const key of objects.keys()) {
        if (key > after && key.startsWith(prefix) && (found === undefined || key < found)) found = key;
      }
      const meta = found === undefined ? undefined : head(found);
      if (found === undefined || meta === undefined) return undefined;
      return { key: found, etag: meta.etag, size: meta.size, lastModified: meta.lastModified };
    },
    keys: () => [...objects.keys()].sort(),
    written: (key) => keyrings.filter((each) => each.key === key).map(({ body }) => body),
  };
}
