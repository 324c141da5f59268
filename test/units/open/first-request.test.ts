import { expect, it, vi } from 'vitest';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { interceptStore } from '../../stage/store-wrappers.ts';

it('sends the first request of a new process before libsodium is loaded, and uses nothing of it before', async () => {
  vi.resetModules();
  const { hash } = await import('../../../src/format/sodium.ts');
  const { openMemory } = await import('../../../src/open/open-memory.ts');
  const isLoaded = (): boolean => {
    try {
      return hash(32, new Uint8Array(32), new Uint8Array(1)).length === 32;
    } catch {
      return false;
    }
  };
  const seen: boolean[] = [];
  await using base = openSqliteObjectStore({ path: ':memory:' });
  const store = interceptStore(base, (_call, proceed) => {
    seen.push(isLoaded());
    return proceed();
  });
  await using memory = await openMemory({ store, tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
  const file = { command: 'create', path: '/memories/a.md', file_text: 'text' };
  expect(await memory.execute(file)).toMatchObject({ isError: false });
  expect(seen[0]).toBe(false);
  expect(seen.at(-1)).toBe(true);
});
