import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { sensitiveInformation } from '../../../src/policy/index.ts';
import { libraryDriver } from '../../contracts/memory-tool/library-driver.ts';
import { describeMemoryTool } from '../../contracts/memory-tool.ts';
import { QUICK, THOROUGH } from '../../runner/thorough.ts';
import { COMMANDS } from '../../testkit/command-cases.ts';
import { lineOf } from '../../testkit/lines.ts';
import { recording } from '../../testkit/recording.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-tool-'));
afterAll(() => rmSync(directory, { recursive: true }));
// More than a listing's page once in each name mode, on memory: here and, at length, on a file through `exec --jsonl`.
const manyFiles = 120;
const policy = sensitiveInformation({ personal: ['email', 'card', 'iban', 'phone'], action: 'redact' });
const sqlite = (name: string): string => `sqlite:${join(directory, name)}`;

// The only setting that shows every case; the others show those that may come out otherwise there.
const recorded = recording(libraryDriver(() => ({ store: 'memory:' })));
describeMemoryTool('openMemory on memory:', recorded.open, {
  shows: ['language', 'store', 'names', 'entry'],
  manyFiles: 1_200,
});

it('the testkit holds what the suite above asked, and what it was answered', async () => {
  const lines = recorded.cases().map(lineOf);
  if (process.env['TESTKIT_RECORD'] === '1') await writeFile(COMMANDS, lines.join(''));
  const kept = (await readFile(COMMANDS, 'utf8')).split(/(?<=\n)/);
  const changed = kept.filter((line) => !lines.includes(line));
  const unkept = lines.filter((line) => !kept.includes(line));
  // At length there are more lines than are kept.
  expect([changed, THOROUGH ? [] : unkept], 'npm run write testkit writes the cases').toEqual([[], []]);
});

if (!QUICK) {
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
  describeMemoryTool(
    'openMemory on memory: with history and a policy',
    libraryDriver(() => ({ store: 'memory:', history: { days: 30 }, policy })),
    { shows: ['language', 'store', 'entry'], manyFiles },
  );
}
