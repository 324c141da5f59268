import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import { createSessionStore } from 'sealed-memory/claude-agent-sdk';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const sessionStore = createSessionStore(memory);
// query({ prompt, options: { sessionStore, … } })
console.log(await sessionStore.listSessions('shop'));
