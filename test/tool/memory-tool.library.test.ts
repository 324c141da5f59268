import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { libraryDriver } from '../contracts/memory-tool/library-driver.ts';
import { describeMemoryTool } from '../contracts/memory-tool.ts';
import { amount } from '../support/thorough.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-tool-'));
afterAll(() => rmSync(directory, { recursive: true }));
// More than a listing's page once, on memory:; at length everywhere.
const manyFiles = amount({ usual: 120, thorough: 1_200 });
const sqlite = (name: string): string => `sqlite:${join(directory, name)}`;

// The only setting that shows every case; the others show those that may come out otherwise there.
describeMemoryTool(
  'openMemory on memory:',
  libraryDriver(() => ({ store: 'memory:' })),
  { shows: ['language', 'store', 'names', 'entry'], manyFiles: 1_200 },
);
describeMemoryTool(
  'openMemory on SQLite',
  libraryDriver(() => ({ store: sqlite('library.db') })),
  { shows: ['store', 'names'], shared: true, manyFiles },
);
describeMemoryTool(
  'openMemory on memory: with plain names',
  libraryDriver(() => ({ store: 'memory:' })),
  { shows: ['store', 'names'], names: 'plain', manyFiles },
);
