import { randomBytes } from 'node:crypto';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { describeHistoryBill } from '../contracts/history-bill.ts';
import { countCalls, interceptStore, recordInto, type StoreCall } from '../stage/store-wrappers.ts';

describeHistoryBill('a guarded store, one for each verb of the port', async () => {
  const calls: StoreCall[] = [];
  const store = interceptStore(openSqliteObjectStore({ path: ':memory:' }), recordInto(calls));
  const rootKey = randomBytes(32);
  return {
    guarded: true,
    probes: false,
    many: 1_000,
    versions: false,
    bill: () => countCalls(calls.splice(0)),
    async open(history, tenant = `history-${history}`) {
      const options = { store, tenant, rootKey, ...(history === 'on' && { history: { days: 30 } }) };
      return { memory: await openMemory(options), admin: await openAdmin(options) };
    },
  };
});
