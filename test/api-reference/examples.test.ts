import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { sectionTexts } from './arrange.ts';
import { COMPILED_ONLY, EXAMPLES, fileOf, readExamples, runExamples } from './examples.ts';
import { GROUPS } from './groups.ts';
import { entryPages, readPage } from './main.ts';

const examples = readExamples();

describe('the examples of the API reference', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-examples-'));
  beforeAll(() => {
    vi.stubEnv('TMPDIR', folder);
    for (const level of ['log', 'warn', 'error'] as const) vi.spyOn(console, level).mockReturnValue();
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });

  it('are named for an export that each imports by its name', () => {
    const shown = Object.entries(GROUPS).flatMap(([subpath, tasks]) =>
      Object.values(tasks).flatMap((names) =>
        names.map((name) => [fileOf(subpath, name), `${subpath} ${name}`] as const),
      ),
    );
    const without = examples.filter(
      ({ file, uses }) => !shown.some(([of, use]) => of === file && uses.has(use)),
    );
    expect(without.map(({ file }) => file)).toEqual([]);
  });

  it('stand with every export, or with one that it belongs to', () => {
    const bare = Object.entries(entryPages()).flatMap(([subpath, page]) =>
      Object.entries(sectionTexts(readPage(page)))
        .filter(([, text]) => !/^#### Example$|^Example: see \[/m.test(text))
        .map(([name]) => `${subpath} ${name}`),
    );
    expect(bare).toEqual([]);
  });

  it('say why they are only compiled, if they are', () => {
    const reasons = examples
      .filter(({ text }) => text.startsWith(COMPILED_ONLY))
      .map(({ text }) => text.split('\n')[0] ?? '');
    expect(reasons.length).toBeLessThan(examples.length / 2);
    expect(reasons.filter((line) => !/: .+\.$/.test(line))).toEqual([]);
  });

  it.each(runExamples('others'))('run to their end: %s', async (file) => {
    await import(/* @vite-ignore */ `${EXAMPLES}${file}`);
  });
});
