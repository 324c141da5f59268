import { randomBytes } from 'node:crypto';
import { openMemory } from '../../src/open/open-memory.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { describeRequestBill } from '../contracts/request-bill.ts';
import { countCalls, interceptStore, recordInto, type StoreCall } from '../stage/store-wrappers.ts';

describeRequestBill('a guarded store, one for each verb of the port', async () => {
  const base: ObjectStore = openSqliteObjectStore({ path: ':memory:' });
  const rootKey = randomBytes(32);
  return {
    guarded: true,
    probes: false,
    many: 1_200,
    async open() {
      const calls: StoreCall[] = [];
      const store = interceptStore(base, recordInto(calls));
      return {
        memory: await openMemory({ store, tenant: 'acme', rootKey }),
        bill: () => countCalls(calls.splice(0)),
      };
    },
  };
});
