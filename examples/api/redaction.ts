import { randomBytes } from 'node:crypto';
import { openMemory, type Redaction } from 'sealed-memory';

const options = { store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), history: { days: 30 } };
await using memory = await openMemory(options);
await memory.files.write('/memories/door.md', 'The code of the door is 4711.');
await memory.files.write('/memories/door.md', 'Ada knows the code of the door.');

const [, first] = await memory.history.list('/memories/door.md');
if (first === undefined) throw new Error('The history holds no first version.');
const redaction: Redaction = await memory.history.redact(first);
console.log(`${redaction.records} records hold the text no longer`);
