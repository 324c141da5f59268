import { describe, expect, it } from 'vitest';
import { amountOf, pathFault, pathFaultSentence } from '../../../src/language/path-faults.ts';

describe('pathFault', () => {
  it.each([
    [{ rule: 'outside_root' }, 'must start with /memories, as /memories/notes.md does'],
    [{ rule: 'dot_segment' }, 'is not allowed: leave out the segment named .'],
    [{ rule: 'backslash' }, 'contains a backslash: separate its segments with /'],
    [{ rule: 'lone_surrogate' }, 'must be valid Unicode text: it contains half of a surrogate pair'],
    [
      { rule: 'forbidden_character', character: 'U+0000' },
      'contains the character U+0000: control, format and line separator characters are not allowed',
    ],
    [
      { rule: 'segment_too_long', value: 144, max: 143 },
      'has a segment of 144 bytes: at most 143 bytes of UTF-8 are allowed between two slashes',
    ],
    [
      { rule: 'too_many_segments', value: 21, max: 20 },
      'has 21 segments: at most 20 are allowed below /memories',
    ],
    [
      { rule: 'too_many_segments', value: 21, max: 20, below: '/memories/team' },
      'has 21 segments: at most 20 are allowed below /memories/team',
    ],
    [{ rule: 'key_too_long', tooMany: 3 }, 'is 3 bytes too long: shorten its names or use fewer directories'],
    [
      { rule: 'directory_suffix', suffix: '.sealed' },
      'has a directory whose name ends in .sealed: choose another name for it',
    ],
    [{ rule: 'another' }, 'is not valid'],
    [{}, 'is not valid'],
  ])('of %j says how to mend it', (details, fault) => {
    expect(pathFault(details)).toBe(fault);
  });

  it.each(['parent_segment', 'percent_encoded'])(
    'of %s says that the path would escape /memories',
    (rule) => {
      expect(pathFault({ rule })).toContain('would escape /memories');
    },
  );

  it('says ? for a number that is unknown', () => {
    expect(pathFault({ rule: 'key_too_long' })).toMatch(/^is \? bytes/);
    expect([amountOf({ n: 7 }, 'n'), amountOf({ n: '7' }, 'n'), amountOf({}, 'n')]).toEqual(['7', '?', '?']);
  });
});

describe('pathFaultSentence', () => {
  const hint = (text?: string): string => {
    const sentence = pathFaultSentence({ rule: 'outside_root' }, text);
    const start = 'The path must start with /memories, as /memories/notes.md does';
    expect(sentence.startsWith(start)).toBe(true);
    return sentence.slice(start.length);
  };

  it.each([
    ['//memories', ': begin it with one slash.'],
    ['///memories/a', ': begin it with one slash.'],
    ['//memoriesx', '.'],
    ['memories', ': begin it with a slash.'],
    ['memories/a', ': begin it with a slash.'],
    ['memoriesx', ': a relative path leads nowhere.'],
    ['/memoriesx', ': a slash must follow /memories.'],
    ['/Memories', ', in small letters.'],
    ['/MEMORIES/a', ', in small letters.'],
    ['Memories/a', ', in small letters.'],
    ['/Memoriesx', '.'],
    ['/x/memories', '.'],
    ['x/memories', ': a relative path leads nowhere.'],
    ['x//memories/', ': a relative path leads nowhere.'],
    ['/etc/passwd', '.'],
    ['notes.md', ': a relative path leads nowhere.'],
    ['', ': a relative path leads nowhere.'],
    [undefined, ': a relative path leads nowhere.'],
  ])('of %j, which is outside, ends in %j', (text, end) => {
    expect(hint(text)).toBe(end);
  });

  it('has no such end for another rule', () => {
    expect(pathFaultSentence({ rule: 'dot_segment' }, 'memories')).toBe(
      'The path is not allowed: leave out the segment named ..',
    );
  });
});
