import { toBase64url } from '../format/encoding.ts';
import type { RequestOptions } from '../store/port.ts';
import type { Ages, Instant } from '../time.ts';
import type { LoadedKeyring } from './loaded-keyring.ts';

interface KeySearchOptions {
  readonly load: (request: RequestOptions) => Promise<LoadedKeyring | undefined>;
  /** Reads the keyring past the cache. */
  readonly look: (request: RequestOptions) => Promise<LoadedKeyring | undefined>;
  readonly ages: Ages;
  /** The pause after one look before the next (milliseconds), where looks are not free. */
  readonly everyMs: number;
}

/**
 * The keyring that was searched. `withheld`: it was too early for another look, so the search knows nothing about that
 * key.
 */
type SearchedKeyring = LoadedKeyring | 'withheld' | 'no_keyring';

export type KeySearch = (keyId: Uint8Array, request?: RequestOptions) => Promise<SearchedKeyring>;

/**
 * The most key ids that a process remembers as missing: a writer to the store can cause this many looks at once, by
 * objects under made-up keys.
 */
const REMEMBERED = 256;

/**
 * Makes the search in the keyring for keys that objects name. A key is in the keyring before anything is sealed with
 * it: one that a look did not find, after an object had named it, does not come later. An id is therefore looked for
 * once and then remembered as missing. Once 256 ids are remembered, the search looks once per `everyMs`.
 */
export function createKeySearch({ ages, everyMs, look, load }: KeySearchOptions): KeySearch {
  const missing = new Set<string>();
  let last: Instant | undefined;

  const note = (id: string): void => {
    const [first] = missing;
    if (missing.size >= REMEMBERED && first !== undefined) missing.delete(first);
    missing.add(id);
  };

  return async (keyId, request = {}) => {
    const id = toBase64url(keyId);
    if (missing.has(id)) return (await load(request)) ?? 'no_keyring';
    const isEarly = last !== undefined && ages.isWithin(last, everyMs);
    if (isEarly && missing.size >= REMEMBERED) return 'withheld';
    last = ages.now();
    const keyring = await look(request);
    if (keyring === undefined) return 'no_keyring';
    if (keyring.keys.find(keyId) === undefined) note(id);
    return keyring;
  };
}
