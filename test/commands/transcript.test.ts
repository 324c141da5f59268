import { describe, expect, it } from 'vitest';
import { Names, parseTranscript, shownAnswer } from './transcript.ts';

const VERSION = '0123456789abcdefghij_-';

describe('a transcript', () => {
  it('has a title, lines that are typed, documents behind them, and answers without remarks', () => {
    const text = `a claim
in two lines

$ put a <<EOF
> $ one
>
> EOF
[1]
# A remark.
It is none of the answer.
$ ls

two
`;
    expect(parseTranscript(text)).toEqual({
      title: 'a claim in two lines',
      steps: [
        { typed: 'put a', input: '$ one\n\n', answer: ['[1]'] },
        { typed: 'ls', input: '', answer: ['', 'two'] },
      ],
    });
  });

  it.each<[stdout: string, stderr: string, code: number, shown: readonly string[]]>([
    ['', '', 0, []],
    ['one\n\n', '', 0, ['one', '']],
    ['one', '', 3, ['one (no newline)', '[3]']],
    ['a\r\n', 'sealed-memory: why\nother\n', 1, ['a\\r', '! why', '!! other', '[1]']],
    [
      '$ a\n# b\n! c\n!! d\n[1]\n?\n\\e\n',
      '',
      0,
      ['$ a', '# b', '! c', '!! d', '[1]', '?', '\\e'].map((line) => `\\${line}`),
    ],
  ])('shows an answer so that no other looks like it: %j', (stdout, stderr, code, shown) => {
    expect(shownAnswer({ stdout: Buffer.from(stdout), stderr, code })).toEqual(shown);
  });
});

describe('a name in a transcript', () => {
  it('stands for what it stood for first, a version whole and short', () => {
    const names = new Names('/here');
    expect(names.matches('{v1} and {v1}', 'v01234567 and v01234567')).toBe(true);
    expect(names.matches('{v1}', 'v01234568')).toBe(false);
    expect(names.matches('{V1}', `1${VERSION.slice(1)}`)).toBe(false);
    expect(names.matches('{V1}', VERSION)).toBe(true);
    expect(names.matches('{V1}', `${VERSION.slice(0, 21)}x`)).toBe(false);
    expect(names.typed('show a {v1} v{V1} {v2}')).toBe(`show a v01234567 v${VERSION} {v2}`);
    expect(new Names('/here').matches('{v1} {v1}', 'v01234567 v01234568')).toBe(false);
  });

  it('takes a whole version before a short one', () => {
    const names = new Names('/here');
    expect(names.matches('{"version":"{V1}"}', `{"version":"${VERSION}"}`)).toBe(true);
    expect(names.matches('{v1}', 'v01234567')).toBe(true);
    expect(names.matches('{v1}', 'v0123456_')).toBe(false);
  });

  it('is of its kind, and all else is as it stands', () => {
    expect(new Names('/here').matches('{n1} (a|b).*', '12 (a|b).*')).toBe(true);
    expect(new Names('/here').matches('{n1}', 'x')).toBe(false);
    expect(new Names('/here').matches('a.c', 'abc')).toBe(false);
    expect(new Names('/here').matches('{here}/{*}', '/here/any thing')).toBe(true);
    expect(new Names('/here').matches('{here}', '/there')).toBe(false);
    expect(new Names('/here').matches('ab', 'abc')).toBe(false);
  });

  it('is filled in for what a run makes up, and for nothing else', () => {
    const names = new Names('/here');
    expect(names.fill('12:00  v0123AB_-  versions  /here/a')).toBe('12:00  {v1}  versions  {here}/a');
    expect(names.fill('{"version":"0123AB_-klmnopqrstuvwx","toVersion":"0000000000000000000000"}')).toBe(
      '{"version":"{V1}","toVersion":"{V2}"}',
    );
    expect(names.fill('v0123AB_- v00000000')).toBe('{v1} {v2}');
  });
});
