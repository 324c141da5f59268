/** A map that keeps the entries used last. `get` and `set` are uses. */
interface Recent<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): void;
  keys(): IterableIterator<K>;
}

interface RecentOptions<K, V> {
  /** The most of all sizes together. */
  readonly most: number;
  /** The number of entries, the last ones used, that stay however large they are; 1 unless given. */
  readonly least?: number;
  /** Answers the size of an entry, the same at every call; 1 unless given. */
  readonly sizeOf?: (value: V, key: K) => number;
  /** Hears once of every value that leaves: evicted, deleted, or replaced. */
  readonly dispose?: (value: V) => void;
}

/**
 * Makes a map that evicts the entry used longest ago until the sizes together are at most `most`, or `least` entries
 * are left. The new entry stays: one that is larger than `most` would otherwise evict all others and then itself.
 */
export function createRecent<K, V>(options: RecentOptions<K, V>): Recent<K, V> {
  const { most, least = 1, sizeOf = () => 1, dispose = () => {} } = options;
  /** The entries, the one used longest ago first. */
  const entries = new Map<K, { readonly value: V; readonly size: number }>();
  let total = 0;

  const remove = (key: K): void => {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    total -= entry.size;
    dispose(entry.value);
  };

  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value) {
      remove(key);
      const size = sizeOf(value, key);
      entries.set(key, { value, size });
      total += size;
      for (const oldest of entries.keys()) {
        if (total <= most || entries.size <= least) break;
        remove(oldest);
      }
    },
    delete: remove,
    keys: () => entries.keys(),
  };
}
