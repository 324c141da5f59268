import { MemoryError } from '../../src/errors.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import {
  type ChangeConflict,
  type DeleteTarget,
  type ETag,
  type GetOptions,
  KEYS_PER_REQUEST,
  lateness,
  type ObjectStore,
  type PutMode,
  type SendBound,
} from '../../src/store/port.ts';
import { throwIfAborted } from '../../src/time.ts';

/** A guarded store of objects that a process holds, for a tenth of the time that SQLite takes. */
export interface HeldStore extends ObjectStore {
  /** Another store that begins with the same objects, of the same versions and times. */
  copy(clock: () => number): HeldStore;
}

interface Held {
  readonly body: Uint8Array;
  readonly etag: ETag;
  readonly lastModified: number;
}

type Missed = { readonly key: ObjectKey; readonly conflict: 'changed' | 'missing' };

interface Ordered {
  readonly key: ObjectKey;
  readonly bytes: string;
}

let versions = 0;

export function openHeldStore(
  clock: () => number,
  begin: ReadonlyMap<ObjectKey, Held> = new Map(),
): HeldStore {
  const objects = new Map(begin);
  /** All keys in the order of their bytes; undefined once a key came or went. */
  let order: readonly Ordered[] | undefined;
  const inOrder = (): readonly Ordered[] => {
    order ??= Array.from(objects.keys(), (key) => ({ key, bytes: bytesOf(key) })).sort((a, b) =>
      a.bytes < b.bytes ? -1 : 1,
    );
    return order;
  };

  const conflictOf = ({ key, ifMatch }: DeleteTarget): Missed | undefined => {
    const held = objects.get(key);
    if (ifMatch === undefined || held?.etag === ifMatch) return undefined;
    return { key, conflict: held === undefined ? 'missing' : 'changed' };
  };
  const refusalOf = (key: ObjectKey, mode: PutMode): ChangeConflict | undefined => {
    if (mode === 'overwrite') return undefined;
    if (mode !== 'create') return conflictOf({ key, ...mode });
    return objects.has(key) ? { key, conflict: 'exists' } : undefined;
  };
  const erase = (key: ObjectKey): void => {
    if (objects.delete(key)) order = undefined;
  };
  const write = (key: ObjectKey, body: Uint8Array): ETag => {
    const etag = `"${++versions}"` as ETag;
    if (!objects.has(key)) order = undefined;
    objects.set(key, { body: body.slice(), etag, lastModified: clock() });
    return etag;
  };

  return {
    copy: (itsClock) => openHeldStore(itsClock, objects),
    async get(key, options) {
      throwIfAborted(options?.signal);
      const held = objects.get(key);
      if (held === undefined) return undefined;
      if (held.etag === options?.ifNoneMatch) return 'not_modified';
      return { ...held, body: within(held.body, options), size: held.body.length, servedAt: clock() };
    },
    async head(key, options) {
      throwIfAborted(options?.signal);
      const held = objects.get(key);
      if (held === undefined) return undefined;
      const { etag, lastModified, body } = held;
      return { etag, lastModified, size: body.length, servedAt: clock() };
    },
    async put(key, body, { mode, sendBy, signal }) {
      throwIfAborted(signal);
      const refused = refusalOf(key, mode);
      if (refused !== undefined) return { conflict: refused.conflict };
      refuseLate(sendBy);
      return { etag: write(key, body) };
    },
    async delete(targets, { sendBy, signal } = {}) {
      throwIfAborted(signal);
      refuseLate(sendBy);
      return targets.flatMap((target) => {
        const refused = conflictOf(target);
        if (refused === undefined) erase(target.key);
        return refused ?? [];
      });
    },
    async changeAll({ puts, deletes }, { sendBy, signal } = {}) {
      throwIfAborted(signal);
      const conflicts = [
        ...puts.flatMap(({ key, mode }) => refusalOf(key, mode) ?? []),
        ...deletes.flatMap((target) => conflictOf(target) ?? []),
      ];
      if (conflicts.length > 0) return { conflicts };
      refuseLate(sendBy);
      for (const { key } of deletes) erase(key);
      return { etags: puts.map(({ key, body }) => write(key, body)) };
    },
    async *list({ prefix, startAfter = '', maxKeys = KEYS_PER_REQUEST, signal }) {
      const most = Math.min(maxKeys, KEYS_PER_REQUEST);
      for (let after: string | undefined = bytesOf(startAfter); after !== undefined; ) {
        throwIfAborted(signal);
        const from: string = after;
        const left = inOrder().filter(({ key, bytes }) => bytes > from && key.startsWith(prefix));
        const page = left.slice(0, most);
        const listed = page.flatMap(({ key }) => {
          const held = objects.get(key);
          if (held === undefined) return [];
          return [{ key, etag: held.etag, size: held.body.length, lastModified: held.lastModified }];
        });
        yield { objects: listed, servedAt: clock() };
        after = left.length > page.length ? page.at(-1)?.bytes : undefined;
      }
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

function within(body: Uint8Array, options: GetOptions | undefined): Uint8Array {
  const max = options?.maxBytes ?? Number.POSITIVE_INFINITY;
  if (body.length <= max) return body.slice();
  throw new MemoryError('limit_exceeded', 'The stored object is larger than the caller accepts.', {
    details: { limit: 'object_bytes', value: body.length, max },
  });
}

function refuseLate(sendBy: SendBound | undefined): void {
  const late = lateness(sendBy);
  if (late !== undefined) throw late;
}

/** Makes a text whose order is that of the key's bytes. */
function bytesOf(key: string): string {
  return Buffer.from(key).toString('latin1');
}
