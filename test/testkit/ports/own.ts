import { randomBytes } from 'node:crypto';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { StoreConformance } from '../../../src/testing/contracts/object-store.ts';

// Ports of this library, as a module for the testkit.

/** The promises that it keeps beyond what every store must. */
export const conformance: StoreConformance = { changesAll: true };

export function openStore(): ObjectStore | Promise<ObjectStore> {
  return openSqliteObjectStore({ path: ':memory:' });
}

export async function openRootKeys(): Promise<{ readonly root: RootKey; readonly another: RootKey }> {
  const fresh = (): RootKey => envRootKey(new Uint8Array(randomBytes(32)));
  return { root: fresh(), another: fresh() };
}
