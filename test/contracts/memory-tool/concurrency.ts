import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';
import type { MemoryDriver, Outcome } from './driver.ts';
import { freshTenant } from './library-driver.ts';

const path = '/memories/f';
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);
const oks = (outcomes: readonly Outcome[]): number => outcomes.filter(({ ok }) => ok).length;

/** Without the line break that the last one ends with, as every line does. */
const linesOf = (text: unknown): readonly string[] => {
  expect(String(text)).toMatch(/\n$/);
  return String(text).slice(0, -1).split('\n').sort();
};

const create = (i: number) => ({ command: 'create', path, file_text: `${i}` });
const insert = (i: number) => ({ command: 'insert', path, insert_line: 0, insert_text: `line ${i}` });

export function describeConcurrency({ memory, open, about, shared }: Contract): void {
  about('store', 'entry')('the commands of one turn', () => {
    it('keep every one of 50 parallel inserts', async () => {
      await memory.files({ [path]: '' });
      const outcomes = await memory.runAll(numbers(50).map(insert));
      expect(oks(outcomes)).toBe(50);
      const { [path]: text } = await memory.dump();
      expect(linesOf(text)).toEqual(
        numbers(50)
          .map((i) => `line ${i}`)
          .sort(),
      );
    });

    it('take effect in the order they were called, on overlapping paths', async () => {
      const outcomes = await memory.runAll([
        { command: 'create', path: '/memories/d/f', file_text: '1\n' },
        { command: 'insert', path: '/memories/d/f', insert_line: 1, insert_text: '2' },
        { command: 'str_replace', path: '/memories/d/f', old_str: '1', new_str: 'one' },
        { command: 'rename', old_path: '/memories/d', new_path: '/memories/e' },
        { command: 'view', path: '/memories/e/f' },
        { command: 'view', path: '/memories/d/f' },
        { command: 'delete', path: '/memories/e' },
        { command: 'view', path: '/memories' },
      ]);
      expect(outcomes.map(({ content }) => content)).toEqual([
        'File created successfully at: /memories/d/f',
        'The file /memories/d/f has been edited.',
        'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     2\t2\n     3\t',
        'Successfully renamed /memories/d to /memories/e',
        "Here's the content of /memories/e/f with line numbers:\n     1\tone\n     2\t2\n     3\t",
        'The path /memories/d/f does not exist. Please provide a valid path.',
        'Successfully deleted /memories/e',
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0B\t/memories",
      ]);
    });

    it('have one winner among creates of one file: the first', async () => {
      const outcomes = await memory.runAll(numbers(20).map(create));
      expect(outcomes.map(({ ok }) => ok)).toEqual(numbers(20).map((i) => i === 0));
      expect(await memory.dump()).toEqual({ [path]: '0' });
    });

    it('lose no file by two renames onto one target', async () => {
      await memory.files({ '/memories/a': 'a', '/memories/b': 'b' });
      const rename = (old_path: string) => ({ command: 'rename', old_path, new_path: '/memories/c' });
      const outcomes = await memory.runAll([rename('/memories/a'), rename('/memories/b')]);
      expect(outcomes.map(({ content }) => content)).toEqual([
        'Successfully renamed /memories/a to /memories/c',
        'Error: The destination /memories/c already exists',
      ]);
      expect(await memory.dump()).toEqual({ '/memories/b': 'b', '/memories/c': 'a' });
    });

    it('have one winner among renames of one file', async () => {
      await memory.files({ [path]: 'x' });
      const outcomes = await memory.runAll(
        numbers(10).map((i) => ({ command: 'rename', old_path: path, new_path: `/memories/g${i}` })),
      );
      expect(oks(outcomes)).toBe(1);
      expect(await memory.dump()).toEqual({ '/memories/g0': 'x' });
    });

    it('go on after one that fails', async () => {
      const outcomes = await memory.runAll([
        { command: 'delete', path },
        { command: 'create', path, file_text: 'x' },
        { command: 'str_replace', path, old_str: 'none', new_str: 'y' },
        { command: 'insert', path, insert_line: 0, insert_text: 'y' },
      ]);
      expect(outcomes.map(({ ok }) => ok)).toEqual([false, true, false, true]);
      expect(await memory.dump()).toEqual({ [path]: 'y\nx' });
    });
  });

  if (!shared) return;

  about('store')('two processes on one tenant', () => {
    const withTwo = async (body: (one: MemoryDriver, two: MemoryDriver) => Promise<void>): Promise<void> => {
      const tenant = freshTenant();
      const [one, two] = await Promise.all([open({ tenant }), open({ tenant })]);
      try {
        await body(one, two);
      } finally {
        await Promise.all([one.close(), two.close()]);
      }
    };

    it('agree on who created the tenant', () =>
      withTwo(async (one, two) => {
        const outcomes = await Promise.all([
          one.run({ command: 'create', path: '/memories/one', file_text: '1' }),
          two.run({ command: 'create', path: '/memories/two', file_text: '2' }),
        ]);
        expect(oks(outcomes)).toBe(2);
        const both = { '/memories/one': '1', '/memories/two': '2' };
        expect(await one.dump()).toEqual(both);
        expect(await two.dump()).toEqual(both);
      }));

    it('keep every insert that was acknowledged', () =>
      withTwo(async (one, two) => {
        await one.run({ command: 'create', path, file_text: '' });
        const [left, right] = await Promise.all([
          one.runAll(numbers(25).map(insert)),
          two.runAll(numbers(25).map((i) => insert(25 + i))),
        ]);
        const acknowledged = [...left, ...right].flatMap(({ ok }, i) => (ok ? [`line ${i}`] : []));
        expect(acknowledged).toHaveLength(50);
        const { [path]: text } = await two.dump();
        expect(linesOf(text)).toEqual(acknowledged.sort());
      }));

    it('have one winner among creates of one file', () =>
      withTwo(async (one, two) => {
        for (const round of numbers(10)) {
          const racing = { command: 'create', path: `/memories/f${round}` };
          const outcomes = await Promise.all([
            one.run({ ...racing, file_text: 'one' }),
            two.run({ ...racing, file_text: 'two' }),
          ]);
          expect(oks(outcomes)).toBe(1);
          const winner = outcomes[0]?.ok ? 'one' : 'two';
          expect(await one.dump()).toHaveProperty([racing.path], winner);
        }
      }));

    it('lose no file by renames onto one target', () =>
      withTwo(async (one, two) => {
        for (const round of numbers(10)) {
          const [a, b, target] = ['a', 'b', 'target'].map((name) => `/memories/${round}/${name}`);
          await one.run({ command: 'create', path: a, file_text: 'a' });
          await two.run({ command: 'create', path: b, file_text: 'b' });
          const outcomes = await Promise.all([
            one.run({ command: 'rename', old_path: a, new_path: target }),
            two.run({ command: 'rename', old_path: b, new_path: target }),
          ]);
          expect(oks(outcomes)).toBe(1);
          const expected = outcomes[0]?.ok
            ? { [String(target)]: 'a', [String(b)]: 'b' }
            : { [String(target)]: 'b', [String(a)]: 'a' };
          expect(await one.dump()).toEqual(expected);
          await one.run({ command: 'delete', path: `/memories/${round}` });
        }
      }));
  });
}
