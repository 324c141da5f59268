import { randomBytes } from 'node:crypto';
import { type EventHandler, type MemoryEvent, openMemory, type RequestKind } from 'sealed-memory';

const asked = new Map<string, number>();
const onEvent: EventHandler = ({ tenant, command, outcome, durationMs, requests }: MemoryEvent) => {
  for (const [kind, count] of Object.entries(requests) as [RequestKind, number][]) {
    asked.set(kind, (asked.get(kind) ?? 0) + count);
  }
  console.log(tenant, command, outcome, `${durationMs} ms`);
};
await using memory = await openMemory({
  store: 'memory:',
  tenant: 'acme',
  rootKey: randomBytes(32),
  onEvent,
});
await memory.files.write('/memories/launch.md', 'The launch is in May.');
