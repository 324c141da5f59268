import { toBase64url } from '../format/encoding.ts';
import type { RequestOptions } from '../store/port.ts';
import type { Ages, Instant } from '../time.ts';
import type { LoadedKeyring } from './loaded-keyring.ts';

interface KeySearchOptions {
  readonly load: (request: RequestOptions) => Promise<LoadedKeyring | undefined>;
  /** Past the cache. */
  readonly look: (request: RequestOptions) => Promise<LoadedKeyring | undefined>;
  readonly ages: Ages;
  /** How long after one look the next one is withheld, where looks are not free. */
  readonly everyMs: number;
}

/** `withheld`: it was too early for another look, so nothing is known of that key. */
type SearchedKeyring = LoadedKeyring | 'withheld' | 'no_keyring';

export type KeySearch = (keyId: Uint8Array, request?: RequestOptions) => Promise<SearchedKeyring>;

/** What a writer to the store can make a process look for at once, by objects under made-up keys. */
const REMEMBERED = 256;

/**
 * Looks into the keyring for keys that objects name. A key is in the keyring before anything is sealed with it: one
 * that a look did not find, after an object had named it, does not come later. So an id is looked for once and then
 * remembered as missing. Where no more ids can be remembered there is one look per `everyMs`.
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
