import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { AgentSite } from '../../../stage/page-site.ts';
import { content, describePage, find, PATIENT, row, violationsOf } from './stage.ts';

const COUNT = 10_000;
const numbers = Array.from({ length: COUNT }, (_, index) =>
  (index + 1).toLocaleString('en', { minimumIntegerDigits: 4 }),
);

/** Texts that are long in each of the ways in which a text is laid out, by their names. */
const LONG: Readonly<
  Record<string, { readonly text: string; readonly first: string; readonly last: string }>
> = {
  'table.md': {
    text: `| What | When | Who |\n| --- | --- | --- |\n${numbers.map((n) => `| row ${n} | day ${n} | a |`).join('\n')}\n`,
    first: 'row 0,001',
    last: 'row 10,000',
  },
  'list.md': {
    text: numbers.map((n, index) => `${index + 1}. item ${n}`).join('\n'),
    first: 'item 0,001',
    last: 'item 10,000',
  },
  'paragraph.md': {
    text: numbers.map((n) => `line ${n}`).join('\n'),
    first: 'line 0,001',
    last: 'line 10,000',
  },
  'sections.md': {
    text: numbers.map((n) => `# Part ${n}`).join('\n\n'),
    first: 'Part 0,001',
    last: 'Part 10,000',
  },
  'log.txt': {
    text: numbers.map((n) => `entry ${n}`).join('\n'),
    first: 'entry 0,001',
    last: 'entry 10,000',
  },
};

/** Beside a text stand the rows of the tree and of the object. */
const MOST_NODES = 2_500;
const nodesIn = (page: Page): Promise<number> => page.evaluate(() => document.querySelectorAll('*').length);

describePage('long texts and lists of a page, in Chromium', ({ show }) => {
  const longTexts = async ({ memory: { files } }: AgentSite): Promise<void> => {
    for (const [name, { text }] of Object.entries(LONG)) await files.write(`/memories/${name}`, text);
  };
  /** Scrolls the file to its end, until that is shown. */
  const toEnd = (page: Page, last: string): Promise<void> =>
    expect
      .poll(
        () =>
          content(page).evaluate((each) => {
            each.scrollTop = each.scrollHeight;
            return each.textContent;
          }),
        PATIENT,
      )
      .toContain(last);

  it.each(Object.entries(LONG))('lays %s out as it is scrolled to', async (name, { first, last }) => {
    const { page, strays } = await show(longTexts);
    await row(page, name).click();
    await expect.poll(() => content(page).textContent(), PATIENT).toContain(first);
    expect(await content(page).textContent()).not.toContain(last);
    await expect.poll(() => nodesIn(page), PATIENT).toBeLessThan(MOST_NODES);
    expect(await violationsOf(page)).toEqual([]);
    await toEnd(page, last);
    await expect.poll(() => nodesIn(page), PATIENT).toBeLessThan(MOST_NODES);
    expect(await content(page).textContent()).not.toContain(first);
    expect(await violationsOf(page)).toEqual([]);
    expect(strays).toEqual([]);
  });

  it('numbers the items of a long list as one', async () => {
    const { page } = await show(longTexts);
    await row(page, 'list.md').click();
    await content(page).getByText('item 0,001').waitFor();
    const starts = await content(page)
      .locator('ol')
      .evaluateAll((lists) => lists.map((each) => (each as HTMLOListElement).start));
    expect(starts).toEqual(Array.from({ length: COUNT / 100 }, (_, at) => at * 100 + 1));
  });

  it('leads from a search to a line far down a long text', async () => {
    const { page } = await show(longTexts);
    await find(page, 'entry 7,777');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'log.txt:7777' }).click();
    await page.locator('.line[data-found="true"]').getByText('entry 7,777').waitFor();
    await expect
      .poll(
        () =>
          page.locator('.line[data-found="true"]').evaluate((each) => {
            const { top, bottom } = each.getBoundingClientRect();
            return top > 0 && bottom < innerHeight;
          }),
        PATIENT,
      )
      .toBe(true);
    await expect.poll(() => nodesIn(page), PATIENT).toBeLessThan(MOST_NODES);
  });
});
