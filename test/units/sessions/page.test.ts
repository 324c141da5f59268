import { describe, expect, it } from 'vitest';
import {
  decodePage,
  decodingPage,
  encodePage,
  isFull,
  MOST_PAGE_BYTES,
  parseLine,
  parseLines,
  roomFor,
  type TranscriptLine,
} from '../../../src/sessions/page.ts';
import { isKnown, knownPage } from '../../../src/sessions/transcript.ts';
import type { ETag } from '../../../src/store/port.ts';
import { describeRecords } from '../../format/describe-records.ts';
import { bytes } from '../../stage/test-tree.ts';

const LINE_BYTES = 15_728_640;
const EMPTY_LINE = '{"a":""}';

/** A line of so many bytes, its line feed among them. */
const lineOf = (bytes: number): TranscriptLine =>
  parseLine(`{"a":"${'x'.repeat(bytes - EMPTY_LINE.length - 1)}"}`);

describeRecords('sessions', (content) => {
  const page = decodePage(content);
  return { ...page, lines: page.lines.map(({ text }) => text) };
});

describe('a line of a session', () => {
  it('has at most so many bytes, its line feed among them', () => {
    expect(lineOf(LINE_BYTES).bytes).toBe(LINE_BYTES);
    expect(() => lineOf(LINE_BYTES + 1)).toThrow(
      expect.objectContaining({
        code: 'limit_exceeded',
        details: { limit: 'session_line_bytes', value: LINE_BYTES + 1, max: LINE_BYTES },
      }),
    );
  });

  it.each([
    ['{"uuid":"u"}', 'u'],
    ['{"uuid":""}', undefined],
    ['{"uuid":7}', undefined],
    ['{}', undefined],
  ])('%s has the uuid %s', (text, uuid) => {
    expect(parseLine(text).uuid).toBe(uuid);
  });

  it.each(['', '[]', '"a"', 'null', '{}\n', '{}\n{}', '{"a":"\ud800"}', 7])('is not %j', (text) => {
    expect(() => parseLine(text)).toThrow(expect.objectContaining({ code: 'invalid_command' }));
  });

  it('is known by its uuid alone', () => {
    const lines = [parseLine('{"uuid":"a"}'), parseLine('{"n":1}')];
    const known = [knownPage(1, '"1"' as ETag, { lines: [] }), knownPage(2, '"2"' as ETag, { lines })];
    const isThere = (text: string): boolean => isKnown(known, parseLine(text));
    expect(['{"uuid":"a","n":2}', '{"uuid":"b"}', '{"n":1}'].map(isThere)).toEqual([true, false, false]);
    expect(isKnown([], parseLine('{"uuid":"a"}'))).toBe(false);
  });
});

describe('a page of a session', () => {
  const key = { projectKey: 'p', sessionId: 's' };
  const MIB = 1_048_576;

  it.each([
    ['an empty page takes one line in any case', [], [MIB + 1, 10], 1],
    ['an empty page takes lines up to a MiB', [], [MIB - 100, 100, 10], 2],
    ['an empty page takes no second line beyond a MiB', [], [MIB - 100, 101, 10], 1],
    ['a page takes one line in any case', [MIB], [10, 10], 1],
    ['a page takes lines up to a MiB with those it has', [MIB - 100], [50, 50, 10], 2],
    ['a page takes all there are', [10], [10, 10, 10], 3],
    ['nothing is nothing', [], [], 0],
  ])('%s', (_, there, given, count) => {
    expect(roomFor(there.map(lineOf), given.map(lineOf))).toBe(count);
  });

  it('is full from 64 KiB of lines on', () => {
    const pages = [65_535, 65_536].map((bytes) => ({ key, first: 1, lines: [lineOf(bytes)] }));
    expect(pages.map(isFull)).toEqual([false, true]);
  });

  it('fits into an object, whatever it holds, and leaves a summary out that is too long', () => {
    const lines = [lineOf(LINE_BYTES)];
    const withSummary = (characters: number): number => {
      const summary = { by: '', data: 'x'.repeat(characters - JSON.stringify({ by: '', data: '' }).length) };
      return encodePage({ key, first: 1, summary, lines }).length;
    };
    const without = encodePage({ key, first: 1, lines }).length;
    expect(withSummary(65_536)).toBe(without + ',"summary":'.length + 65_536);
    expect(withSummary(65_537)).toBe(without);
    expect(withSummary(65_536)).toBeLessThanOrEqual(MOST_PAGE_BYTES);
  });
});

describe('the content of a page', () => {
  const key = { projectKey: 'p', sessionId: 's' };
  const lines = ['{"uuid":"u"}', ' {"n" : "é"} '].map(parseLine);
  const head = JSON.stringify({ key, first: 3 });

  it.each([
    { key, first: 0, lines: [] },
    { key: { ...key, subpath: 'a' }, first: 3, lines },
    { key, first: 3, summary: { by: 'b', data: null }, lines },
    { key, first: 3, summary: { by: '', data: { n: [1] } }, lines },
  ])('is read as it was written: %j', (page) => {
    expect(decodePage(encodePage(page))).toStrictEqual(page);
  });

  it('is a line of its facts, and its lines behind that', () => {
    const text = new TextDecoder().decode(encodePage({ key, first: 3, lines }));
    expect(text).toBe(`${head}\n{"uuid":"u"}\n {"n" : "é"} `);
  });

  it('counts the bytes of each line, its line feed among them', () => {
    expect(decodePage(encodePage({ key, first: 0, lines })).lines.map((line) => line.bytes)).toEqual([
      13, 15,
    ]);
  });

  it.each([
    ['', []],
    ['{}', []],
    [JSON.stringify({ key }), []],
    [JSON.stringify({ first: 0 }), []],
    [JSON.stringify({ key: { projectKey: 'p' }, first: 0 }), []],
    [JSON.stringify({ key, first: -1 }), []],
    [JSON.stringify({ key, first: 0, summary: null }), []],
    [JSON.stringify({ key, first: 0, summary: 'b' }), []],
    [JSON.stringify({ key, first: 0, summary: { by: 'b' } }), []],
    [JSON.stringify({ key, first: 0, summary: { data: 1 } }), []],
    [JSON.stringify({ key, first: 0, summary: { by: 1, data: 1 } }), []],
    [head, ['']],
    [head, ['[]']],
    [head, ['{}', '{']],
  ])('is refused as damaged: %s and the lines %j', (facts, texts) => {
    expect(() => decodePage(bytes([facts, ...texts].join('\n')))).toThrow(
      expect.objectContaining({ code: 'integrity' }),
    );
  });

  it('is refused as damaged where it is no UTF-8', () => {
    expect(() => decodePage(Uint8Array.of(...bytes(`${head}\n{"a":"`), 0xff, ...bytes('"}')))).toThrow(
      expect.objectContaining({ code: 'integrity' }),
    );
  });
});

describe('the steps in which lines are parsed', () => {
  const STEP = 65_536;
  /** The times that others run before the lines are there. */
  const stepsOf = (steps: Generator<void, unknown>): number => {
    let count = 0;
    while (steps.next().done !== true) count++;
    return count;
  };

  it.each([
    [[], 0],
    [[STEP - 1], 0],
    [[STEP], 1],
    [[STEP - 1, 10], 1],
    [[STEP, STEP - 1], 1],
    [[STEP, STEP], 2],
    [[STEP - 10, 10, STEP - 10, 9], 1],
    [[3 * STEP, 10], 1],
  ])('of %j bytes are %i', (sizes, count) => {
    const lines = sizes.map(lineOf);
    expect(stepsOf(parseLines(lines.map(({ text }) => text)))).toBe(count);
    const page = { key: { projectKey: 'p', sessionId: 's' }, first: 0, lines };
    expect(stepsOf(decodingPage(encodePage(page)))).toBe(count);
  });

  it('lead to all lines in their order, or to the refusal of one', () => {
    const texts = [lineOf(STEP).text, '{"uuid":"u"}', '{}'];
    const steps = parseLines(texts);
    steps.next();
    expect(steps.next()).toStrictEqual({ done: true, value: texts.map(parseLine) });
    expect(() => stepsOf(parseLines(['{}', 7]))).toThrow(
      expect.objectContaining({ code: 'invalid_command' }),
    );
  });
});
