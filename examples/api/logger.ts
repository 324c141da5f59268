import { randomBytes } from 'node:crypto';
import { type LogFields, type Logger, openMemory } from 'sealed-memory';

const write = (level: string) => (message: string, fields?: LogFields) =>
  console.log(JSON.stringify({ level, message, ...fields }));
const logger: Logger = {
  debug: () => undefined,
  info: write('info'),
  warn: write('warn'),
  error: write('error'),
};
await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), logger });
await memory.files.write('/memories/launch.md', 'The launch is in May.');
