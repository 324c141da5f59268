import { randomBytes } from 'node:crypto';
import type { HistoryPlan, LeftFile, PlannedChange, PlanOutcome, RestoreAtOptions } from 'sealed-memory';
import { openMemory } from 'sealed-memory';
import { createTestClock } from 'sealed-memory/testing';

using clock = createTestClock();
const options = { store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), history: { days: 30 } };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'The launch is in May.');
clock.advance(3_600_000);
const time = new Date(Date.now() - 60_000);
await memory.files.write('/memories/launch.md', 'The launch is cancelled.');

const tell = ({ what, path }: PlannedChange | (LeftFile & { what?: never })) => `${what ?? 'left'}: ${path}`;
const dryRun: RestoreAtOptions = { dryRun: true };
const plan: HistoryPlan & PlanOutcome = await memory.history.restoreAt(time, dryRun);
console.log([...plan.changes, ...plan.left].map(tell));
const { outcome } = await memory.history.restoreAt(time, { digest: plan.digest });
console.log(outcome, (await memory.files.read('/memories/launch.md'))?.text());
