import { randomBytes } from 'node:crypto';
import type { AppendedFile, FileContent, FileEntry, Files, MemoryPath, WrittenFile } from 'sealed-memory';
import { openMemory } from 'sealed-memory';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const files: Files = memory.files;
const { version }: WrittenFile = await files.write('/memories/launch.md', 'The launch is in May.\n');
const { path }: AppendedFile = await files.append('/memories/launch.md', 'Ada brings the cake.\n');
const read: FileContent | undefined = await files.read(path);
console.log(version === read?.version, read?.text());

const found: FileEntry[] = [];
for await (const entry of files.list('/memories', { recursive: true })) found.push(entry);
const paths = found.map((entry) => entry.path as MemoryPath);
console.log(paths);
