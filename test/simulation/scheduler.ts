import { turnsWait } from '../../src/time.ts';

/** Virtual time: it passes only when nothing else can happen, and everything that waits, waits here. */
export interface Scheduler {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `event` after `ms` milliseconds, those that fall together in the order of their calls. */
  after(ms: number, event: () => void): void;
  /** Lets time pass until nothing waits any more, or `until` holds after an event. */
  run(until?: () => boolean): Promise<void>;
}

interface Entry {
  readonly at: number;
  readonly place: number;
  readonly event: () => void;
}

export const START: number = Date.UTC(2026, 0, 1);

/** @param mostEvents throws instead of simulating for ever. */
export function createScheduler(mostEvents = 200_000): Scheduler {
  const heap: Entry[] = [];
  let now = START;
  let places = 0;
  let events = 0;

  return {
    now: () => now,
    after(ms, event) {
      push(heap, { at: now + ms, place: places++, event });
    },
    async run(until = () => false) {
      await settled();
      while (!until()) {
        const next = pop(heap);
        if (next === undefined) return;
        if (++events > mostEvents) throw new Error('the simulation does not come to an end');
        now = next.at;
        next.event();
        await settled();
      }
    },
  };
}

/** Resolves once everything that could run has run: by microtasks, and by turns of long work. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (turnsWait()) setImmediate(look);
      else resolve();
    };
    setImmediate(look);
  });
}

function isBefore(left: Entry, right: Entry): boolean {
  return left.at < right.at || (left.at === right.at && left.place < right.place);
}

function push(heap: Entry[], entry: Entry): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !isBefore(entry, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): Entry | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const left = heap[2 * at + 1];
    const right = heap[2 * at + 2];
    const child = right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
    if (child === undefined || !isBefore(child, last)) break;
    heap[at] = child;
    at = 2 * at + (child === left ? 1 : 2);
  }
  heap[at] = last;
  return first;
}
