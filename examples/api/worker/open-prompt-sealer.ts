import { randomBytes } from 'node:crypto';
import { openPromptSealer, type PromptSealer } from 'sealed-memory/worker';

const options = { store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) };
await using sealer: PromptSealer = await openPromptSealer(options);
for (const prompt of ['When is the launch?', 'Who brings the cake?']) {
  console.log(await sealer.seal({ turn: `turn-${prompt.length}`, prompt }));
}
