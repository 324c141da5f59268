/** How many rounds the event loop makes until the work has ended. */
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

/** By how much `count` grows between two rounds of the event loop, at most, until the work has ended. */
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
