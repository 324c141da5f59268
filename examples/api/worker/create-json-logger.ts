import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import {
  createJsonLogger,
  type JsonLogger,
  type JsonLoggerOptions,
  type LogLevel,
} from 'sealed-memory/worker';

const level: LogLevel = 'warn';
const options: JsonLoggerOptions = { write: (line) => console.log(line), level };
const logger: JsonLogger = createJsonLogger(options).with({ service: 'assistant' });

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), logger });
await memory.files.write('/memories/launch.md', 'The launch is in May.');
logger.warn('example', { written: true });
