import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseTranscript } from '../commands/transcript.ts';
import { blocksOf } from './pages.ts';

const transcripts = globSync('test/commands/docs/*.txt').sort();

/**
 * Matches the lines that no transcript types: a screen, an editor, a browser, another program, and what a shell puts
 * together.
 */
const NOT_PLAYED = /^npx sealed-memory (?:open|edit|completion)\b|^(?!npx sealed-memory|echo|mkdir -p)|\$\(/;

/** The lines of a page that its transcript has to type, as a person types them: without remarks. */
const linesOf = (page: string): readonly string[] =>
  blocksOf(page, 'sh')
    .flatMap(({ text }) => text.trimEnd().split('\n'))
    .filter((line) => !NOT_PLAYED.test(line))
    .map((line) => line.replace(/ +# .*$/, '').replaceAll('npx sealed-memory', 'sealed-memory'));

/** A line of a transcript as a page has it: with words in the place of what a run makes up, and shown at a screen. */
const onPage = (typed: string): string =>
  typed
    .replaceAll(/v?\{[vV]\d+\}/g, 'VERSION')
    .replaceAll(/1:\{id\d+\}/g, "'1:7rBv…'")
    .replace(/ > help$/, '');

describe('a page whose commands are played', () => {
  it('is there', () => expect(transcripts.length).toBeGreaterThan(3));

  it.each(transcripts)('has no line that its transcript does not type, in the same order: %s', (file) => {
    const page = `docs/${basename(file, '.txt')}.md`;
    const lines = linesOf(page);
    expect(lines.length).toBeGreaterThan(2);
    const typed = parseTranscript(readFileSync(file, 'utf8')).steps.map((step) => onPage(step.typed));
    const found = typed.filter((line) => lines.includes(line));
    expect(found.filter((line, index) => line !== found[index - 1])).toEqual(lines);
  });
});
