import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { KeyVersionUse, MigrateOptions, MigrationProgress, MigrationReport } from 'sealed-memory';
import { openAdmin, openMemory } from 'sealed-memory';

const store = `sqlite:${mkdtempSync(`${tmpdir()}/memory-`)}/store.sqlite`;
const options = { store, tenant: 'acme', rootKey: randomBytes(32) };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'The launch is in May.');

await using admin = await openAdmin(options);
await admin.rotate();
const onProgress = ({ pass, done, total }: MigrationProgress) =>
  console.log(`pass ${pass}: ${done}/${total}`);
const migration: MigrateOptions = { onProgress };
const { rebound, versions }: MigrationReport = await admin.migrate(migration);
const old: readonly KeyVersionUse[] = versions.filter(({ active }) => !active);
console.log(`${rebound} objects are under the new key; old keys: ${old.length}`);
