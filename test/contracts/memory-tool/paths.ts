import { describe, expect, it } from 'vitest';
import { MAX_SEGMENT_BYTES } from '../../../src/language/path.ts';
import { THOROUGH } from '../../runner/thorough.ts';
import type { Contract } from './contract.ts';
import type { Input } from './driver.ts';

/** The path in every place where a command takes one. */
const commandsOn = (path: string): readonly Input[] => [
  { command: 'view', path },
  { command: 'create', path, file_text: 'x' },
  { command: 'str_replace', path, old_str: 'x', new_str: 'y' },
  { command: 'insert', path, insert_line: 0, insert_text: 'x' },
  { command: 'delete', path },
  { command: 'rename', old_path: path, new_path: '/memories/new' },
  { command: 'rename', old_path: '/memories/kept', new_path: path },
];

export function describePaths({ memory, about, names, shared }: Contract): void {
  const refusesEverywhere = async (path: string, content: RegExp): Promise<void> => {
    await memory.files({ '/memories/kept': 'kept' });
    for (const input of commandsOn(path)) await memory.refuses(input, 'invalid_path', content);
  };
  const accepts = async (path: string, stored = path): Promise<void> => {
    await memory.says({ command: 'create', path, file_text: 'x' }, `File created successfully at: ${path}`);
    await memory.says(
      { command: 'view', path },
      `Here's the content of ${path} with line numbers:\n     1\tx`,
    );
    expect(await memory.dump()).toEqual({ [stored]: 'x' });
  };

  about('language')('a path outside of /memories', () => {
    it.each([
      '',
      '/',
      'memories',
      'memories/a',
      './memories/a',
      '//memories/a',
      ' /memories/a',
      '/Memories/a',
      '/memoriesfoo',
      '/memories_evil/a',
      '/memories.txt',
      '/memories\\a',
      '/etc/passwd',
      'C:\\memories\\a',
      'file:///memories/a',
    ])('is refused: %j', (path) => refusesEverywhere(path, /^Error: .*Path must start with \/memories/));
  });

  about('language')('a path that climbs', () => {
    it.each([
      '/memories/..',
      '/memories/../etc/passwd',
      '/memories/../../etc/passwd',
      '/memories/a/../../etc/passwd',
      '/memories/a/../../../x',
      '/memories/..//etc',
      '/memories/a/../b',
      '/memories/a/b/..',
      '/memories/..\\..\\etc',
      '/memories/a\\..\\..\\..\\etc',
    ])('is refused: %s', (path) =>
      refusesEverywhere(path, /^Error: .*(would escape|Cannot (delete|rename) the) \/memories directory/),
    );

    it.each(['/memories/.', '/memories/./a', '/memories/a/.', '/memories/a/./b'])(
      'is refused for a segment named . as well: %s',
      (path) =>
        refusesEverywhere(
          path,
          /^Error: .*(named \.|Cannot (delete|rename) the \/memories directory itself)/,
        ),
    );
  });

  about('language')('a percent-encoded path', () => {
    it.each([
      '%2e%2e%2fetc',
      '%2e%2e',
      '%2E%2E/a',
      '..%2fa',
      '.%2e/a',
      'a%2fb',
      'a%2Fb',
      'a%5cb',
      'a%5Cb',
      'a%00b',
      '%252e%252e%252f',
      '%252E',
      '%25252e',
      'a%25%32%66b',
    ])('is refused: %s', (segment) =>
      refusesEverywhere(`/memories/${segment}`, /^Error: .*would escape \/memories directory/),
    );
  });

  about('store', 'names')('a name with percent signs', () => {
    it.each(['100%', '100%25', '%20', 'a%20b', '%', '%%', '%zz', '%2', '%41', '%c3%a9'])(
      'is an ordinary name without dots, slashes, backslashes or NULs: %s',
      (name) => accepts(`/memories/${name}`),
    );
  });

  about('language')('a path with characters that no name may hold', () => {
    it.each([
      ['a backslash', 'a\\b'],
      ['NUL', 'a\0b'],
      ['a line feed', 'a\nb'],
      ['a tab', 'a\tb'],
      ['DEL', 'a\x7fb'],
      ['a C1 control', 'a\x85b'],
      ['a soft hyphen', 'a\u00adb'],
      ['a zero width space', 'a\u200bb'],
      ['a right-to-left override', 'a\u202eb'],
      ['a byte order mark', '\ufeffa'],
      ['a line separator', 'a\u2028b'],
      ['a paragraph separator', 'a\u2029b'],
      ['a lone high surrogate', 'a\ud83d'],
      ['a lone low surrogate', '\ude00a'],
    ])('is refused: %s', (_, name) => refusesEverywhere(`/memories/${name}`, /^Error: /));
  });

  about('store', 'names')('a path with any other characters', () => {
    it.each([
      'with space',
      ' leading and trailing ',
      '...',
      '..a',
      'a..',
      '.hidden',
      '-rf',
      '~',
      "it's",
      '"quoted"',
      '<a>&b;',
      '*?[x]{y}|z',
      'a:b',
      '#1',
      'a=b+c,d;e@f!',
      'node_modules',
      '__proto__',
      'constructor',
      'toString',
      'con',
      'nul.txt',
      'Ünïcödé',
      '日本語',
      'می\u200cخواهم',
      '👩\u200d👩\u200d👧',
      '\u00a0',
    ])('is taken as it is: %j', (name) => accepts(`/memories/${name}`));

    it('is normalised to NFC', async () => {
      const [nfd, nfc] = ['/memories/e\u0301', '/memories/\u00e9'];
      await accepts(nfd, nfc);
      await memory.refuses(
        { command: 'create', path: nfc, file_text: 'y' },
        'already_exists',
        `Error: File ${nfc} already exists`,
      );
      await memory.says({ command: 'delete', path: nfd }, `Successfully deleted ${nfd}`);
      expect(await memory.dump()).toEqual({});
    });
  });

  about('store', 'names')('the length of a path', () => {
    it.each([
      ['a segment of 143 bytes', ['x'.repeat(143)]],
      ['a segment of 143 bytes of UTF-8', [`${'é'.repeat(71)}x`]],
      ['20 segments of 15 bytes', Array.from({ length: 20 }, (_, i) => `${i}`.padEnd(15, 's'))],
      ['four segments of 143 bytes', Array.from({ length: 4 }, (_, i) => `${i}`.padEnd(143, 's'))],
    ])('may be %s', (_, segments) => accepts(['/memories', ...segments].join('/')));

    describe('may be any number of bytes in a segment, of a file and of a directory,', {
      timeout: 240_000,
    }, () => {
      const lengths = Array.from({ length: MAX_SEGMENT_BYTES }, (_, i) => i + 1);
      const isOften = (length: number): boolean => length % 16 <= 1 || length === MAX_SEGMENT_BYTES;
      const namesOf = (wanted: (length: number) => boolean): readonly string[] =>
        lengths.filter(wanted).map((length) => 'n'.repeat(length));
      const all = async (inputs: readonly Input[]): Promise<void> => {
        const outcomes = await memory.runAll(inputs);
        expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
      };
      const treeAt = (root: string, of: readonly string[]): Readonly<Record<string, string>> =>
        Object.fromEntries(
          of.flatMap((name) => [
            [`${root}/${name}`, 'a file'],
            [`${root}-of/${name}/f`, 'in a directory'],
          ]),
        );
      const created = (tree: Readonly<Record<string, string>>): readonly Input[] =>
        Object.entries(tree).map(([path, file_text]) => ({ command: 'create', path, file_text }));

      it('of what is renamed and deleted as a whole', async () => {
        const every = namesOf((length) => THOROUGH || isOften(length));
        await all(created(treeAt('/memories/a', every)));
        await memory.does({ command: 'rename', old_path: '/memories/a', new_path: '/memories/b' });
        await memory.does({ command: 'rename', old_path: '/memories/a-of', new_path: '/memories/b-of' });
        expect(await memory.dump()).toEqual(treeAt('/memories/b', every));
        await memory.does({ command: 'delete', path: '/memories/b' });
        await memory.does({ command: 'delete', path: '/memories/b-of' });
        expect(await memory.dump()).toEqual({});
      });

      it('of what is renamed and deleted one by one', async () => {
        // Above, every store is asked for keys of every length. What one rename makes of a length, `memory:` shows for
        // all.
        const some = namesOf((length) => (THOROUGH && !shared) || isOften(length));
        // A few at a time: directories are renamed in turn, and who waits too long for its turn is told to look.
        const move = async (from: string, to: string): Promise<void> => {
          for (let at = 0; at < some.length; at += 8) {
            const names = some.slice(at, at + 8);
            await all(
              names.map((name) => ({
                command: 'rename',
                old_path: `${from}/${name}`,
                new_path: `${to}/${name}`,
              })),
            );
          }
        };
        await all(created(treeAt('/memories/b', some)));
        await move('/memories/b', '/memories/c');
        await move('/memories/b-of', '/memories/c-of');
        expect(await memory.dump()).toEqual(treeAt('/memories/c', some));
        await all(some.map((name) => ({ command: 'delete', path: `/memories/c/${name}` })));
        await memory.does({ command: 'delete', path: '/memories/c-of' });
        expect(await memory.dump()).toEqual({});
      });
    });
  });

  about('store', 'names')('a name that ends like the keys of files', () => {
    it('may be that of a file, beside others that its key could be taken for', async () => {
      const texts = { '/memories/a': '1', '/memories/a.sealed': '2', '/memories/a.sealed.sealed': '3' };
      await memory.files(texts);
      expect(await memory.dump()).toEqual(texts);
      await memory.does({ command: 'delete', path: '/memories/a.sealed' });
      await memory.does({ command: 'rename', old_path: '/memories/a', new_path: '/memories/a.sealed' });
      expect(await memory.dump()).toEqual({ '/memories/a.sealed': '1', '/memories/a.sealed.sealed': '3' });
    });

    it('is that of a directory where names are encrypted, and nowhere else', async () => {
      await memory.files({ '/memories/a.sealed': '1', '/memories/d/f': '2' });
      const create = { command: 'create', path: '/memories/d.sealed/f', file_text: '' };
      const rename = { command: 'rename', old_path: '/memories/d', new_path: '/memories/e.sealed' };
      if (names === 'plain') {
        const content =
          /^Error: Path .* has a directory whose name ends in \.sealed: choose another name for it$/;
        for (const input of [create, rename]) await memory.refuses(input, 'invalid_path', content);
        await memory.refuses(
          { command: 'view', path: '/memories/d.sealed' },
          'not_found',
          'The path /memories/d.sealed does not exist. Please provide a valid path.',
        );
      } else {
        await memory.does(create);
        await memory.does(rename);
        expect(Object.keys(await memory.dump()).sort()).toEqual([
          '/memories/a.sealed',
          '/memories/d.sealed/f',
          '/memories/e.sealed/f',
        ]);
      }
    });
  });

  about('names')('a path that is too long', () => {
    it('is at most 143 bytes of UTF-8 in a segment', async () => {
      await refusesEverywhere(`/memories/${'x'.repeat(144)}`, /^Error: .*144 bytes.*143 bytes/);
      await memory.reset();
      await refusesEverywhere(`/memories/a/${'é'.repeat(72)}/b`, /^Error: .*144 bytes.*143 bytes/);
    });

    it('is at most 20 segments', async () => {
      const path = `/memories${'/s'.repeat(21)}`;
      await refusesEverywhere(path, /^Error: .*21 segments.*20/);
    });

    it('is bounded as a whole, and the refusal says by how much', async () => {
      const segments = Array.from({ length: 8 }, (_, i) => `${i}`.padEnd(143, 's'));
      await refusesEverywhere(['/memories', ...segments].join('/'), /^Error: .*\b\d+ bytes too long/);
    });
  });
}
