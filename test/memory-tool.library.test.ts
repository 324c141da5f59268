import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { libraryDriver } from './contracts/memory-tool/library-driver.ts';
import { describeMemoryTool } from './contracts/memory-tool.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-tool-'));
afterAll(() => rmSync(directory, { recursive: true }));
const sqlite = (name: string): string => `sqlite:${join(directory, name)}`;

describeMemoryTool(
  'openMemory on memory:',
  libraryDriver(() => ({ store: 'memory:' })),
  { manyFiles: 1_200 },
);
describeMemoryTool(
  'openMemory on SQLite',
  libraryDriver(() => ({ store: sqlite('library.db') })),
  { shared: true, manyFiles: 1_200 },
);
describeMemoryTool(
  'openMemory on memory: with plain names',
  libraryDriver(() => ({ store: 'memory:' })),
  { names: 'plain', manyFiles: 1_200 },
);
