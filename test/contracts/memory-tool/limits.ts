import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';
import { useMemory } from './driver.ts';

const path = '/memories/f';

export function describeLimits({ open, about }: Contract): void {
  about('language', 'entry')('a limit of 100 bytes a file', () => {
    const memory = useMemory(open, { maxFileBytes: 100 });

    it('lets a file have exactly 100 bytes', async () => {
      await memory.does({ command: 'create', path, file_text: 'é'.repeat(50) });
      await memory.does({ command: 'str_replace', path, old_str: 'é'.repeat(50), new_str: 'x'.repeat(100) });
      expect(await memory.dump()).toEqual({ [path]: 'x'.repeat(100) });
    });

    it('refuses to create more, counted in bytes of UTF-8, with the number, the limit and what to do', async () => {
      await memory.refuses(
        { command: 'create', path, file_text: 'é'.repeat(51) },
        'limit_exceeded',
        /^Error: .*102 bytes.*100 bytes.*(shorten|split)/,
      );
    });

    it('refuses to insert or replace beyond it', async () => {
      await memory.files({ [path]: 'x'.repeat(98) });
      await memory.refuses(
        { command: 'insert', path, insert_line: 1, insert_text: 'yy' },
        'limit_exceeded',
        /^Error: .*101 bytes.*100 bytes/,
      );
      await memory.refuses(
        { command: 'str_replace', path, old_str: 'x'.repeat(98), new_str: 'y'.repeat(200) },
        'limit_exceeded',
        /^Error: .*200 bytes.*100 bytes/,
      );
    });

    it('bounds no view, delete or rename', async () => {
      await memory.files({ [path]: 'x'.repeat(100), '/memories/g': 'y'.repeat(100) });
      await memory.does({ command: 'view', path: '/memories' });
      await memory.does({ command: 'rename', old_path: path, new_path: '/memories/h' });
      await memory.does({ command: 'delete', path: '/memories/h' });
      expect(await memory.dump()).toEqual({ '/memories/g': 'y'.repeat(100) });
    });
  });
}
