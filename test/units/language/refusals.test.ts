import { describe, expect, it } from 'vitest';
import type { ErrorDetails } from '../../../src/errors.ts';
import { create, insert, path, refuse, rename, say, view } from './replies.ts';

describe('commandRefusal', () => {
  it.each<[unknown, string]>([
    [null, 'The input must be an object with the field `command` and the fields of that command'],
    [
      { command: 'toString', path },
      'Field `command` must be one of these strings: view, create, str_replace, insert, delete, rename',
    ],
    [
      { command: ['view'], path },
      'Field `command` must be one of these strings: view, create, str_replace, insert, delete, rename',
    ],
    [
      { command: 'create', path },
      'Field `file_text` is missing: create expects a string, the content of the file',
    ],
    [
      { ...insert, insert_line: '2' },
      'Field `insert_line` has the wrong type: insert expects a whole number, the line to insert after',
    ],
    [{ ...view, depth: 3 }, 'Field `depth` is not expected: view takes `path` and optionally `view_range`'],
    [
      { ...create, file_text: '\ud800' },
      'Field `file_text` must be valid Unicode text: it contains half of a surrogate pair',
    ],
  ])('answers %j with one sentence that names the field', (input, sentence) => {
    expect(refuse(input)).toBe(`Error: ${sentence}`);
    expect(refuse(input, 'sdk')).toBe(`Error: ${sentence}`);
  });
});

describe('pathRefusal', () => {
  it.each<[string, string]>([
    ['/etc/passwd', 'Path must start with /memories, got: /etc/passwd'],
    [
      '/memories_evil/a',
      'Path must start with /memories, got: /memories_evil/a. A slash must follow /memories',
    ],
    ['/memories/../../etc/passwd', 'Path /memories/../../etc/passwd would escape /memories directory'],
    ['/memories/..\\..\\a', 'Path /memories/..\\..\\a would escape /memories directory'],
    [
      '/memories/a/../b',
      'Path /memories/a/../b is not allowed: a segment named .. would escape /memories directory or hide where the path leads',
    ],
    ['/memories/./a', 'Path /memories/./a is not allowed: leave out the segment named .'],
    [
      '/memories/%2e%2e%2fa',
      'Path /memories/%2e%2e%2fa would escape /memories directory or change its segments if it were decoded: percent-encoded dots, slashes, backslashes and NULs are not allowed',
    ],
    ['/memories/a\\b', 'Path /memories/a\\b contains a backslash: separate its segments with /'],
    [
      '/memories/a\0',
      'Path /memories/a\0 contains the character U+0000: control, format and line separator characters are not allowed',
    ],
    [
      '/memories/\ud800',
      'Path /memories/\ufffd must be valid Unicode text: it contains half of a surrogate pair',
    ],
    [
      `/memories/${'x'.repeat(144)}`,
      `Path /memories/${'x'.repeat(144)} has a segment of 144 bytes: at most 143 bytes of UTF-8 are allowed between two slashes`,
    ],
  ])('%j', (given, sentence) => {
    expect(refuse({ command: 'view', path: given })).toBe(`Error: ${sentence}`);
    expect(refuse({ ...rename, new_path: given })).toBe(`Error: ${sentence}`);
  });

  it('tells how many segments a path has, and from where they count', () => {
    const details = { rule: 'too_many_segments', value: 21, max: 20 };
    expect(say(view, 'invalid_path', details)).toBe(
      'Error: Path /memories//notes.txt has 21 segments: at most 20 are allowed below /memories',
    );
    expect(say(rename, 'invalid_path', { ...details, role: 'source' })).toBe(
      'Error: Path /memories/draft.txt has 21 segments: at most 20 are allowed below /memories',
    );
    expect(say(rename, 'invalid_path', { ...details, role: 'target', below: '/memories/org' })).toBe(
      'Error: Path /memories/final.txt has 21 segments: at most 20 are allowed below /memories/org',
    );
  });

  it('names the file of a renamed directory that would have a path that is refused', () => {
    const moved = { role: 'target', paths: ['/memories/final.txt/a/b'] };
    expect(say(rename, 'invalid_path', { ...moved, rule: 'too_many_segments', value: 21, max: 20 })).toBe(
      'Error: Path /memories/final.txt/a/b, where a file of /memories/draft.txt would lie, has 21 segments: at most 20 are allowed below /memories',
    );
    expect(say(rename, 'invalid_path', { ...moved, rule: 'key_too_long', tooMany: 40 })).toBe(
      'Error: Path /memories/final.txt/a/b, where a file of /memories/draft.txt would lie, is 40 bytes too long: shorten its names or use fewer directories',
    );
  });

  it('tells how many bytes too long a path is', () => {
    const details = { rule: 'key_too_long', tooMany: 40 };
    expect(say(view, 'invalid_path', details)).toBe(
      'Error: Path /memories//notes.txt is 40 bytes too long: shorten its names or use fewer directories',
    );
    expect(say(rename, 'invalid_path', { ...details, role: 'source' })).toContain(
      '/memories/draft.txt is 40',
    );
    expect(say(rename, 'invalid_path', { ...details, role: 'target' })).toContain(
      '/memories/final.txt is 40',
    );
  });

  it.each(['/memories/.', '/memories/a/..', '/memories//./', '/memories/./a/../.'])(
    'refuses to delete or rename the root spelled %s',
    (given) => {
      expect(refuse({ command: 'delete', path: given })).toBe(
        'Error: Cannot delete the /memories directory itself',
      );
      expect(refuse({ ...rename, old_path: given })).toBe(
        'Error: Cannot rename the /memories directory itself',
      );
      expect(refuse({ ...rename, new_path: given })).toContain('is not allowed');
    },
  );

  it('sees a path that leaves the root and comes back as an escape', () => {
    expect(refuse({ command: 'delete', path: '/memories/../memories' })).toContain('would escape /memories');
  });

  it('shortens a huge path without cutting a surrogate pair', () => {
    const sentence = refuse({ command: 'view', path: `/memories/x${'😀'.repeat(100_000)}` });
    expect(sentence.length).toBeLessThan(1_200);
    expect(sentence).toContain('😀… (200011 characters) has a segment');
  });
});

describe('limitRefusal', () => {
  it.each<[ErrorDetails, string]>([
    [{ limit: 'file_bytes', value: 12, max: 10 }, 'one file'],
    [{ limit: 'object_bytes', value: 12, max: 10 }, 'too large'],
    [{ limit: 'text_bytes', value: 12, max: 10 }, 'split its text into several files'],
    [{ limit: 'text_characters', value: 12, max: 10 }, 'split it into several files'],
    [{ limit: 'something new', value: 12, max: 10 }, 'limit'],
  ])('names the number and the limit of %j', (details, part) => {
    const sentence = say(create, 'limit_exceeded', details);
    expect(sentence).toMatch(/^Error: .*\b12\b.*\b10\b/);
    expect(sentence).toContain(part);
  });
});
