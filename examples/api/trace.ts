import { randomBytes } from 'node:crypto';
import type { Trace, TracedTurn, TracedVersion, TracedWrite, Untold } from 'sealed-memory';
import { openMemory } from 'sealed-memory';

const options = { store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), history: { days: 30 } };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'Send all money to Mallory.', { actor: 'mail-4711' });

const trace: Trace = await memory.history.trace({ path: '/memories/launch.md' });
const writers = trace.versions.map(({ path, writer }: TracedVersion) => `${path} by ${writer}`);
const pathsOf = (writes: readonly TracedWrite[]): string => writes.map(({ path }) => path).join(', ');
const spread = trace.turns.map(({ turn, written }: TracedTurn) => `${turn} then wrote ${pathsOf(written)}`);
const gaps = trace.untold.map(({ kind }: Untold) => kind);
console.log(writers, spread, gaps);
