import { test } from 'node:test';
import type { ObjectStore } from 'sealed-memory';
import {
  type ContractCase,
  objectStoreContract,
  type StoreConformance,
  type StoreLack,
} from 'sealed-memory/testing';

/** Makes a test of each promise; a store of your own is opened by the caller, and closed afterwards. */
export function testStore(store: ObjectStore, isSlow: boolean): void {
  const lacks: readonly StoreLack[] = isSlow ? ['speed'] : [];
  const conformance: StoreConformance = { lacks, rounds: 10 };
  const cases: readonly ContractCase<ObjectStore>[] = objectStoreContract(conformance);
  for (const { name, run, withinMs } of cases) test(name, { timeout: withinMs }, () => run(store));
}
