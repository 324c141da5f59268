import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { API_PAGES, pagesBelow, writeApiPages } from '../api-reference/main.ts';

const SLOW = 600_000;
const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-api-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('docs/api is what npm run write api makes of the code', { timeout: SLOW }, async () => {
  await writeApiPages(folder);
  const [kept, made] = await Promise.all([pagesBelow(API_PAGES), pagesBelow(folder)]);
  expect(Object.keys(made).length).toBeGreaterThan(10);
  // What a type is joined with is written out.
  expect(Object.values(made).filter((page) => /& `?object\b/.test(page))).toEqual([]);
  const differing = [...new Set([...Object.keys(kept), ...Object.keys(made)])].filter(
    (page) => kept[page] !== made[page],
  );
  expect(differing, 'npm run write api writes these pages').toEqual([]);
});
