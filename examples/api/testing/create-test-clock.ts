import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import { createTestClock, type TestClock } from 'sealed-memory/testing';

using clock: TestClock = createTestClock('2026-03-02T09:00:00Z');
const options = { store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), history: { days: 30 } };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'May');
clock.advance(2 * 86_400_000);
await memory.files.write('/memories/launch.md', 'June');
await memory.history.restoreAt('2026-03-02T12:00:00Z');
console.log((await memory.files.read('/memories/launch.md'))?.text());
