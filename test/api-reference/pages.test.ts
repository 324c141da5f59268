import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { headingsOf, linksOf } from '../docs/pages.ts';
import { THOROUGH } from '../runner/thorough.ts';
import { arrangePages, sectionTexts } from './arrange.ts';
import { exportsOfEntryPoints } from './exports.ts';
import { GROUPS } from './groups.ts';
import { API_PAGES, entryPages, pagesBelow, readPage, writeApiPages } from './main.ts';

const EXPORTS = exportsOfEntryPoints();
const PAGES = Object.entries(entryPages());

const known = new Map<string, ReadonlySet<string>>();

/** The anchors of a page: of its headings as GitHub numbers them, and those that stand in its tables. */
function anchorsOf(file: string): ReadonlySet<string> {
  const before = known.get(file);
  if (before !== undefined) return before;
  const seen = new Map<string, number>();
  const anchors = headingsOf(file).map((slug) => {
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  const properties = [...readFileSync(file, 'utf8').matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  const found = new Set([...anchors, ...properties]);
  known.set(file, found);
  return found;
}

describe('the API reference', () => {
  it('is made of no star, of which nobody sees what it exports', () => {
    expect(Object.keys(EXPORTS)).toHaveLength(PAGES.length);
    expect(Object.values(EXPORTS).flat()).not.toContain('*');
  });

  it('puts every export of an entry point into one group, and nothing else', () => {
    expect(Object.keys(GROUPS)).toEqual(Object.keys(EXPORTS));
    const grouped = Object.entries(GROUPS).map(([subpath, tasks]) => [
      subpath,
      Object.values(tasks).flat().sort(),
    ]);
    const exported = Object.entries(EXPORTS).map(([subpath, names]) => [subpath, [...names].sort()]);
    expect(grouped).toEqual(exported);
  });

  it.each(PAGES)('lists what can be imported from %s, by task', (subpath, page) => {
    const tasks = GROUPS[subpath] ?? {};
    expect(Object.keys(sectionTexts(readPage(page)))).toEqual(Object.values(tasks).flat());
    expect(readPage(page).match(/^## .*$/gm)).toEqual(Object.keys(tasks).map((task) => `## ${task}`));
  });

  it.each(PAGES)('leads from %s to headings and properties that there are', (_, page) => {
    const dead = linksOf(join(API_PAGES, page)).filter(
      ({ file, heading }) => heading !== undefined && !anchorsOf(file).has(heading),
    );
    expect(dead).toEqual([]);
  });

  it('begins with openMemory', () => {
    expect(Object.keys(sectionTexts(readPage('index.md')))[0]).toBe('openMemory');
  });

  it('orders the sections of a page by task, and leads links to where they stand then', () => {
    const text = [
      '# sealed-memory/mcp\n\n## Functions',
      '### createMemoryServer()\n\nTakes [`MemoryServerOptions`](#memoryserveroptions-1).\n\n#### Returns',
      '## Interfaces',
      '### MemoryServerOptions\n\n| a |\n\n***',
      '### Unknown\n',
    ].join('\n\n');
    const { 'mcp.md': page } = arrangePages([{ subpath: './mcp', title: 'mcp', page: 'mcp.md', text }], []);
    expect(page).toBe(
      `# mcp

- [Serve a memory over MCP](#serve-a-memory-over-mcp): [\`createMemoryServer\`](#creatememoryserver), [\`MemoryServerOptions\`](#memoryserveroptions)

## Serve a memory over MCP

### createMemoryServer()

Takes [\`MemoryServerOptions\`](#memoryserveroptions).

#### Returns

***

### MemoryServerOptions

| a |
`,
    );
  });
});

// TypeDoc reads all types for half a minute; the names that the pages list are held to the code above in every run.
if (THOROUGH) {
  it('docs/api is what npm run write api makes of the code', { timeout: 600_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-api-'));
    try {
      await writeApiPages(folder);
      const [kept, made] = await Promise.all([pagesBelow(API_PAGES), pagesBelow(folder)]);
      expect(Object.keys(made).length).toBeGreaterThan(10);
      // A page writes out the type with which another one is joined.
      expect(Object.values(made).filter((page) => /& `?object\b/.test(page))).toEqual([]);
      const differing = [...new Set([...Object.keys(kept), ...Object.keys(made)])].filter(
        (page) => kept[page] !== made[page],
      );
      expect(differing, 'npm run write api writes these pages').toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
