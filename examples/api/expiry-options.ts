import { randomBytes } from 'node:crypto';
import { type ExpiryOptions, type ExpiryReport, openAdmin, type TenantExpiry } from 'sealed-memory';

await using admin = await openAdmin({
  store: 'memory:',
  tenant: 'acme',
  rootKey: randomBytes(32),
  expireAfterDays: 90,
});
const options: ExpiryOptions = { afterDays: 90, dryRun: true };
const expiry: TenantExpiry = await admin.expire(options);
const { files, deleted, marked }: ExpiryReport = expiry;
console.log(`of ${files} files ${deleted} would go, and ${marked} later`);
