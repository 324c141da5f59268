import { openMemory, optionsFromEnvironment } from '../src/index.ts';

// A program from its start to its first decrypted file.

const memory = await openMemory(optionsFromEnvironment());
const { isError, content } = await memory.execute({ command: 'view', path: '/memories/notes.md' });
if (isError) throw new Error(String(content));
await memory.close();
