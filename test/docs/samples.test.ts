import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNewcomer } from './newcomer.ts';
import { blocksOf, PAGES } from './pages.ts';

/** Samples that need neither a framework nor an API: what they import is of this package. */
const samples = PAGES.flatMap((page) => blocksOf(page, 'ts'))
  .filter(({ text }) => text.includes('optionsFromEnvironment()'))
  .filter(({ text }) =>
    [...text.matchAll(/ from '([^']+)'/g)].every(([, from]) => /^sealed-memory\b/.test(from ?? '')),
  );

describe('a sample of the pages, started with what init writes', { timeout: 60_000 }, () => {
  const newcomer = createNewcomer();
  beforeAll(async () => {
    const { code } = await newcomer.type(
      `npx sealed-memory init
       npx sealed-memory tenant history on
       npx sealed-memory put --text first /memories/notes.md
       npx sealed-memory put --text second /memories/notes.md
       npx sealed-memory put --tenant org --text kind /memories/manners.md`,
    );
    expect(code).toBe(0);
  }, 60_000);
  afterAll(() => newcomer.leave());

  it('is there', () => expect(samples.length).toBeGreaterThan(7));

  it.each(samples)('runs to its end: $page, line $line', async ({ page, line, text }) => {
    const name = `${page.replaceAll('/', '-')}-${line}.mts`;
    newcomer.save(name, text);
    expect(await newcomer.type(`node --env-file=.env ${name}`)).toMatchObject({ code: 0, stderr: '' });
  });
});
