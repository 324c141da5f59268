import { guardDeletes } from '../../src/store/guarded-delete.ts';
import type * as Stores from '../../src/store/open-store.ts';
import { type Around, interceptStore } from './intercepted-store.ts';

/**
 * The module that opens stores, for a mock of it: `wire` stands around each request of all memories that are open, and
 * takes the store for one without conditional deletes where it says so.
 */
export function aroundStores(
  stores: typeof Stores,
  wire: { readonly around: Around | undefined; readonly isGuarding?: boolean },
): typeof Stores {
  return {
    ...stores,
    openBaseStore: async (configured) => {
      const base = await stores.openBaseStore(configured);
      const around: Around = (call, proceed) => wire.around?.(call, proceed) ?? proceed();
      const store = interceptStore(base.plain, around);
      const dressed = stores.shared(wire.isGuarding === true ? guardDeletes(store) : store, base.place);
      return { ...dressed, [Symbol.asyncDispose]: () => base[Symbol.asyncDispose]() };
    },
  };
}
