import { test } from 'node:test';
import { type RootKeyConformance, type RootKeyPair, rootKeyContract } from 'sealed-memory/testing';

/** Makes a test of each promise; the pair are two root keys of your own kind. */
export function testRootKeys(pair: RootKeyPair): void {
  const conformance: RootKeyConformance = { foreignCodes: ['integrity', 'key_unavailable'] };
  for (const { name, run, withinMs } of rootKeyContract(conformance)) {
    test(name, { timeout: withinMs }, () => run(pair));
  }
}
