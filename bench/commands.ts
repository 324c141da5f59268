import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { openMemory } from '../src/index.ts';
import { printRatios } from './ratios.ts';

const TEXT = 'one line of what an agent remembers\n'.repeat(50);

/** Commands on the embedded store against the SDK's filesystem tool, which encrypts nothing. */
export async function commands(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sealed-memory-bench-'));
  try {
    const files = await BetaLocalFilesystemMemoryTool.init(join(folder, 'files'));
    const rootKey = randomBytes(32).toString('base64');
    await using memory = await openMemory({
      store: `sqlite:${join(folder, 'memory.db')}`,
      tenant: 'bench',
      rootKey,
    });
    for (const tool of [files, memory.handlers]) {
      await tool.create({ command: 'create', path: '/memories/notes/read.md', file_text: TEXT });
      await tool.create({ command: 'create', path: '/memories/notes/edit.md', file_text: 'count 0;\n' });
    }

    const view = { command: 'view', path: '/memories/notes/read.md' } as const;
    await printRatios('view a file', {
      'SDK filesystem tool': async () => files.view(view),
      'sealed, SQLite': async () => memory.handlers.view(view),
    });
    const list = { command: 'view', path: '/memories' } as const;
    await printRatios('view a directory', {
      'SDK filesystem tool': async () => files.view(list),
      'sealed, SQLite': async () => memory.handlers.view(list),
    });
    const edits = [files, memory.handlers].map((tool) => {
      let count = 0;
      return async () =>
        tool.str_replace({
          command: 'str_replace',
          path: '/memories/notes/edit.md',
          old_str: `count ${count};`,
          new_str: `count ${++count};`,
        });
    });
    const [editFiles, editMemory] = edits;
    if (editFiles === undefined || editMemory === undefined) throw new Error('two contestants are needed');
    await printRatios('str_replace', { 'SDK filesystem tool': editFiles, 'sealed, SQLite': editMemory });
  } finally {
    await rm(folder, { recursive: true });
  }
}
