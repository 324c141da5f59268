import { randomBytes } from 'node:crypto';
import type {
  History,
  HistoryEntry,
  HistoryListOptions,
  MovedEntry,
  RestoredVersion,
  RestoreOptions,
  VersionContent,
  VersionEnd,
  VersionRef,
  WrittenEntry,
} from 'sealed-memory';
import { openMemory } from 'sealed-memory';

const options = { store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), history: { days: 30 } };
await using memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'The launch is in May.');
await memory.files.write('/memories/launch.md', 'The launch is in June.');

const history: History = memory.history;
const page: HistoryListOptions = { limit: 20 };
const entries: readonly HistoryEntry[] = await history.list('/memories/launch.md', page);
const moves: readonly MovedEntry[] = entries.filter((entry) => entry.kind !== 'written');
const writes: readonly WrittenEntry[] = entries.filter((entry) => entry.kind === 'written');
const end: VersionEnd = 'replaced';
const first: VersionRef | undefined = writes.find((entry) => entry.end === end);
if (first === undefined) throw new Error(`nothing was replaced, ${moves.length} files were moved`);

const before: VersionContent = await history.read(first);
const restoring: RestoreOptions = { actor: 'ada' };
const { restored }: RestoredVersion = await history.restore(first, restoring);
console.log(restored, before.text());
