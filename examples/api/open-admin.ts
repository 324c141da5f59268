import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  type MemoryOptions,
  openAdmin,
  openMemory,
  type TenantAdmin,
  type VerifyReport,
} from 'sealed-memory';

const store = `sqlite:${mkdtempSync(`${tmpdir()}/memory-`)}/store.sqlite`;
const options: MemoryOptions = { store, tenant: 'acme', rootKey: randomBytes(32) };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'The launch is in May.');

await using admin: TenantAdmin = await openAdmin(options);
const { files, bytes, findings }: VerifyReport = await admin.verify();
console.log(`${files} files, ${bytes} bytes, ${findings.length} findings`);
