import { expect, it } from 'vitest';
import type { Contract } from './contract.ts';

const FILE = '/memories/long.txt';
const PAGE = 16_000;

/** A reply taken apart: what it shows, and the range with which its note says to go on. */
interface Page {
  readonly lines: readonly string[];
  readonly note: string | undefined;
  readonly next: readonly [number, number] | undefined;
}

export function describePaging({ memory, about }: Contract): void {
  const view = (path: string, view_range?: readonly number[]): Promise<string> =>
    memory.does({ command: 'view', path, view_range });

  /** Follows the notes from page to page, as the model would. */
  const readAll = async (path: string, range?: readonly number[]): Promise<readonly Page[]> => {
    const pages: Page[] = [];
    for (let next: readonly number[] | undefined = range; ; next = pages.at(-1)?.next) {
      pages.push(pageOf(await view(path, next)));
      if (pages.at(-1)?.next === undefined) return pages;
    }
  };

  about('language')('views over 16,000 characters', () => {
    it.each([
      ['one line', 'x'.repeat(PAGE)],
      ['lines', `${'x'.repeat(99)}\n`.repeat(160)],
      ['surrogate pairs', '😀'.repeat(PAGE / 2)],
    ])('shows exactly 16,000 whole: %s', async (_, text) => {
      expect(text).toHaveLength(PAGE);
      await memory.files({ [FILE]: text });
      const page = pageOf(await view(FILE));
      expect(page.note).toBeUndefined();
      expect(page.lines.join('\n')).toBe(text);
    });

    it('cuts at a line boundary, counts what remains and names the range that continues', async () => {
      await memory.files({ [FILE]: `${'x'.repeat(99)}\n`.repeat(161) });
      const page = pageOf(await view(FILE));
      expect(page.lines).toHaveLength(160);
      expect(page.note).toMatch(/\b2 more lines\b/);
      expect(page.next).toEqual([161, -1]);
      const rest = pageOf(await view(FILE, [161, -1]));
      expect(rest.lines).toEqual(['x'.repeat(99), '']);
      expect(rest.note).toBeUndefined();
    });

    it('reassembles to the text', async () => {
      const text = Array.from({ length: 3_000 }, (_, i) => `${i} ${'é😀x'.repeat(i % 23)}`).join('\r\n');
      await memory.files({ [FILE]: text });
      const pages = await readAll(FILE);
      expect(pages.length).toBeGreaterThan(3);
      for (const { lines } of pages) expect(lines.join('\n').length).toBeLessThanOrEqual(PAGE);
      expect(pages.flatMap(({ lines }) => lines).join('\n')).toBe(text);
    });

    it('continues within the range that was asked for', async () => {
      await memory.files({ [FILE]: Array.from({ length: 1_000 }, (_, i) => `${i}`.padEnd(50)).join('\n') });
      const pages = await readAll(FILE, [100, 700]);
      expect(pages[0]?.next).toEqual([413, 700]);
      expect(pages[0]?.note).toMatch(/\b288 more lines\b/);
      const shown = pages.flatMap(({ lines }) => lines.map((line) => Number(line)));
      expect(shown).toEqual(Array.from({ length: 601 }, (_, i) => i + 99));
    });

    it('shows the start of a longer line, its full length and how to go on', async () => {
      await memory.files({ [FILE]: `${'x'.repeat(20_000)}\nnext\nlast` });
      const [first, second] = await readAll(FILE);
      expect(first?.lines).toEqual(['x'.repeat(PAGE)]);
      expect(first?.note).toContain('20000');
      expect(first?.note).toMatch(/\b2 more lines\b/);
      expect(first?.next).toEqual([2, -1]);
      expect(second?.lines).toEqual(['next', 'last']);
    });

    it('shows a longer line that comes later on a page of its own', async () => {
      await memory.files({ [FILE]: `short\n${'y'.repeat(16_001)}` });
      const pages = await readAll(FILE);
      expect(pages.map(({ lines }) => lines)).toEqual([['short'], ['y'.repeat(PAGE)]]);
      expect(pages[1]?.note).toContain('16001');
    });

    it('never cuts a surrogate pair', async () => {
      await memory.files({ [FILE]: `x${'😀'.repeat(9_000)}` });
      const reply = await view(FILE);
      expect(reply.isWellFormed()).toBe(true);
      const page = pageOf(reply);
      expect(page.lines).toEqual([`x${'😀'.repeat(7_999)}`]);
      expect(page.note).toContain('18001');
    });
  });

  about('language')('listings over 16,000 characters', () => {
    it('page through every row', async () => {
      const names = Array.from({ length: 150 }, (_, i) => `${String(i).padStart(3, '0')}-${'n'.repeat(120)}`);
      await memory.runAll(
        names.map((name) => ({ command: 'create', path: `/memories/${name}`, file_text: 'x' })),
      );
      const whole = ['150B\t/memories', ...names.map((name) => `1B\t/memories/${name}`)];
      const rows: string[] = [];
      for (let next: string | undefined = '[1, -1]'; next !== undefined; ) {
        const [, ...shown] = (await view('/memories', JSON.parse(next) as number[])).split('\n');
        const note: string | undefined = shown.at(-1)?.startsWith('(') ? shown.pop() : undefined;
        expect(shown.join('\n').length).toBeLessThanOrEqual(PAGE);
        rows.push(...shown);
        next = note?.match(/view_range (\[\d+, -?\d+\])/)?.[1];
      }
      expect(rows).toEqual(whole);
      const [, ...first] = (await view('/memories')).split('\n');
      expect(first.pop()).toMatch(new RegExp(`\\b${whole.length - first.length} more rows\\b`));
      expect(first).toEqual(whole.slice(0, first.length));
    });
  });
}

function pageOf(reply: string): Page {
  const [header, ...rest] = reply.split('\n');
  expect(header).toBe(`Here's the content of ${FILE} with line numbers:`);
  const note = rest.at(-1)?.startsWith('(') ? rest.pop() : undefined;
  const lines = rest.map((line) => line.replace(/^ *\d+\t/, ''));
  const range = note?.match(/view_range \[(\d+), (-?\d+)\]/);
  return { lines, note, next: range ? [Number(range[1]), Number(range[2])] : undefined };
}
