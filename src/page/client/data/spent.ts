import { useEffect, useState } from 'preact/hooks';
import type { Requests } from '../../protocol.ts';

/** Requests of the last click, of all clicks, and of the watch, which are LISTs. */
interface Spent {
  readonly last: Requests;
  readonly all: Requests;
  readonly watching: number;
}

/** The one count of this page. */
let spent: Spent = { last: {}, all: {}, watching: 0 };
const readers = new Set<(now: Spent) => void>();

function keep(change: Partial<Spent>): void {
  spent = { ...spent, ...change };
  for (const read of readers) read(spent);
}

/** Begins a click: what is asked from here on counts for it. */
export function beginClick(): void {
  keep({ last: {} });
}

/** Counts what an answer cost. */
export function countAnswer(requests: Requests): void {
  keep({ last: sumOf(spent.last, requests), all: sumOf(spent.all, requests) });
}

/** Counts what a look at the tree cost. */
export function countLook({ list = 0 }: Requests): void {
  if (list > 0) keep({ watching: spent.watching + list });
}

/** Reads the count, and renders again when it changes. */
export function useSpent(): Spent {
  const [read, setRead] = useState(spent);
  useEffect(() => {
    readers.add(setRead);
    // It may have changed between the rendering and now.
    setRead(spent);
    return () => void readers.delete(setRead);
  }, []);
  return read;
}

function sumOf(one: Requests, other: Requests): Requests {
  const sum: Record<string, number> = { ...one };
  for (const [kind, count] of Object.entries(other)) sum[kind] = (sum[kind] ?? 0) + count;
  return sum;
}
