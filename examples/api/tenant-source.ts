import { randomBytes } from 'node:crypto';
import { createMemoryPool, type TenantSettings, type TenantSource } from 'sealed-memory';

const customers: Readonly<Record<string, TenantSettings>> = {
  acme: { history: { days: 30 }, limits: { files: 5_000 } },
  globex: { policy: 'email,redact' },
};
const tenants: TenantSource = (id) => customers[id];

await using pool = createMemoryPool({ store: 'memory:', rootKey: randomBytes(32), tenants });
const memory = await pool.open('globex');
const { redacted } = await memory.files.write('/memories/people.md', 'Ada: ada@example.com');
console.log(redacted);
