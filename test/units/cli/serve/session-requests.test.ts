import { expect, it } from 'vitest';
import { answerSessionRequest } from '../../../../src/cli/serve/session-requests.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import type { Memory } from '../../../../src/tool/memory-tool.ts';

const KEY = { projectKey: 'p', sessionId: 's' };

it('requests about sessions do not load more than a line can hold', async () => {
  await using memory = await openMemory({ store: 'memory:', tenant: 't', rootKey: new Uint8Array(32) });
  const [text, fits] = ['x'.repeat(1024 * 1024), 128];
  const holding = (count: number): Memory['sessions'] => ({
    ...memory.sessions,
    load: async () => Array.from({ length: count }, () => text),
  });
  const { signal } = new AbortController();
  const load = (count: number): Promise<unknown> =>
    answerSessionRequest(holding(count), { request: { operation: 'load', key: KEY }, signal });
  expect(await load(fits)).toHaveLength(fits);
  await expect(load(fits + 1)).rejects.toMatchObject({ code: 'limit_exceeded' });
});
