import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';

export function describeRename({ memory, about }: Contract): void {
  const rename = (old_path: string, new_path: string) => ({ command: 'rename', old_path, new_path });

  about('store')('rename', () => {
    it('renames a file', async () => {
      await memory.files({ '/memories/draft.txt': 'x', '/memories/other': 'y' });
      await memory.says(
        rename('/memories/draft.txt', '/memories/final.txt'),
        'Successfully renamed /memories/draft.txt to /memories/final.txt',
      );
      expect(await memory.dump()).toEqual({ '/memories/final.txt': 'x', '/memories/other': 'y' });
    });

    it('moves a file into a directory that comes to be, and repeats the paths as given', async () => {
      await memory.files({ '/memories/a/f': 'x' });
      await memory.says(
        rename('/memories//a/f', '/memories/b//c/g/'),
        'Successfully renamed /memories//a/f to /memories/b//c/g/',
      );
      expect(await memory.dump()).toEqual({ '/memories/b/c/g': 'x' });
    });

    it('renames a directory with all below it, hidden files too, and nothing beside it', async () => {
      await memory.files({
        '/memories/d/f': '1',
        '/memories/d/e/.h': '2',
        '/memories/d/node_modules/n': '3',
        '/memories/d.txt': '4',
        '/memories/de/f': '5',
      });
      await memory.says(
        rename('/memories/d', '/memories/x/y'),
        'Successfully renamed /memories/d to /memories/x/y',
      );
      expect(await memory.dump()).toEqual({
        '/memories/x/y/f': '1',
        '/memories/x/y/e/.h': '2',
        '/memories/x/y/node_modules/n': '3',
        '/memories/d.txt': '4',
        '/memories/de/f': '5',
      });
    });

    it('moves a directory one level up, beside its parent, and into a sibling', async () => {
      await memory.files({ '/memories/a/b/f': '1', '/memories/s/g': '2' });
      await memory.does(rename('/memories/a/b', '/memories/b'));
      expect(await memory.dump()).toEqual({ '/memories/b/f': '1', '/memories/s/g': '2' });
      await memory.does(rename('/memories/b', '/memories/s/b'));
      expect(await memory.dump()).toEqual({ '/memories/s/b/f': '1', '/memories/s/g': '2' });
      await memory.does(rename('/memories/s', '/memories/t'));
      expect(await memory.dump()).toEqual({ '/memories/t/b/f': '1', '/memories/t/g': '2' });
    });

    it('takes a name that only begins like its own', async () => {
      await memory.files({ '/memories/d/f': '1' });
      await memory.does(rename('/memories/d', '/memories/d2'));
      await memory.does(rename('/memories/d2', '/memories/d'));
      expect(await memory.dump()).toEqual({ '/memories/d/f': '1' });
    });

    it('lets a renamed file be edited, viewed and renamed back', async () => {
      await memory.files({ '/memories/a': 'x' });
      await memory.does(rename('/memories/a', '/memories/b'));
      await memory.does({ command: 'str_replace', path: '/memories/b', old_str: 'x', new_str: 'y' });
      await memory.does(rename('/memories/b', '/memories/a'));
      await memory.says(
        { command: 'view', path: '/memories/a' },
        "Here's the content of /memories/a with line numbers:\n     1\ty",
      );
    });

    it('refuses an existing destination, be it a file or a directory', async () => {
      await memory.files({
        '/memories/f': '1',
        '/memories/g': '2',
        '/memories/d/x': '3',
        '/memories/e/x': '4',
      });
      for (const [source, target] of [
        ['/memories/f', '/memories/g'],
        ['/memories/f', '/memories/d'],
        ['/memories/d', '/memories/f'],
        ['/memories/d', '/memories/e'],
        ['/memories/d/x', '/memories//d'],
        ['/memories/f', '/memories'],
      ] as const) {
        const outcome = `Error: The destination ${target} already exists`;
        const code = target === '/memories' ? 'invalid_command' : 'already_exists';
        await memory.refuses(rename(source, target), code, outcome);
      }
    });

    it('refuses to rename a directory into itself', async () => {
      await memory.files({ '/memories/d/f': 'x' });
      for (const target of ['/memories/d/e', '/memories/d/f/g', '/memories/d//d']) {
        await memory.refuses(
          rename('/memories/d', target),
          'invalid_command',
          `Error: Cannot rename /memories/d to ${target}: a directory cannot be moved into itself`,
        );
      }
    });

    it('refuses a file below itself', async () => {
      await memory.files({ '/memories/f': 'x' });
      await memory.refuses(
        rename('/memories/f', '/memories/f/g'),
        'already_exists',
        /^Error: .*\/memories\/f\/g: /,
      );
    });
  });

  about('language')('rename of paths as the model gives them', () => {
    it('reports a missing source first, whatever is wrong with the destination', async () => {
      await memory.files({ '/memories/f': 'x' });
      for (const target of [
        '/memories/new',
        '/memories/f',
        '/memories/f/below',
        '/memories/none',
        '/memories',
      ]) {
        await memory.refuses(
          rename('/memories/none', target),
          'not_found',
          'Error: The path /memories/none does not exist',
        );
      }
    });

    it('refuses a file or directory onto itself, however spelled', async () => {
      await memory.files({ '/memories/f': '1', '/memories/d/x': '2' });
      for (const [source, target] of [
        ['/memories/f', '/memories/f'],
        ['/memories/d', '/memories//d/'],
      ] as const) {
        await memory.refuses(
          rename(source, target),
          'already_exists',
          `Error: The destination ${target} already exists`,
        );
      }
    });

    it.each(['/memories', '/memories//', '/memories/.'])(
      'refuses the root as the source, spelled %s',
      async (root) => {
        await memory.files({ '/memories/f': 'x' });
        await memory.refuses(
          rename(root, '/memories/new'),
          root.endsWith('.') ? 'invalid_path' : 'invalid_command',
          'Error: Cannot rename the /memories directory itself',
        );
      },
    );

    it('takes path for old_path', async () => {
      await memory.files({ '/memories/a': 'x' });
      await memory.says(
        { command: 'rename', path: '/memories/a', new_path: '/memories/b' },
        'Successfully renamed /memories/a to /memories/b',
      );
      expect(await memory.dump()).toEqual({ '/memories/b': 'x' });
    });
  });
}
