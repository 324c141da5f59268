import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { KeyStatus, KeyVersion, RotateOptions, RotateReport } from 'sealed-memory';
import { openAdmin, openMemory } from 'sealed-memory';

const store = `sqlite:${mkdtempSync(`${tmpdir()}/memory-`)}/store.sqlite`;
const options = { store, tenant: 'acme', rootKey: randomBytes(32) };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'The launch is in May.');

await using admin = await openAdmin(options);
const status: KeyStatus = await admin.keyStatus();
const keys: readonly KeyVersion[] = status.state === 'open' ? status.keys : [];
const ifActive = keys.find(({ active }) => active)?.version;
const rotation: RotateOptions = { ifActive };
const { version, held }: RotateReport = await admin.rotate(rotation);
console.log(`key ${version} is active; the keyring holds ${held}`);
