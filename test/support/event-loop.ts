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
