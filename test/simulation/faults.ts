import type { Chance } from './chance.ts';

/** What befalls one attempt of a request; times in milliseconds. */
export interface Attempt {
  /** From sending to being executed. */
  readonly travel: number;
  /** How much of it is executed: of a batch a part may be. */
  readonly executed: 'all' | 'some' | 'none';
  /** From being executed to the answer's arrival; undefined: no answer comes. */
  readonly answer: number | undefined;
  /** When the client gives up waiting for the answer, from sending on. It may be executed after that. */
  readonly patience: number;
  /** The server answers that it will not do it now, and has not done it: 409, 429. */
  readonly refused: boolean;
}

/** How the network and the server behave in one simulation. */
export interface Weather {
  readonly name: 'calm' | 'rough' | 'storm';
  /** The longest usual time of a request to its server, milliseconds. */
  readonly slowness: number;
  /** How likely an attempt is to go wrong in one way or another. */
  readonly trouble: number;
}

/**
 * No request is executed later than this after it was sent, in milliseconds. Tombstones rely on such a bound: their
 * DELETE is sent within 45 s and has arrived when they are 180 s old.
 */
export const LATEST_MS = 28_000;

export function drawWeather(chance: Chance): Weather {
  const name = chance.pick(['calm', 'calm', 'rough', 'rough', 'rough', 'storm'] as const);
  const slowness = chance.pick([5, 50, 50, 500]);
  return { name, slowness, trouble: { calm: 0, rough: 0.06, storm: 0.25 }[name] };
}

export function drawAttempt(chance: Chance, weather: Weather): Attempt {
  const time = (): number => {
    // Mostly near, now and then far: races need both.
    const spread = chance.happens(0.1) ? 8 : 1;
    return chance.fraction() ** 2 * weather.slowness * spread;
  };
  const smooth: Attempt = {
    travel: time(),
    executed: 'all',
    answer: time(),
    patience: Number.POSITIVE_INFINITY,
    refused: false,
  };
  if (!chance.happens(weather.trouble)) return smooth;
  const patience = smooth.travel + chance.fraction() * 3_000;
  switch (chance.pick(['lost', 'unanswered', 'partly', 'late', 'late', 'refused'] as const)) {
    case 'lost':
      return { ...smooth, executed: 'none', answer: undefined, patience };
    case 'unanswered':
      return { ...smooth, answer: undefined, patience };
    case 'partly':
      return { ...smooth, executed: 'some', answer: undefined, patience };
    case 'late': {
      const most = chance.pick([2_000, 10_000, LATEST_MS]);
      const travel = Math.min(LATEST_MS, smooth.travel + chance.fraction() * most);
      return { ...smooth, travel, answer: undefined, patience };
    }
    case 'refused':
      return { ...smooth, executed: 'none', refused: true };
  }
}

/** A network in which nothing goes wrong any more. */
export const FAIR_WEATHER: Weather = { name: 'calm', slowness: 5, trouble: 0 };
