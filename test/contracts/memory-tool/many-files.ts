import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';

const SLOW = 180_000;

export function describeManyFiles({ memory, about, manyFiles: count }: Contract): void {
  const name = (i: number): string => `${i % 7}/file-${i}.txt`;
  const numbers = Array.from({ length: count }, (_, i) => i);
  const filesIn = (directory: string): Readonly<Record<string, string>> =>
    Object.fromEntries(numbers.map((i) => [`${directory}/${name(i)}`, `content ${i}`]));

  about('store')(`a directory of ${count} files`, () => {
    it(
      'is listed, renamed and deleted as a whole, and nothing beside it',
      async () => {
        const beside = { '/memories/big.txt': 'beside', '/memories/bigger/0/file-0.txt': 'beside' };
        await memory.files(beside);
        const created = await memory.runAll(
          Object.entries(filesIn('/memories/big')).map(([path, file_text]) => ({
            command: 'create',
            path,
            file_text,
          })),
        );
        expect(created.filter(({ ok }) => !ok)).toEqual([]);
        const bytes = Object.values(filesIn('')).join('').length;
        const listing = await memory.does({ command: 'view', path: '/memories/big', view_range: [1, 1] });
        expect(listing.split('\n')[1]).toBe(`${(bytes / 1024).toFixed(1)}K\t/memories/big`);

        await memory.says(
          { command: 'rename', old_path: '/memories/big', new_path: '/memories/moved/here' },
          'Successfully renamed /memories/big to /memories/moved/here',
        );
        expect(await memory.dump()).toEqual({ ...filesIn('/memories/moved/here'), ...beside });

        await memory.says(
          { command: 'delete', path: '/memories/moved' },
          'Successfully deleted /memories/moved',
        );
        expect(await memory.dump()).toEqual(beside);
      },
      SLOW,
    );
  });
}
