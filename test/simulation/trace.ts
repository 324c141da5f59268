import { START } from './scheduler.ts';

/** The record of a simulation, line by line. */
export interface Trace {
  note(who: string, what: string): void;
  lines(): readonly string[];
}

export function createTrace(clock: () => number): Trace {
  const noted: { readonly at: number; readonly who: string; readonly what: string }[] = [];
  return {
    note(who, what) {
      noted.push({ at: clock(), who, what });
    },
    lines: () => noted.map(({ at, who, what }) => `${instant(at)}  ${who.padEnd(10)} ${what}`),
  };
}

/** Writes an instant as milliseconds since the simulation began. */
function instant(at: number): string {
  return Number.isFinite(at) ? (at - START).toFixed(1).padStart(10) : '       end';
}
