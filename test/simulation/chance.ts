/** Chance that repeats itself for the same seed. */
export interface Chance {
  /** From 0 up to, but not including, 1. */
  fraction(): number;
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number;
  happens(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  bytes(length: number): Uint8Array;
  /** Another stream, which does not disturb this one however much is drawn from it. */
  fork(name: string): Chance;
}

/** The generator sfc32: 128 bits of state, so that near seeds have nothing in common. */
export function createChance(seed: string): Chance {
  let [a, b, c, counter] = [hash(`a${seed}`), hash(`b${seed}`), hash(`c${seed}`), 1];
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 12; round++) next();
  const fraction = (): number => next() / 2 ** 32;

  return {
    fraction,
    between: (low, high) => low + Math.floor(fraction() * (high - low + 1)),
    happens: (probability) => fraction() < probability,
    pick(items) {
      const item = items[Math.floor(fraction() * items.length)];
      if (item === undefined) throw new Error('there is nothing to pick from');
      return item;
    },
    bytes: (length) => Uint8Array.from({ length }, () => next() & 0xff),
    fork: (name) => createChance(`${seed}/${name}`),
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) state = Math.imul(state ^ text.charCodeAt(at), 0x01000193);
  return state;
}
