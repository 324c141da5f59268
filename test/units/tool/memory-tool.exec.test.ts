import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { execDriver } from '../../contracts/memory-tool/exec-driver.ts';
import { inTurn, libraryDriver } from '../../contracts/memory-tool/library-driver.ts';
import { describeMemoryTool } from '../../contracts/memory-tool.ts';
import { amount } from '../../runner/thorough.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-exec-'));
afterAll(() => rmSync(directory, { recursive: true }));
const sqlite = (name: string): string => `sqlite:${join(directory, name)}`;

describeMemoryTool(
  'exec --jsonl on memory:',
  execDriver(() => ({ SEALED_MEMORY_STORE: 'memory:' })),
  { shows: ['entry'], manyFiles: 120 },
);
describeMemoryTool(
  'exec --jsonl on SQLite with plain names',
  execDriver(() => ({ SEALED_MEMORY_STORE: sqlite('exec.db') })),
  {
    shows: ['store', 'names', 'entry'],
    names: 'plain',
    shared: true,
    manyFiles: amount({ usual: 120, thorough: 1_200 }),
  },
);

const together = { store: sqlite('together.db'), rootKey: randomBytes(32).toString('base64') };
describeMemoryTool(
  'openMemory and exec --jsonl in turn, two processes on one SQLite file,',
  inTurn(
    libraryDriver(() => together),
    execDriver(() => ({
      SEALED_MEMORY_STORE: together.store,
      SEALED_MEMORY_ROOT_KEY: together.rootKey,
    })),
  ),
  { shows: ['store', 'entry'], manyFiles: 120 },
);
