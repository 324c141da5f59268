import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';
import { useMemory } from './driver.ts';

const path = '/memories/f';

/**
 * Describes what the model reads from the filesystem tool of the TypeScript SDK, where the documentation words it
 * otherwise.
 */
export function describeSdkWording({ open, about }: Contract): void {
  about('language', 'entry')('the sdk wording', () => {
    const memory = useMemory(open, { wording: 'sdk' });

    it('puts Error: before the failures that the documentation leaves bare', async () => {
      await memory.files({ [path]: 'x x' });
      await memory.refuses(
        { command: 'view', path: '/memories/none' },
        'not_found',
        'Error: The path /memories/none does not exist. Please provide a valid path.',
      );
      await memory.refuses(
        { command: 'str_replace', path, old_str: 'y', new_str: 'z' },
        'no_match',
        `Error: No replacement was performed, old_str \`y\` did not appear verbatim in ${path}.`,
      );
      await memory.refuses(
        { command: 'str_replace', path, old_str: 'x', new_str: 'z' },
        'ambiguous_match',
        'Error: No replacement was performed. Multiple occurrences of old_str `x` in lines: 1. Please ensure it is unique',
      );
    });

    it('words too many lines as the SDK does', async () => {
      await memory.put(path, new Uint8Array(1_000_000).fill(0x0a));
      await memory.refuses(
        { command: 'view', path },
        'limit_exceeded',
        `Error: File ${path} has too many lines (1000001). Maximum is 999,999 lines.`,
      );
    });

    it('tells a directory from a missing file in an edit', async () => {
      await memory.files({ '/memories/d/f': 'x' });
      for (const edit of [
        { command: 'str_replace', old_str: 'x', new_str: 'y' },
        { command: 'insert', insert_line: 0, insert_text: 'y' },
      ]) {
        for (const directory of ['/memories/d', '/memories']) {
          await memory.refuses(
            { ...edit, path: directory },
            'is_directory',
            `Error: The path ${directory} is not a file.`,
          );
        }
      }
      await memory.refuses(
        { command: 'str_replace', path: '/memories/none', old_str: 'x', new_str: 'y' },
        'not_found',
        'Error: The path /memories/none does not exist. Please provide a valid path.',
      );
      await memory.refuses(
        { command: 'insert', path: '/memories/none', insert_line: 0, insert_text: 'y' },
        'not_found',
        'Error: The path /memories/none does not exist. Please provide a valid path.',
      );
    });

    it('says of a directory and of the root that the file exists', async () => {
      await memory.files({ '/memories/d/f': 'x' });
      await memory.refuses(
        { command: 'create', path: '/memories/d', file_text: 'x' },
        'is_directory',
        'Error: File /memories/d already exists',
      );
      await memory.refuses(
        { command: 'create', path: '/memories', file_text: 'x' },
        'invalid_command',
        'Error: File /memories already exists',
      );
    });

    it('shares every other sentence with the documentation', async () => {
      await memory.says(
        { command: 'create', path, file_text: 'x\n' },
        `File created successfully at: ${path}`,
      );
      await memory.refuses(
        { command: 'create', path, file_text: 'x' },
        'already_exists',
        `Error: File ${path} already exists`,
      );
      await memory.says(
        { command: 'str_replace', path, old_str: 'x', new_str: 'y' },
        'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\ty\n     2\t',
      );
      await memory.says(
        { command: 'insert', path, insert_line: 1, insert_text: 'z' },
        `The file ${path} has been edited.`,
      );
      await memory.says(
        { command: 'view', path },
        `Here's the content of ${path} with line numbers:\n     1\ty\n     2\tz\n     3\t`,
      );
      await memory.says(
        { command: 'rename', old_path: path, new_path: '/memories/g' },
        `Successfully renamed ${path} to /memories/g`,
      );
      await memory.says({ command: 'delete', path: '/memories/g' }, 'Successfully deleted /memories/g');
      await memory.refuses(
        { command: 'delete', path: '/memories' },
        'invalid_command',
        'Error: Cannot delete the /memories directory itself',
      );
      await memory.refuses(
        { command: 'view', path: '/etc/passwd' },
        'invalid_path',
        'Error: Path must start with /memories, got: /etc/passwd',
      );
      expect(await memory.dump()).toEqual({});
    });
  });
}
