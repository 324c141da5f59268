import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import { createTelemetry } from 'sealed-memory/telemetry';

// Register the providers of OpenTelemetry before.
const onEvent = createTelemetry();
await using memory = await openMemory({
  store: 'memory:',
  tenant: 'acme',
  rootKey: randomBytes(32),
  onEvent,
});
await memory.files.write('/memories/launch.md', 'The launch is in May.');
