import type { KeptCall } from '../tree/tenant.ts';

/** The name under which a call takes effect once. */
type CallOnce = NonNullable<KeptCall['once']>;

/** The bytes of a key that ids bear. */
const KEY_BYTES = 12;
/** The most calls whose ids bear the key: one bit of its first two bytes for each. */
const MOST_CALLS = 16;
const MARKS_BYTES = 2;

/**
 * Makes the name of one of several calls.
 *
 * @param key 12 random bytes or more, drawn for all of these calls together.
 * @param index the place of the call among them, from 0 on. From 16 on its ids bear no mark.
 */
export function createOnce(
  { key, index }: { readonly key: Uint8Array; readonly index: number },
  again: CallOnce['again'],
): CallOnce {
  const bit = index < MOST_CALLS ? 1 << index : 0;
  /** Reads the bits of the calls in an id, or in its beginning; 0: another writer drew it. */
  const callsIn = (id: Uint8Array): number => {
    const end = Math.min(KEY_BYTES, id.length);
    for (let at = MARKS_BYTES; at < end; at++) if (id[at] !== key[at]) return 0;
    return firstTwo(id) ^ firstTwo(key);
  };
  return {
    key,
    isMarked: bit !== 0,
    mark(drawn, replaced) {
      if (bit === 0) return drawn;
      const calls = callsIn(replaced) | bit;
      const id = drawn.slice();
      id.set(key.subarray(0, KEY_BYTES));
      id[0] = (id[0] ?? 0) ^ (calls >> 8);
      id[1] = (id[1] ?? 0) ^ (calls & 0xff);
      return id;
    },
    bears: (id) => (callsIn(id) & bit) !== 0,
    follows(id) {
      const calls = callsIn(id);
      return calls > 0 && calls < bit;
    },
    again,
  };
}

function firstTwo([first = 0, second = 0]: Uint8Array): number {
  return (first << 8) | second;
}
