import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  type CheckpointOptions,
  type CheckpointReport,
  type NewCheckpoint,
  openAdmin,
  openMemory,
  type RefusedCheckpoint,
  type WrittenCheckpoint,
} from 'sealed-memory';

const store = `sqlite:${mkdtempSync(`${tmpdir()}/memory-`)}/store.sqlite`;
const options = { store, tenant: 'acme', rootKey: randomBytes(32) };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'The launch is in May.');

await using admin = await openAdmin(options);
const keep = ({ line }: WrittenCheckpoint | NewCheckpoint) => console.log('to be kept elsewhere:', line);
const warn = ({ findings }: RefusedCheckpoint) => console.warn('something was put back:', findings);
const first: CheckpointReport = await admin.checkpoint();
const since: CheckpointOptions = { since: first.line };
for (const report of [first, await admin.checkpoint(since)]) {
  if (report.line === undefined) warn(report);
  else keep(report);
}
