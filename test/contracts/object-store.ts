import { afterAll, beforeAll, describe, it } from 'vitest';
import type { ObjectStore } from '../../src/store/port.ts';
import { objectStoreContract, type StoreConformance } from '../../src/testing/contracts/object-store.ts';

const SLOW = 60_000;

/** Proves the contract of object stores as tests of Vitest. `open` is called once. */
export function describeObjectStore(
  name: string,
  open: () => ObjectStore | Promise<ObjectStore>,
  options: StoreConformance = {},
): void {
  describe(`${name} as an object store`, () => {
    let store: ObjectStore;
    beforeAll(async () => {
      store = await open();
    }, SLOW);
    afterAll(() => store[Symbol.asyncDispose](), SLOW);

    for (const { name: title, run, withinMs } of objectStoreContract(options)) {
      it(title, { timeout: withinMs }, () => run(store));
    }
  });
}
