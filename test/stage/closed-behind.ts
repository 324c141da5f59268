import { afterEach } from 'vitest';

/** Makes the function that has each of what it is given closed behind the test, the last one first. */
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
