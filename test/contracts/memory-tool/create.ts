import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';
import { useMemory } from './driver.ts';

export function describeCreate({ memory, open, about }: Contract): void {
  const create = (path: string, file_text = 'text') => ({ command: 'create', path, file_text });

  about('store')('create', () => {
    it('creates a file and the directories above it', async () => {
      await memory.says(
        create('/memories/a/b/c/notes.txt', 'x\n'),
        'File created successfully at: /memories/a/b/c/notes.txt',
      );
      expect(await memory.dump()).toEqual({ '/memories/a/b/c/notes.txt': 'x\n' });
    });

    it('creates an empty file', async () => {
      await memory.says(create('/memories/e', ''), 'File created successfully at: /memories/e');
      expect(await memory.dump()).toEqual({ '/memories/e': '' });
    });

    it('refuses an existing file', async () => {
      await memory.files({ '/memories/f': 'first' });
      const refusal = 'Error: File /memories/f already exists';
      await memory.refuses(create('/memories/f', 'second'), 'already_exists', refusal);
      await memory.refuses(create('/memories/f', 'first'), 'already_exists', refusal);
    });

    it('refuses the place of a directory', async () => {
      await memory.files({ '/memories/d/e/f': 'x' });
      for (const path of ['/memories/d', '/memories/d/e', '/memories//d/']) {
        await memory.refuses(
          create(path),
          'is_directory',
          `Error: Cannot create a file at ${path}: it is a directory`,
        );
      }
    });
  });

  about('store', 'names')('names that are nearly alike', () => {
    it('tells names apart that differ in case, in a separator, or are each other’s beginning', async () => {
      const files = {
        '/memories/A': '1',
        '/memories/a': '2',
        '/memories/a.txt': '3',
        '/memories/b/c.txt': '4',
        '/memories/b_c.txt': '5',
        '/memories/b-c.txt': '6',
        '/memories/b.c.txt': '7',
      };
      await memory.files(files);
      expect(await memory.dump()).toEqual(files);
    });
  });

  about('language')('create with a path as the model gives it', () => {
    it('repeats the path as it was given and stores the canonical one', async () => {
      await memory.says(create('/memories//a//f/'), 'File created successfully at: /memories//a//f/');
      expect(await memory.dump()).toEqual({ '/memories/a/f': 'text' });
    });

    it.each(['/memories', '/memories/', '/memories///'])('refuses the root as %s', async (path) => {
      await memory.files({ '/memories/f': 'x' });
      await memory.refuses(create(path), 'invalid_command', /^Error: .*\/memories itself/);
    });
  });

  about('store', 'entry')('create that may overwrite', () => {
    const overwriting = useMemory(open, { onExists: 'overwrite' });

    it('replaces what an existing file holds', async () => {
      await overwriting.says(create('/memories/d/f', 'first'), 'File created successfully at: /memories/d/f');
      await overwriting.says(create('/memories/d/f', '2'), 'File created successfully at: /memories/d/f');
      expect(await overwriting.dump()).toEqual({ '/memories/d/f': '2' });
    });

    it('still refuses the root and the place of a directory', async () => {
      await overwriting.files({ '/memories/d/f': 'x' });
      await overwriting.refuses(create('/memories'), 'invalid_command', /^Error: .*\/memories itself/);
      await overwriting.refuses(create('/memories/d'), 'is_directory', /^Error: .*it is a directory/);
    });

    it('keeps the last of several in one turn', async () => {
      await overwriting.runAll(['1', '2', '3'].map((text) => create('/memories/f', text)));
      expect(await overwriting.dump()).toEqual({ '/memories/f': '3' });
    });
  });
}
