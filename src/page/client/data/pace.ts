import type { TreeChange } from '../../protocol.ts';

/** The longest wait for something that is likely to be there at once. */
export const MOMENT_MS = 100;

/** Joins the pages of a first look until they hold as many files as were passed on. */
export function gathering(pass: (change: TreeChange) => void, shown = 0): (change: TreeChange) => void {
  let passed = shown;
  let waiting: TreeChange[] = [];
  return (change) => {
    if (change.whole) [passed, waiting] = [0, []];
    waiting.push(change);
    const changed = waiting.flatMap((each) => each.changed);
    if (change.isPartial && changed.length < passed) return;
    passed += changed.length;
    const whole = waiting.some((each) => each.whole);
    waiting = [];
    pass({ ...change, whole, changed });
  };
}

/** Waits until the browser has painted what is there, at most `MOMENT_MS`: a page that cannot be seen is not painted. */
export function painted(): Promise<unknown> {
  const frame = new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return Promise.race([frame, pause(MOMENT_MS)]);
}

export function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
