import { join } from 'node:path';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { openMemory } from '../src/open/open-memory.ts';
import { type Lab, temporaryFolder } from './lab.ts';
import { compareCalls } from './rounds.ts';
import { ROOT_KEY } from './stores.ts';

const TEXT = 'one line of what an agent remembers\n'.repeat(50);
const SDK = "SDK's file tool";
const SQLITE = 'sqlite:';
const MEMORY = 'memory:';
const READS = { [SQLITE]: 2, [MEMORY]: 2 };
const WRITES = { [SQLITE]: 3, [MEMORY]: 3 };

/** Commands on the embedded stores beside the SDK's own tool on files, which encrypts nothing. */
export async function embedded(lab: Lab): Promise<void> {
  const folder = await temporaryFolder(lab);
  const open = async (store: string) =>
    lab.stack.use(await openMemory({ store, tenant: 'bench', rootKey: ROOT_KEY })).handlers;
  const tools = {
    [SDK]: await BetaLocalFilesystemMemoryTool.init(join(folder, 'files')),
    [SQLITE]: await open(`sqlite:${join(folder, 'memory.db')}`),
    [MEMORY]: await open('memory:'),
  };
  type Tool = (typeof tools)[keyof typeof tools];
  const each = <T>(make: (tool: Tool) => T): Record<string, T> =>
    Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, make(tool)]));

  for (const tool of Object.values(tools)) {
    for (const [path, file_text] of [
      ['read.md', TEXT],
      ['edited.md', 'count 0;\n'],
      ['inserted.md', 'line\n'],
      ['a.md', TEXT],
    ] as const) {
      await tool.create({ command: 'create', path: `/memories/notes/${path}`, file_text });
    }
  }
  const view = { command: 'view', path: '/memories/notes/read.md' } as const;
  await compareCalls(
    lab,
    'view a file',
    each((tool) => () => tool.view(view)),
    { goals: READS },
  );
  const list = { command: 'view', path: '/memories' } as const;
  await compareCalls(
    lab,
    'view the root',
    each((tool) => () => tool.view(list)),
    { goals: READS },
  );
  const replacing = each((tool) => {
    let count = 0;
    return () => {
      const [old_str, new_str] = [`count ${count};`, `count ${++count};`];
      return tool.str_replace({
        command: 'str_replace',
        path: '/memories/notes/edited.md',
        old_str,
        new_str,
      });
    };
  });
  await compareCalls(lab, 'str_replace', replacing, { goals: WRITES });
  const renaming = each((tool) => {
    let [from, to] = ['/memories/notes/a.md', '/memories/notes/b.md'];
    return () => {
      [from, to] = [to, from];
      return tool.rename({ command: 'rename', old_path: to, new_path: from });
    };
  });
  await compareCalls(lab, 'rename a file', renaming, { goals: WRITES });
  const coming = each((tool) => {
    let count = 0;
    return async () => {
      const path = `/memories/notes/${count++}.md`;
      await tool.create({ command: 'create', path, file_text: TEXT });
      await tool.delete({ command: 'delete', path });
    };
  });
  await compareCalls(lab, 'create and delete', coming, { goals: WRITES });
}
