import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMemory } from '../../src/open/open-memory.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';

/** A memory that keeps history, and the flags by which a command opens it. */
export interface KeptMemory {
  readonly memory: Memory;
  readonly flags: { readonly store: string; readonly tenant: string; readonly rootKeyFile: string };
  remove(): Promise<void>;
}

export async function openKeptMemory(): Promise<KeptMemory> {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-kept-'));
  const rootKey = Buffer.alloc(32, 7).toString('base64');
  const rootKeyFile = join(folder, 'root.key');
  writeFileSync(rootKeyFile, rootKey, { mode: 0o600 });
  const [store, tenant] = [`sqlite:${join(folder, 'store.sqlite')}`, 'acme'];
  const memory = await openMemory({ store, tenant, rootKey, history: { days: 30 } });
  return {
    memory,
    flags: { store, tenant, rootKeyFile },
    async remove() {
      await memory.close();
      rmSync(folder, { recursive: true });
    },
  };
}
