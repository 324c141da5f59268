import { randomBytes } from 'node:crypto';
import { createMemoryPool, type MemoryPool, type PoolOpenOptions, type PoolOptions } from 'sealed-memory';

const options: PoolOptions = { store: 'memory:', rootKey: randomBytes(32), maxTenants: 1_000 };
await using pool: MemoryPool = createMemoryPool(options);

/** Answers a request of a tenant, whose id comes from the login. */
async function note(tenant: string, user: string, text: string): Promise<void> {
  const opening: PoolOpenOptions = { actor: user };
  const memory = await pool.open(tenant, opening);
  await memory.files.append('/memories/notes.md', `${text}\n`);
}
await Promise.all([note('acme', 'ada', 'ship on Friday'), note('globex', 'bob', 'call Ada')]);
