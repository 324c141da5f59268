import { randomBytes } from 'node:crypto';
import { type PromptRequest, type SealedTurn, sealPrompt } from 'sealed-memory/worker';

const options = { store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) };
const request: PromptRequest = { conversation: 'chat-7', turn: 'chat-7-2', prompt: 'When is the launch?' };
const sealed: SealedTurn = await sealPrompt(options, request);
// The body of a message to the queue, which reads no word of it.
console.log(JSON.stringify(sealed));
