import { randomBytes } from 'node:crypto';
import { type MountOptions, openMemory } from 'sealed-memory';

const handbook: MountOptions = { at: '/memories/handbook', tenant: 'org', readOnly: true, expires: false };
await using memory = await openMemory({
  store: 'memory:',
  tenant: 'acme',
  rootKey: randomBytes(32),
  mounts: [handbook],
});
const { content } = await memory.execute({ command: 'view', path: '/memories' });
console.log(content);
