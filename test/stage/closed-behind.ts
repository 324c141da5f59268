import { afterEach } from 'vitest';

/** Makes a function that closes all that it was given after the test, the last one first. */
export function closedBehindEach(): <T extends AsyncDisposable>(opened: T) => T {
  const all: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const each of all.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });
  return (opened) => {
    all.push(opened);
    return opened;
  };
}
