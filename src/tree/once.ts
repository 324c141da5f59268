import { ID_BYTES, NO_ID } from '../format/wrap.ts';
import type { Once, Work } from './tenant.ts';

/** The bytes of a key that ids bear. */
const KEY_BYTES = 12;
/** The most calls whose ids bear the key: one bit of its first two bytes for each. */
const MOST_CALLS = 16;
const MARKS_BYTES = 2;

/** Answers the bit that stands for the call; 0 for one whose ids bear nothing. */
export function bitOf({ index }: Once): number {
  return index < MOST_CALLS ? 1 << index : 0;
}

/**
 * Reads the bits of the calls in an id, or in its beginning: of all calls that made a version what it is. 0: another
 * writer drew it.
 */
export function callsIn({ key }: Once, id: Uint8Array): number {
  const end = Math.min(KEY_BYTES, id.length);
  for (let at = MARKS_BYTES; at < end; at++) if (id[at] !== key[at]) return 0;
  return firstTwo(id) ^ firstTwo(key);
}

/** Tells whether the call drew the id, or one that the id followed on. */
export function bears(once: Once, id: Uint8Array): boolean {
  return (callsIn(once, id) & bitOf(once)) !== 0;
}

/**
 * Draws an id on behalf of calls. Four bytes of it are random in any case, so that each attempt has an id of its own.
 *
 * @param replaced the id of the version that the new one replaces.
 */
export function drawId(
  { tenant, call }: Work,
  { onces = call.once ? [call.once] : [], replaced = NO_ID }: DrawnFor = {},
): Uint8Array {
  const id = tenant.random(ID_BYTES);
  let before = replaced;
  for (const once of onces) {
    if (bitOf(once) === 0) continue;
    const calls = callsIn(once, before) | bitOf(once);
    id.set(once.key.subarray(0, KEY_BYTES));
    id[0] = (id[0] ?? 0) ^ (calls >> 8);
    id[1] = (id[1] ?? 0) ^ (calls & 0xff);
    before = id.slice();
  }
  return id;
}

interface DrawnFor {
  /** The calls that have a part in it; that of the work unless given. */
  readonly onces?: readonly Once[] | undefined;
  readonly replaced?: Uint8Array | undefined;
}

function firstTwo([first = 0, second = 0]: Uint8Array): number {
  return (first << 8) | second;
}
