/** The largest hybrid logical time the format can hold. */
export const MAX_BOUND: bigint = 2n ** 63n - 1n;

const LOGICAL_BITS = 16n;

/**
 * The hybrid logical time of a new binding (docs/format.md, "Object"): the clock, milliseconds since the epoch, above
 * 16 bits that count what falls into one millisecond, and always later than `replaced`, the time of the version it
 * replaces. So the bindings of one file are in order however far the clocks of its writers differ.
 */
export function nextBound(clock: number, replaced?: bigint): bigint {
  const byClock = BigInt(Math.max(0, Math.floor(clock))) << LOGICAL_BITS;
  const next = replaced === undefined || replaced < byClock ? byClock : replaced + 1n;
  return next > MAX_BOUND ? MAX_BOUND : next;
}
