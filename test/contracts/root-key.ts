import { beforeAll, describe, it } from 'vitest';
import { loadSodium } from '../../src/format/sodium.ts';
import {
  type RootKeyConformance,
  type RootKeyPair,
  rootKeyContract,
  SAMPLE_CONTEXT,
} from '../../src/testing/contracts/root-key.ts';

export { SAMPLE_CONTEXT as CONTEXT };

/** Proves the contract of root keys as tests of Vitest. `open` is called once. */
export function describeRootKey(
  name: string,
  open: () => Promise<RootKeyPair>,
  foreignCodes?: RootKeyConformance['foreignCodes'],
): void {
  describe(`${name} as a root key`, () => {
    let pair: RootKeyPair;
    beforeAll(async () => {
      await loadSodium();
      pair = await open();
    });

    for (const { name: title, run } of rootKeyContract(foreignCodes && { foreignCodes })) {
      it(title, () => run(pair));
    }
  });
}
