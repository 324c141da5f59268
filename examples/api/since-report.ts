import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { openAdmin, openMemory, type SinceFinding, type SinceReport, type SinceVersion } from 'sealed-memory';

const store = `sqlite:${mkdtempSync(`${tmpdir()}/memory-`)}/store.sqlite`;
const options = { store, tenant: 'acme', rootKey: randomBytes(32) };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'The launch is in May.');

await using admin = await openAdmin(options);
const { line } = await admin.checkpoint();
const report = await admin.verify({ since: line });
const checkpoint: SinceReport | undefined = report.since;
const changed: SinceFinding[] = report.findings.filter((finding) => finding.kind === 'since');
const versions: (SinceVersion | undefined)[] = changed.map(({ expected }) => expected);
console.log(`${checkpoint?.files} files were compared, ${versions.length} are other ones`);
