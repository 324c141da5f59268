import { randomBytes } from 'node:crypto';
import type { ListedSession, SessionFold, SessionKey, SessionOptions, Sessions } from 'sealed-memory';
import { openMemory } from 'sealed-memory';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const sessions: Sessions = memory.sessions;
const key: SessionKey = { projectKey: 'shop', sessionId: 'chat-7' };
const options: SessionOptions = { signal: AbortSignal.timeout(10_000) };
const fold: SessionFold = {
  by: 'example/count',
  fold: (previous, _key, lines) => Number(previous ?? 0) + lines.length,
};

await sessions.append(key, [JSON.stringify({ type: 'user', text: 'Hello' })], { ...options, fold });
const listed: readonly ListedSession[] = await sessions.list('shop', { ...options, fold });
console.log(listed.map(({ sessionId, summary }) => `${sessionId}: ${summary} lines`));
console.log(await sessions.load(key));
