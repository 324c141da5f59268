import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';

export function describeDelete({ memory, open, about }: Contract): void {
  const remove = (path: string) => ({ command: 'delete', path });

  about('store')('delete', () => {
    it('deletes a file and nothing beside it', async () => {
      await memory.files({ '/memories/d/f': '1', '/memories/d/f.txt': '2', '/memories/d/g': '3' });
      await memory.says(remove('/memories/d/f'), 'Successfully deleted /memories/d/f');
      expect(await memory.dump()).toEqual({ '/memories/d/f.txt': '2', '/memories/d/g': '3' });
    });

    it('deletes a directory with all below it, hidden files too, and nothing beside it', async () => {
      await memory.files({
        '/memories/d/f': '1',
        '/memories/d/e/.hidden/f': '2',
        '/memories/d/node_modules/f': '3',
        '/memories/d.txt': '4',
        '/memories/d2/f': '5',
      });
      await memory.says(remove('/memories//d/'), 'Successfully deleted /memories//d/');
      expect(await memory.dump()).toEqual({ '/memories/d.txt': '4', '/memories/d2/f': '5' });
    });

    it('makes room for a file where a directory was, and for a directory where a file was', async () => {
      await memory.files({ '/memories/a/b': '1', '/memories/c': '2' });
      await memory.does(remove('/memories/a'));
      await memory.does(remove('/memories/c'));
      await memory.files({ '/memories/a': '3', '/memories/c/d': '4' });
      expect(await memory.dump()).toEqual({ '/memories/a': '3', '/memories/c/d': '4' });
    });

    it('says that a missing path does not exist, also once it is deleted', async () => {
      await memory.files({ '/memories/f': 'x', '/memories/g': 'x' });
      await memory.does(remove('/memories/f'));
      for (const path of ['/memories/f', '/memories/none', '/memories/g/below', '/memories//g_']) {
        await memory.refuses(remove(path), 'not_found', `Error: The path ${path} does not exist`);
      }
    });

    it('changes nothing for a tenant that has never written', async () => {
      const fresh = await open();
      const inputs = [
        remove('/memories/f'),
        { command: 'rename', old_path: '/memories/f', new_path: '/memories/g' },
        { command: 'insert', path: '/memories/f', insert_line: 0, insert_text: 'x' },
      ];
      const outcomes = await fresh.runAll(inputs);
      await fresh.close();
      const missing = { ok: false, code: 'not_found', content: 'Error: The path /memories/f does not exist' };
      expect(outcomes).toEqual([missing, missing, missing]);
    });
  });

  about('language')('delete of the root', () => {
    it.each(['/memories', '/memories/', '/memories//', '/memories/.', '/memories/./', '/memories/d/..'])(
      'never deletes the root, spelled %s',
      async (path) => {
        await memory.files({ '/memories/d/f': 'x', '/memories/f': 'x' });
        await memory.refuses(
          remove(path),
          path.includes('.') ? 'invalid_path' : 'invalid_command',
          'Error: Cannot delete the /memories directory itself',
        );
      },
    );
  });
}
