import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { guardDeletes } from '../../../src/store/guarded-delete.ts';
import type { ETag, ObjectStore, WriteResult } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import {
  type Around,
  ignoreDeleteConditions,
  interceptStore,
  type NotedOptions,
  noteOptions,
  recordInto,
  type StoreCall,
} from '../../stage/store-wrappers.ts';
import { createVirtualTime, type VirtualTime } from '../../stage/virtual-time.ts';

export const KEY = 'data/file' as ObjectKey;

/** A store that ignores conditions on deletes, and before it the wrapper that guards them. */
export interface GuardedSite {
  readonly time: VirtualTime;
  /** The store itself, below the wrapper. */
  readonly base: ObjectStore;
  /** The requests below the wrapper, and what each was sent with. */
  readonly calls: StoreCall[];
  readonly noted: NotedOptions[];
  readonly store: ObjectStore;
}

export function openSite(
  around: Around = (_, proceed) => proceed(),
  options:
    | NonNullable<Parameters<typeof guardDeletes>[1]>
    | ((time: VirtualTime) => NonNullable<Parameters<typeof guardDeletes>[1]>) = {},
): GuardedSite {
  const time = createVirtualTime();
  const base = openSqliteObjectStore({ path: ':memory:', clock: time.clock, pause: time.pause });
  const calls: StoreCall[] = [];
  const noted: NotedOptions[] = [];
  const record = recordInto(calls);
  const wire = interceptStore(ignoreDeleteConditions(base), (call, proceed) =>
    record(call, () => around(call, proceed)),
  );
  const { clock, pause, fraction, randomBytes: random } = time;
  const own = typeof options === 'function' ? options(time) : options;
  const store = guardDeletes(noteOptions(wire, noted), {
    clock,
    wallClock: clock,
    pause,
    fraction,
    random,
    ...own,
  });
  return { time, base, calls, noted, store };
}

export async function create(store: ObjectStore, text: string, key: ObjectKey = KEY): Promise<ETag> {
  return created(await store.put(key, bytesOf(text), { mode: 'create' }));
}

export function created(result: WriteResult): ETag {
  if (!('etag' in result)) throw new Error(`the write met a conflict: ${result.conflict}`);
  return result.etag;
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
