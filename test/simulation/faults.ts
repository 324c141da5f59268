import type { Chance } from './chance.ts';

/** The fate of one attempt of a request; times in milliseconds. */
export interface Attempt {
  /**
   * The time from the decision to the first byte on the wire: credentials, signing, the queue for a connection. A
   * process that stands still meanwhile sends it when it thaws, one that dies does not.
   */
  readonly held: number;
  /** The time from the sending to the execution. */
  readonly travel: number;
  /** The part that is executed: of a batch it may be `some`. */
  readonly executed: 'all' | 'some' | 'none';
  /** The time from the execution to the answer's arrival; undefined: no answer comes. */
  readonly answer: number | undefined;
  /**
   * The time from the sending until the client ends its wait for the answer. The attempt may be executed after that.
   */
  readonly patience: number;
  /** The server answers that it will not do it now, and has not done it: 409, 429. */
  readonly refused: boolean;
}

export const WEATHERS = ['calm', 'rough', 'storm', 'gale', 'tardy'] as const;

/** The behaviour of the network and the server in one simulation. */
export interface Weather {
  readonly name: (typeof WEATHERS)[number];
  /** The longest usual time of a request to its server, milliseconds. */
  readonly slowness: number;
  /** The likelihood that an attempt goes wrong in one way or another. */
  readonly trouble: number;
  /** No request is executed later than this after it was put on the wire. */
  readonly latest: number;
}

/** The usual delay of a late network, on which nothing relies. */
const LATE_MS = 28_000;
/**
 * A delay that outlasts every wait: for leases, the takeover of tombstones, the retirement of keys. Tombstones rely on
 * a bound, for their DELETE is sent within 45 s and has to arrive before they are 180 s old.
 */
export const LATEST_MS = 400_000;
/** A DELETE that travels longer may hit what took the place of its tombstone. */
export const LATE_DELETE_MS = 135_000;
/** Sealed bytes that travel longer may arrive after the retirement of their key, and be readable for no process. */
export const LATE_SEALED_MS = 60_000;
/** The longest that anything is held before it is sent: longer than any bound that is looked at there. */
const LONGEST_HELD_MS = 250_000;

/** A time after the bound until which sealed bytes may be sent; only a named seed waits for it. */
const LATEST_ANSWER_MS = 40_000;

export function drawWeather(chance: Chance, given?: Weather['name']): Weather {
  const drawn = chance.pick(['calm', 'calm', 'rough', 'rough', 'rough', 'storm', 'gale'] as const);
  const name = given ?? drawn;
  const slowness = chance.pick([5, 50, 50, 500]);
  const trouble = { calm: 0, rough: 0.06, storm: 0.25, gale: 0.15, tardy: 0.3 }[name];
  return { name, slowness, trouble, latest: name === 'gale' ? LATEST_MS : LATE_MS };
}

export function drawAttempt(chance: Chance, weather: Weather): Attempt {
  const time = (): number => {
    // Mostly near, now and then far: races need both.
    const spread = chance.happens(0.1) ? 8 : 1;
    return chance.fraction() ** 2 * weather.slowness * spread;
  };
  const smooth: Attempt = {
    held: chance.happens(0.3) ? chance.fraction() : 0,
    travel: time(),
    executed: 'all',
    answer: time(),
    patience: Number.POSITIVE_INFINITY,
    refused: false,
  };
  if (!chance.happens(weather.trouble)) return smooth;
  if (weather.name === 'tardy') return { ...smooth, answer: chance.fraction() * LATEST_ANSWER_MS };
  const patience = smooth.travel + chance.fraction() * 3_000;
  switch (chance.pick(['lost', 'unanswered', 'partly', 'late', 'late', 'refused', 'held'] as const)) {
    case 'lost':
      return { ...smooth, executed: 'none', answer: undefined, patience };
    case 'unanswered':
      return { ...smooth, answer: undefined, patience };
    case 'partly':
      return { ...smooth, executed: 'some', answer: undefined, patience };
    case 'late': {
      const most = chance.pick([2_000, 10_000, weather.latest]);
      const travel = Math.min(weather.latest, smooth.travel + chance.fraction() * most);
      return { ...smooth, travel, answer: undefined, patience };
    }
    case 'held':
      return { ...smooth, held: chance.fraction() * chance.pick([3_000, 20_000, 70_000, LONGEST_HELD_MS]) };
    case 'refused':
      return { ...smooth, executed: 'none', refused: true };
  }
}

/** A network in which nothing goes wrong any more. */
export const FAIR_WEATHER: Weather = { name: 'calm', slowness: 5, trouble: 0, latest: LATE_MS };
