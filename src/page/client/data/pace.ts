/** The longest wait for something that is likely to be there at once. */
export const MOMENT_MS = 100;

/** Waits until the browser has painted what is there, at most `MOMENT_MS`: a page that cannot be seen is not painted. */
export function painted(): Promise<unknown> {
  const frame = new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return Promise.race([frame, pause(MOMENT_MS)]);
}

export function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
