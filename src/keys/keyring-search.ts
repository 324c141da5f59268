import { toBase64url } from '../format/encoding.ts';
import type { RequestOptions } from '../store/port.ts';
import type { Ages, Instant } from './keyring-age.ts';
import type { LoadedKeyring } from './keyring-life.ts';

export interface KeySearchOptions {
  readonly ages: Ages;
  /** How long after one look the next one is withheld, where looks are not free. */
  readonly everyMs: number;
  /** The keyring by a look that begins after the call. */
  look(request: RequestOptions): Promise<LoadedKeyring | undefined>;
  /** The keyring as the process has it. */
  load(request: RequestOptions): Promise<LoadedKeyring | undefined>;
}

export type KeySearch = (
  keyId: Uint8Array,
  request?: RequestOptions,
) => Promise<LoadedKeyring | 'withheld' | undefined>;

/** What a writer to the store can make a process look for at once, by objects under made-up keys. */
const REMEMBERED = 256;

/**
 * Looks into the keyring for keys that objects name. A key is in the keyring before anything is sealed with it: one
 * that a look did not find, after an object had named it, does not come later. So an id is looked for once and then
 * remembered as missing. Where no more ids can be remembered there is one look now and then.
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
    if (missing.has(id)) return load(request);
    const isEarly = last !== undefined && ages.isWithin(last, everyMs);
    if (isEarly && missing.size >= REMEMBERED) return 'withheld';
    last = ages.now();
    const keyring = await look(request);
    if (keyring !== undefined && keyring.keys.find(keyId) === undefined) note(id);
    return keyring;
  };
}
