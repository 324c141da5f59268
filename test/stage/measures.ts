import { fstatSync, statSync } from 'node:fs';

/** Counts the rounds that the event loop makes until the work has ended. */
export async function roundsDuring(work: () => Promise<unknown>): Promise<number> {
  let [rounds, working] = [0, true];
  const count = (): void => {
    rounds++;
    if (working) setImmediate(count);
  };
  setImmediate(count);
  await work().finally(() => {
    working = false;
  });
  return rounds;
}

/** Measures the most by which `count` grows between two rounds of the event loop, until the work has ended. */
export async function mostBetweenRounds(count: () => number, work: () => Promise<unknown>): Promise<number> {
  let [most, last, working] = [0, count(), true];
  const look = (): void => {
    most = Math.max(most, count() - last);
    last = count();
    if (working) setImmediate(look);
  };
  setImmediate(look);
  await work().finally(() => {
    working = false;
  });
  return Math.max(most, count() - last);
}

/** Starts a watch of the milliseconds that this process takes of the processor, which other programs do not prolong. */
export function watchProcessor(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
}

const MOST_OPEN = 1_024;

/** Counts the descriptors of this process that lead to the file. */
export function timesOpen(path: string): number {
  const { ino, dev } = statSync(path);
  const leadsThere = (descriptor: number): boolean => {
    try {
      const found = fstatSync(descriptor);
      return found.ino === ino && found.dev === dev;
    } catch {
      return false;
    }
  };
  return Array.from({ length: MOST_OPEN }, (_, descriptor) => descriptor).filter(leadsThere).length;
}
