import { randomBytes } from 'node:crypto';
import { type CallOptions, openMemory, type Progress, type Touch, type Touches } from 'sealed-memory';

const list: Touch[] = [];
const options: CallOptions = {
  actor: 'chat-7',
  onTouch: (touch) => list.push(touch),
  onProgress: ({ done, total }: Progress) => console.log(`${done} of ${total} files`),
};
await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
await memory.files.write('/memories/launch.md', 'The launch is in May.', options);
await memory.files.rename('/memories/launch.md', '/memories/plans/launch.md', options);

const touches: Touches = { list, unlisted: 0 };
console.log(touches.list.map(({ kind, path }) => `${kind} ${path}`));
