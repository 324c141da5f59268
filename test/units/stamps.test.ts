import { describe, expect, it } from 'vitest';
import { createStamps, type Stamps } from '../../src/stamps.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The time that a machine believes it to be. */
const NOW = 1_795_000_000_000;

/** A process, and hands on both of its clocks. */
function openProcess(): {
  readonly stamps: Stamps;
  pass(ms: number): void;
  freeze(ms: number): void;
  set(ms: number): void;
} {
  let [wall, steady] = [NOW, 5_000];
  return {
    stamps: createStamps({ clock: () => wall, monotonic: () => steady }),
    pass(ms) {
      wall += ms;
      steady += ms;
    },
    freeze(ms) {
      wall += ms;
    },
    set(ms) {
      wall += ms;
    },
  };
}

describe('a stamp', () => {
  it('is the own time where the store told none', () => {
    const { stamps, pass } = openProcess();
    expect(stamps.now()).toBe(NOW);
    pass(HOUR);
    expect([stamps.now(), stamps.skew()]).toEqual([NOW + HOUR, 0]);
  });

  it.each([-MINUTE, -SECOND, 0, SECOND, MINUTE])('is the own time where the store differs by %i ms', (ms) => {
    const { stamps, pass } = openProcess();
    stamps.observe(NOW + ms);
    pass(10 * MINUTE);
    expect([stamps.now(), stamps.skew()]).toEqual([NOW + 10 * MINUTE, 0 - ms]);
    expect(stamps.storeTime()).toBe(NOW + 10 * MINUTE + ms);
  });

  it.each([-47 * HOUR, -MINUTE - 1, MINUTE + 1, 47 * HOUR, 48 * HOUR])(
    'is the time of the store where that differs by %i ms, and goes on with it',
    (ms) => {
      const { stamps, pass } = openProcess();
      stamps.observe(NOW + ms);
      expect(stamps.now()).toBe(NOW + ms);
      pass(HOUR);
      expect([stamps.now(), stamps.skew()]).toEqual([NOW + ms + HOUR, -ms]);
    },
  );

  it.each([-NOW, -49 * HOUR, -48 * HOUR - 1, 48 * HOUR + 1, 49 * HOUR, 253_402_300_799_000 - NOW])(
    'is refused where the store differs by %i ms, until both agree again',
    (ms) => {
      const { stamps } = openProcess();
      stamps.observe(NOW + ms);
      expect(() => stamps.now()).toThrow(expect.objectContaining({ code: 'misconfigured' }));
      stamps.observe(NOW);
      expect(stamps.now()).toBe(NOW);
    },
  );

  it('never goes back, whatever each answer tells', () => {
    const { stamps, pass } = openProcess();
    const told = [0, 2 * HOUR, -3 * HOUR, 47 * HOUR, MINUTE, -47 * HOUR, 0].map((ms) => {
      pass(SECOND);
      stamps.observe(NOW + ms);
      return stamps.now();
    });
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect(told.at(-1)).toBe(NOW + 47 * HOUR);
  });

  it('goes on while the process is frozen', () => {
    const { stamps, freeze } = openProcess();
    stamps.observe(NOW - 2 * HOUR);
    freeze(HOUR);
    expect(stamps.now()).toBe(NOW - HOUR);
  });

  it('does not follow a wall clock that is set back', () => {
    const { stamps, pass, set } = openProcess();
    stamps.observe(NOW);
    pass(HOUR);
    set(-3 * HOUR);
    expect(stamps.now()).toBe(NOW + HOUR);
  });

  it('is a whole number of milliseconds, also by the time of the store', () => {
    const { stamps, pass } = openProcess();
    stamps.observe(NOW - HOUR);
    pass(1.75);
    expect(stamps.now()).toBe(NOW - HOUR + 1);
  });
});
