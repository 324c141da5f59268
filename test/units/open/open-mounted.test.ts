import { expect, it, vi } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';

const seen = vi.hoisted((): { opened: number; closed: number } => ({ opened: 0, closed: 0 }));
vi.mock('../../../src/store/open-store.ts', async (load) => {
  const real = await load<typeof import('../../../src/store/open-store.ts')>();
  const openBaseStore = async (...configured: Parameters<typeof real.openBaseStore>) => {
    const base = await real.openBaseStore(...configured);
    seen.opened += 1;
    const close = async (): Promise<void> => {
      seen.closed += 1;
      await base[Symbol.asyncDispose]();
    };
    return { ...base, [Symbol.asyncDispose]: close };
  };
  return { ...real, openBaseStore };
});
vi.mock('../../../src/open/mounts.ts', () => ({
  openMounts: async () => {
    throw new Error('nothing can be mounted');
  },
}));

it('a memory whose mounts cannot be opened is closed', async () => {
  const shared = { store: 'memory:', rootKey: new Uint8Array(32).fill(1) };
  const mounts = [{ at: '/memories/handbook', tenant: 'org' }];
  await expect(openMemory({ ...shared, tenant: 'acme', mounts })).rejects.toThrow('nothing can be mounted');
  expect(seen).toEqual({ opened: 1, closed: 1 });
});

it('a pool without mounts mounts nothing', async () => {
  await using pool = createMemoryPool({ store: 'memory:', rootKey: new Uint8Array(32).fill(1) });
  const { files } = await pool.open('acme');
  await files.write('/memories/a', 'a');
  expect((await files.read('/memories/a'))?.text()).toBe('a');
});
