import { randomBytes } from 'node:crypto';
import { type HistorySwitch, openAdmin } from 'sealed-memory';

await using admin = await openAdmin({
  store: 'memory:',
  tenant: 'acme',
  rootKey: randomBytes(32),
  history: { days: 30 },
});
const { history, changed }: HistorySwitch = await admin.switchHistory('on');
console.log(history, changed);
