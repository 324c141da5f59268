import { randomBytes } from 'node:crypto';
import {
  type CommandName,
  type ImageBlock,
  type ImageMediaType,
  type MemoryContent,
  type MemoryHandlers,
  openMemory,
} from 'sealed-memory';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const handlers: MemoryHandlers = memory.handlers;
const command: CommandName = 'view';

const content: MemoryContent = await handlers[command]({ command, path: '/memories' });
const images: readonly ImageBlock[] = typeof content === 'string' ? [] : content;
const kinds: readonly ImageMediaType[] = images.map(({ source }) => source.media_type);
console.log(kinds.length === 0 ? content : kinds);
