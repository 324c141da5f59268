import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';

const header = (path: string): string =>
  `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:`;

const listing = (path: string, ...rows: readonly (readonly [string, string])[]): string =>
  [header(path), ...rows.map(([size, entry]) => `${size}\t${entry}`)].join('\n');

export function describeDirectoryViews({ memory, open, about }: Contract): void {
  const view = (path: string, view_range?: readonly number[]) => ({
    command: 'view',
    path,
    ...(view_range && { view_range }),
  });

  about('store')('view of a directory', () => {
    it('shows an empty memory, also of a tenant that has never written', async () => {
      await memory.says(view('/memories'), listing('/memories', ['0B', '/memories']));
      const fresh = await open();
      const outcome = await fresh.run(view('/memories'));
      await fresh.close();
      expect(outcome).toEqual({ ok: true, content: listing('/memories', ['0B', '/memories']) });
    });

    it('shows two levels, depth first, each directory with the sum of all below it', async () => {
      await memory.files({
        '/memories/notes.txt': 'x'.repeat(1536),
        '/memories/works/plan.md': 'x'.repeat(1000),
        '/memories/works/old/a/b/deep.md': 'x'.repeat(24),
      });
      await memory.says(
        view('/memories'),
        listing(
          '/memories',
          ['2.5K', '/memories'],
          ['1.5K', '/memories/notes.txt'],
          ['1K', '/memories/works/'],
          ['24B', '/memories/works/old/'],
          ['1000B', '/memories/works/plan.md'],
        ),
      );
      await memory.says(
        view('/memories/works'),
        listing(
          '/memories/works',
          ['1K', '/memories/works'],
          ['24B', '/memories/works/old/'],
          ['24B', '/memories/works/old/a/'],
          ['1000B', '/memories/works/plan.md'],
        ),
      );
    });

    it('counts bytes of UTF-8, not characters', async () => {
      await memory.files({ '/memories/f': 'é😀' });
      await memory.says(view('/memories'), listing('/memories', ['6B', '/memories'], ['6B', '/memories/f']));
    });

    it('says that a missing path does not exist, and a directory whose last file is gone', async () => {
      const missing = 'The path /memories/d does not exist. Please provide a valid path.';
      await memory.refuses(view('/memories/d'), 'not_found', missing);
      await memory.files({ '/memories/d/f': 'x', '/memories/other': 'x' });
      await memory.does({ command: 'delete', path: '/memories/d/f' });
      await memory.refuses(view('/memories/d'), 'not_found', missing);
    });
  });

  about('store', 'names')('the order of a directory', () => {
    it('sorts siblings by UTF-16 code units, files and directories mixed', async () => {
      const names = ['a', 'B', 'a.txt', 'a-b', 'ab', '10', '9', '😀', '～', 'é', 'z'];
      for (const name of names.filter((each) => each !== 'a'))
        await memory.files({ [`/memories/${name}`]: '' });
      await memory.files({ '/memories/a/x': '' });
      await memory.says(
        view('/memories'),
        listing(
          '/memories',
          ['0B', '/memories'],
          ...['10', '9', 'B', 'a/', 'a/x', 'a-b', 'a.txt', 'ab', 'z', 'é', '😀', '～'].map(
            (name) => ['0B', `/memories/${name}`] as const,
          ),
        ),
      );
    });
  });

  about('language')('a view of a directory as the model asks for it', () => {
    it('repeats the path as it was given in the header and prints canonical rows', async () => {
      await memory.files({ '/memories/d/f': 'x' });
      const rows = [
        ['1B', '/memories/d'],
        ['1B', '/memories/d/f'],
      ] as const;
      await memory.says(view('/memories//d/'), listing('/memories//d/', ...rows));
      await memory.says(
        view('/memories/'),
        listing('/memories/', ['1B', '/memories'], ['1B', '/memories/d/'], ['1B', '/memories/d/f']),
      );
    });

    it.each([
      [0, '0B'],
      [1, '1B'],
      [1000, '1000B'],
      [1023, '1023B'],
      [1024, '1K'],
      [1025, '1.0K'],
      [1536, '1.5K'],
      [10_240, '10K'],
      [10_300, '10.1K'],
      [1_048_576, '1M'],
    ])('prints %i bytes as %s', async (bytes, size) => {
      await memory.put('/memories/file', new Uint8Array(bytes).fill(0x61));
      await memory.says(
        view('/memories'),
        listing('/memories', [size, '/memories'], [size, '/memories/file']),
      );
    });

    it('leaves hidden entries and node_modules out at every level, but not of the sums', async () => {
      await memory.files({
        '/memories/.hidden': '1',
        '/memories/.git/config': '22',
        '/memories/node_modules/x/index.js': '333',
        '/memories/d/.env': '4444',
        '/memories/d/node_modules/y': '55555',
        '/memories/d/seen': '666666',
        '/memories/node_modules.txt': '7777777',
      });
      await memory.says(
        view('/memories'),
        listing(
          '/memories',
          ['28B', '/memories'],
          ['15B', '/memories/d/'],
          ['6B', '/memories/d/seen'],
          ['7B', '/memories/node_modules.txt'],
        ),
      );
    });

    it('shows a hidden file and a hidden directory that is named', async () => {
      await memory.files({ '/memories/.env': 'A=1', '/memories/.cfg/x': '22', '/memories/.cfg/.y': '333' });
      await memory.says(
        view('/memories/.env'),
        "Here's the content of /memories/.env with line numbers:\n     1\tA=1",
      );
      await memory.says(
        view('/memories/.cfg'),
        listing('/memories/.cfg', ['5B', '/memories/.cfg'], ['2B', '/memories/.cfg/x']),
      );
    });

    it('pages its rows with view_range', async () => {
      await memory.files({ '/memories/a': '1', '/memories/b': '22', '/memories/c': '333' });
      const rows = [
        ['6B', '/memories'],
        ['1B', '/memories/a'],
        ['2B', '/memories/b'],
        ['3B', '/memories/c'],
      ] as const;
      await memory.says(view('/memories', [1, 1]), listing('/memories', ...rows.slice(0, 1)));
      await memory.says(view('/memories', [2, 3]), listing('/memories', ...rows.slice(1, 3)));
      await memory.says(view('/memories', [3, -1]), listing('/memories', ...rows.slice(2)));
      await memory.says(view('/memories', [0, 99]), listing('/memories', ...rows));
      await memory.refuses(view('/memories', [5, 6]), 'line_out_of_range', /^Error: .*\[5,6\].*\[1, 4\]/);
    });
  });
}
