import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { Questions } from '../../../../src/page/server/answer-questions.ts';
import { openTenantView } from '../../../../src/page/server/tenant-view.ts';
import { type AgentSite, builtPage, openAgent, serveQuestions } from '../../../stage/page-site.ts';
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

describePage('long texts and lists of a page, in Chromium', ({ browser, stack, show }) => {
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
    await content(page).evaluate((each) => each.scrollTo(0, 0));
    await expect.poll(() => content(page).textContent(), PATIENT).toContain(first);
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

  /** Shows a page whose questions are answered as a memory with 10,000 files would. */
  const showAnswers = async (answers: Questions): Promise<Page> => {
    const agent = stack().use(await openAgent({ history: { days: 30 } }));
    await agent.memory.files.write('/memories/a.md', 'a');
    const options = { lineOf: String, canWrite: true };
    const { questions } = stack().use(await openTenantView(agent.options, options));
    const served = stack().use(await serveQuestions({ ...questions, ...answers }, await builtPage()));
    const context = await browser().newContext({ reducedMotion: 'reduce' });
    stack().defer(() => context.close());
    const page = await context.newPage();
    await page.goto(served.address);
    await page.locator('.live[data-on="true"]').waitFor();
    await page.keyboard.press('l');
    return page;
  };
  const entries = numbers.map((n, index) => ({
    kind: 'written',
    path: `/memories/f${n}.md`,
    version: String(index).padStart(22, 'v'),
    time: Date.parse('2026-11-17T09:30:00Z') - index,
    writer: 'turn 1',
    size: 1,
    text: 'kept',
    end: 'current',
  }));
  const requests = {};
  const log = (page: Page) => page.getByRole('list', { name: 'What happened' });

  it('shows a history of 10,000 deeds, and plans of 10,000 changes, as they are scrolled to', async () => {
    const changes = numbers.map((n) => ({ path: `/memories/f${n}.md`, what: 'delete' }));
    const page = await showAnswers({
      versions: async ({ path }) => ({ path, entries, requests }),
      plan: async () => ({ outcome: 'planned', changes, left: [], digest: 'd', requests }),
    });
    await log(page).getByText('f0,001.md').waitFor();
    await expect.poll(() => nodesIn(page), PATIENT).toBeLessThan(MOST_NODES);
    await page
      .getByRole('region', { name: 'History' })
      .evaluate((each) => each.scrollTo(0, each.scrollHeight));
    await log(page).getByText('f10,000.md').waitFor();
    await expect.poll(() => nodesIn(page), PATIENT).toBeLessThan(MOST_NODES);
    const last = page.locator('.entry').filter({ hasText: 'f10,000.md' });
    await last.getByRole('button', { name: 'Back to before this' }).click();
    await page.getByText('This would be done: 10,000 changes').waitFor();
    const act = page.getByRole('button', { name: 'Take it back' });
    const isSeen = () =>
      act.evaluate((each) => {
        const { top, bottom } = each.getBoundingClientRect();
        return top > 0 && bottom <= innerHeight;
      });
    await expect.poll(isSeen, PATIENT).toBe(true);
    await expect.poll(() => nodesIn(page), PATIENT).toBeLessThan(MOST_NODES);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('region', { name: 'History' }).evaluate((each) => each.scrollTo(0, 100_000));
    await expect.poll(isSeen, PATIENT).toBe(true);
    await expect.poll(() => nodesIn(page), PATIENT).toBeLessThan(MOST_NODES);
    expect(await act.isDisabled()).toBe(true);
  });

  it('groups the rows of a history by day in UTC, and by turn where one wrote several', async () => {
    const day = Date.parse('2026-11-17T00:00:00Z');
    const rows = [
      { path: '/memories/a.md', time: day + 3, writer: 'turn 2' },
      { path: '/memories/b.md', time: day + 2, writer: 'turn 2' },
      { path: '/memories/c.md', time: day + 1, writer: 'turn 1' },
      { path: '/memories/d.md', time: day - 1, writer: 'turn 1' },
      { path: '/memories/e.md', time: day - 2, writer: 'an agent' },
      { path: '/memories/f.md', time: day - 3, writer: 'an agent' },
    ];
    const some = rows.map((each, at) => ({ ...entries[0], ...each, version: `v${at}` }));
    const page = await showAnswers({
      versions: async ({ path }) => ({ path, entries: some as typeof entries, requests }),
    });
    await log(page).getByText('f.md').waitFor();
    const heads = await log(page).getByRole('heading').allTextContents();
    expect(heads).toEqual([
      expect.stringContaining('Tuesday 17 November 2026'),
      'turn 2',
      expect.stringContaining('Monday 16 November 2026'),
    ]);
    expect(await log(page).getByRole('listitem').count()).toBe(6);
    const turns = await page
      .locator('.entry')
      .evaluateAll((all) => all.map((each) => each.getAttribute('data-turn')));
    expect(turns).toEqual(['true', 'true', 'false', 'false', 'false', 'false']);
    expect(await violationsOf(page)).toEqual([]);
  });

  it('tells how far it has read the history, and stops when that is cancelled', async () => {
    let signal: AbortSignal | undefined;
    const held = Promise.withResolvers<void>();
    const page = await showAnswers({
      async versions({ path }, asking) {
        if (signal === undefined) {
          signal = asking.signal;
          await asking.send({ done: 4_000, total: 10_000 });
          await asking.send({ done: 5_000, total: 10_000 });
          await new Promise((resolve) => asking.signal.addEventListener('abort', resolve));
          held.resolve();
        }
        return { path, entries, requests };
      },
    });
    await page.getByText('Reading the history … 4,000 files and versions of 10,000').waitFor();
    const bar = page.getByRole('progressbar', { name: 'Reading the history' });
    expect(await bar.evaluate((each) => (each as HTMLProgressElement).position)).toBe(0.4);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await held.promise;
    await page.getByRole('button', { name: 'Read the history' }).click();
    await log(page).getByText('f0,001.md').waitFor();
  });
});
