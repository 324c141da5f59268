import { describe, expect, it } from 'vitest';
import { foldLines, type SessionFold } from '../../../src/sessions/fold.ts';

const key = { projectKey: 'p', sessionId: 's' };
const lines = [{ text: '{"n":1}' }, { text: '{"n":2}' }];

describe('foldLines', () => {
  it('hands the fold what was summarised before, a copy of the key, and the texts', () => {
    const given: unknown[] = [];
    const fold: SessionFold = {
      by: 'test',
      fold(previous, of, texts) {
        given.push(previous, of, texts);
        return texts.length;
      },
    };
    expect(foldLines(fold, { previous: { n: 0 }, key, lines })).toStrictEqual({ by: 'test', data: 2 });
    expect(given).toStrictEqual([{ n: 0 }, key, ['{"n":1}', '{"n":2}']]);
    expect(given[1]).not.toBe(key);
  });

  it('tells by undefined that nothing was summarised before', () => {
    const fold: SessionFold = { by: 'test', fold: (previous) => [previous === undefined] };
    expect(foldLines(fold, { key, lines })).toStrictEqual({ by: 'test', data: [true] });
  });

  it.each([
    [null, null],
    ['', ''],
    [0, 0],
    [{ at: new Date(0), none: undefined }, { at: '1970-01-01T00:00:00.000Z' }],
    // biome-ignore lint/suspicious/noThenProperty: only a promise of the language is one that comes later.
    [{ then: 1 }, { then: 1 }],
  ])('keeps of %j what JSON says', (answer, data) => {
    expect(foldLines({ by: '', fold: () => answer }, { key, lines })).toStrictEqual({ by: '', data });
  });

  it('keeps a copy: what the fold changes later changes no summary', () => {
    const answer = { n: 1 };
    const summary = foldLines({ by: 'test', fold: () => answer }, { key, lines });
    answer.n = 2;
    expect(summary).toStrictEqual({ by: 'test', data: { n: 1 } });
  });

  it.each<readonly [string, () => unknown]>([
    ['undefined', () => undefined],
    ['a function', () => () => 1],
    ['a promise', async () => 1],
    ['a promise that fails', () => Promise.reject(new Error('later'))],
    [
      'nothing, since it throws',
      () => {
        throw new Error('now');
      },
    ],
    ['a number that JSON lacks', () => 1n],
  ])('makes no summary of %s', (_, answer) => {
    expect(foldLines({ by: 'test', fold: answer }, { key, lines })).toBeUndefined();
  });

  it.each([undefined, null, 1, {}])('makes no summary under the name %j', (by) => {
    expect(foldLines({ by: by as never, fold: () => 1 }, { key, lines })).toBeUndefined();
  });
});
