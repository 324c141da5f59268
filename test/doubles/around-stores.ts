import type * as Stores from '../../src/open/store.ts';
import { type Around, interceptStore } from './intercepted-store.ts';

/** The module that opens stores, for a mock of it: `wire` stands around each request of all memories that are open. */
export function aroundStores(
  stores: typeof Stores,
  wire: { readonly around: Around | undefined },
): typeof Stores {
  return {
    ...stores,
    openBaseStore: async (configured) => {
      const base = await stores.openBaseStore(configured);
      const around: Around = (call, proceed) => wire.around?.(call, proceed) ?? proceed();
      const dressed = stores.shared(interceptStore(base.plain, around));
      return { ...dressed, [Symbol.asyncDispose]: () => base[Symbol.asyncDispose]() };
    },
  };
}
