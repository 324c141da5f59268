import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

export const DIRECTORY = '/memories/d';
export const [A, B] = [`${DIRECTORY}/a`, `${DIRECTORY}/b`];
const rootKey = new Uint8Array(32).fill(5);
export const optionsOf = (store: ObjectStore | string) => ({
  store,
  tenant: 'acme',
  rootKey,
  logger: silentLogger,
});

/** Turns the history of the tenant on, and writes two files. */
export async function keepHistory(store: ObjectStore | string): Promise<Memory> {
  await using admin = await openAdmin(optionsOf(store));
  await admin.switchHistory('on');
  const memory = await openMemory(optionsOf(store));
  await memory.files.write(A, 'text of a');
  await memory.files.write(B, 'text of b');
  return memory;
}

/**
 * Answers what became of each path: `there`, or how the version ended whose text is kept, and what else the history
 * tells.
 */
export async function fatesOf(memory: Memory): Promise<Readonly<Record<string, readonly string[]>>> {
  const fates: Record<string, readonly string[]> = {};
  for (const path of [A, B]) {
    const told = (await memory.history.list(path)).map((entry) =>
      entry.kind === 'written' ? `${entry.end}, ${entry.text}` : entry.kind,
    );
    fates[path] = (await memory.files.exists(path)) ? ['there', ...told] : told;
  }
  return fates;
}

export const GONE = ['deleted', 'deleted, kept'];
export const THERE = ['there', 'current, kept'];
