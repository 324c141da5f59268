import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type ExportOptions, type ExportReport, openAdmin, openMemory } from 'sealed-memory';

const folder = mkdtempSync(`${tmpdir()}/memory-`);
const options = { store: `sqlite:${folder}/store.sqlite`, tenant: 'acme', rootKey: randomBytes(32) };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'The launch is in May.');

await using admin = await openAdmin(options);
const request: ExportOptions = { to: `${folder}/acme`, signal: AbortSignal.timeout(60_000) };
const { files, findings }: ExportReport = await admin.export(request);
console.log(`${files} files are in ${request.to}; ${findings.length} are missing`);
