import { createHash, randomBytes } from 'node:crypto';
import type {
  DatedMeta,
  DeleteFailure,
  DeleteOptions,
  DeleteTarget,
  ETag,
  GetOptions,
  ListedObject,
  ListOptions,
  ListPage,
  ObjectKey,
  ObjectMeta,
  ObjectStore,
  PutMode,
  PutOptions,
  RequestOptions,
  StoredObject,
  WriteResult,
} from 'sealed-memory';
import { openMemory } from 'sealed-memory';

type Kept = Omit<StoredObject, 'servedAt'>;

/** A store in a Map; `objectStoreContract` of `sealed-memory/testing` says what another one has to promise. */
class MapStore implements ObjectStore {
  readonly #objects = new Map<ObjectKey, Kept>();

  async get(key: ObjectKey, options?: GetOptions): Promise<StoredObject | 'not_modified' | undefined> {
    options?.signal?.throwIfAborted();
    const found = this.#objects.get(key);
    if (found === undefined) return undefined;
    return found.etag === options?.ifNoneMatch ? 'not_modified' : { ...found, servedAt: Date.now() };
  }

  async head(key: ObjectKey, options?: RequestOptions): Promise<DatedMeta | undefined> {
    options?.signal?.throwIfAborted();
    const { body: _, ...meta } = this.#objects.get(key) ?? { body: undefined };
    return 'etag' in meta ? { ...(meta as ObjectMeta), servedAt: Date.now() } : undefined;
  }

  async put(key: ObjectKey, body: Uint8Array, { mode, signal }: PutOptions): Promise<WriteResult> {
    signal?.throwIfAborted();
    const conflict = this.#conflict(key, mode);
    if (conflict !== undefined) return { conflict };
    const etag = createHash('sha256').update(body).digest('hex') as ETag;
    this.#objects.set(key, { body: body.slice(), etag, size: body.length, lastModified: Date.now() });
    return { etag };
  }

  async delete(targets: readonly DeleteTarget[], options?: DeleteOptions): Promise<readonly DeleteFailure[]> {
    options?.signal?.throwIfAborted();
    return targets.flatMap(({ key, ifMatch }) => {
      const conflict = ifMatch && this.#conflict(key, { ifMatch });
      if (conflict === 'changed' || conflict === 'missing') return [{ key, conflict }];
      this.#objects.delete(key);
      return [];
    });
  }

  async *list({ prefix, startAfter = '' }: ListOptions): AsyncGenerator<ListPage> {
    const objects: ListedObject[] = [...this.#objects]
      .filter(([key]) => key.startsWith(prefix) && key > startAfter)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, { body: _, ...meta }]) => ({ key, ...meta }));
    yield { objects, servedAt: Date.now() };
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #conflict(key: ObjectKey, mode: PutMode): 'exists' | 'changed' | 'missing' | undefined {
    const found = this.#objects.get(key);
    if (mode === 'create') return found && 'exists';
    if (mode === 'overwrite' || found?.etag === mode.ifMatch) return undefined;
    return found === undefined ? 'missing' : 'changed';
  }
}

await using store = new MapStore();
await using memory = await openMemory({ store, tenant: 'acme', rootKey: randomBytes(32) });
await memory.files.write('/memories/launch.md', 'The launch is in May.');
