import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { ShredOptions, ShredProgress, ShredReport } from 'sealed-memory';
import { openAdmin, openMemory } from 'sealed-memory';

const store = `sqlite:${mkdtempSync(`${tmpdir()}/memory-`)}/store.sqlite`;
const options = { store, tenant: 'acme', rootKey: randomBytes(32), keyring: { ttlMs: 0 } };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'The launch is in May.');

await using admin = await openAdmin(options);
const onProgress = ({ phase }: ShredProgress) => console.log(phase);
// No process keeps the keys, or the run would have to wait as long as one does.
const shredding: ShredOptions = { ttlMs: 0, onProgress };
const { marked, objects }: ShredReport = await admin.shred(shredding);
console.log(marked, `${objects} objects were left, which nobody can read`);
