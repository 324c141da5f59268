import { describe, expect, it } from 'vitest';
import type { ErrorDetails } from '../../../src/errors.ts';
import { create, insert, path, refuse, remove, rename, replace, say, view } from './replies.ts';

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

describe('a field that a command lacks, or does not take,', () => {
  it.each([
    [{ command: 'view' }, 'path', 'view expects a string, the path of a file or directory'],
    [{ command: 'create', path }, 'file_text', 'create expects a string, the content of the file'],
    [{ command: 'str_replace', path }, 'old_str', 'str_replace expects a string, the text to replace'],
    [{ command: 'insert', path }, 'insert_line', 'insert expects a whole number, the line to insert after'],
    [{ ...insert, insert_text: undefined }, 'insert_text', 'insert expects a string, the text to insert'],
    [{ command: 'rename' }, 'old_path', 'rename expects a string, the path to rename'],
    [{ ...rename, new_path: undefined }, 'new_path', 'rename expects a string, the path to rename it to'],
  ])('is named by the refusal of %j: %s', (input, field, expected) => {
    expect(refuse(input)).toBe(`Error: Field \`${field}\` is missing: ${expected}`);
  });

  it('is named where its value has another type', () => {
    expect(refuse({ ...replace, new_str: 7 })).toBe(
      'Error: Field `new_str` has the wrong type: str_replace expects a string, the text to put in',
    );
  });

  it.each([
    [view, '`path` and optionally `view_range`'],
    [create, '`path` and `file_text`'],
    [replace, '`path`, `old_str` and optionally `new_str`'],
    [insert, '`path`, `insert_line` and `insert_text`'],
    [remove, '`path`'],
    [rename, '`old_path` and `new_path`'],
  ])('is refused with those that %j takes: %s', (input, fields) => {
    expect(refuse({ ...input, x: 1 })).toBe(
      `Error: Field \`x\` is not expected: ${input.command} takes ${fields}`,
    );
  });

  it('is shortened, and told without a command where none is known', () => {
    expect(refuse({ ...view, ['x'.repeat(1_001)]: 1 })).toContain(
      `\`${'x'.repeat(1_000)}… (1001 characters)\``,
    );
    const say7 = (details: ErrorDetails) => say({}, 'invalid_command', details);
    expect(say7({ problem: 'missing', field: 'depth' })).toBe(
      'Error: Field `depth` is missing: the command expects another value',
    );
    expect(say7({ problem: 'unexpected', field: 'depth' })).toBe(
      'Error: Field `depth` is not expected: the command takes other fields',
    );
    expect(say7({ problem: 'odd', field: 'depth' })).toBe('Error: The fields of the command are not valid');
    expect(say7({ problem: 'odd' })).toBe(
      'Error: Field `command` must be one of these strings: view, create, str_replace, insert, delete, rename',
    );
    expect(say(view, 'invalid_command', { problem: 'odd', field: 'path' })).toBe(
      'Error: The fields of view are not valid',
    );
  });
});

describe('a command that meets another memory', () => {
  const old = { command: 'rename', path: '/memories/old', new_path: '/memories/new' };

  it.each([
    [remove, 'Cannot delete /memories//notes.txt: another memory is mounted there'],
    [rename, 'Cannot rename /memories/draft.txt: another memory is mounted there'],
    [old, 'Cannot rename /memories/old: another memory is mounted there'],
  ])('is refused where that is mounted: %j', (input, sentence) => {
    expect(say(input, 'invalid_command', { reason: 'mount' })).toBe(`Error: ${sentence}`);
  });

  it.each([
    [rename, '/memories/draft.txt to /memories/final.txt'],
    [old, '/memories/old to /memories/new'],
  ])('is refused where it would lead from one to the other: %j', (input, places) => {
    expect(say(input, 'invalid_command', { reason: 'across_mounts' })).toBe(
      `Error: Cannot rename ${places}: they lie in different memories. View the file, create it at the new path, then delete the old one if you may`,
    );
    expect(say(input, 'invalid_command', { reason: 'into_itself' })).toBe(
      `Error: Cannot rename ${places}: a directory cannot be moved into itself`,
    );
  });
});

describe('the place to which the dots of a path lead', () => {
  it.each([
    ['/memories/..', true],
    ['/memories/a/../..', true],
    ['/memories/../memories', true],
    ['/memories\\..', false],
    ['/memories/a/..', false],
    ['/memories/./..', true],
    ['/memories//../a', true],
    ['/memories/a/b/../..', false],
    ['/memories/a\\..\\..', true],
  ])('of %j is outside the memory: %s', (given, isOutside) => {
    const sentence = refuse({ command: 'view', path: given });
    expect(sentence === `Error: Path ${given} would escape /memories directory`).toBe(isOutside);
  });

  it('is the root where a rename would put something, and refused by its rule there', () => {
    expect(refuse({ command: 'view', path: '/memories/.' })).toBe(
      'Error: Path /memories/. is not allowed: leave out the segment named .',
    );
    expect(refuse({ command: 'delete', path: '/memories/a/.' })).toBe(
      'Error: Path /memories/a/. is not allowed: leave out the segment named .',
    );
    expect(refuse({ command: 'rename', path: '/memories/.', new_path: '/memories/b' })).toBe(
      'Error: Cannot rename the /memories directory itself',
    );
  });
});

describe('policyRefusal', () => {
  const of = (details: ErrorDetails): string => say(create, 'policy_refused', details);

  it.each<[ErrorDetails, string]>([
    [{}, `${path} would hold information that must not be kept in this memory. Leave it out and try again`],
    [
      { rules: ['email'], lines: [3] },
      `${path} would hold information (email) in line 3 that must not be kept in this memory. Leave it out and try again`,
    ],
    [
      { rules: ['email', 'iban'], lines: [3, 5] },
      `${path} would hold information (email, iban) in lines 3, 5 that must not be kept in this memory. Leave it out and try again`,
    ],
    [
      { rules: [], lines: [], reason: 'not_text' },
      `${path} would hold information that must not be kept in this memory, and cannot be replaced there, because the file is not UTF-8 text. Leave it out and try again`,
    ],
    [
      { rules: 'email', lines: 7, inName: false },
      `${path} would hold information that must not be kept in this memory. Leave it out and try again`,
    ],
    [
      { rules: ['email'], lines: [3], inName: true },
      'the name holds information (email) that must not be kept in this memory. Choose another name',
    ],
    [
      { inName: true },
      'the name holds information that must not be kept in this memory. Choose another name',
    ],
  ])('of %j names rules and lines', (details, sentence) => {
    expect(of(details)).toBe(`Error: Nothing was written: ${sentence}`);
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

  const amount = { value: 12, max: 10 };

  it.each<[ErrorDetails, string]>([
    [
      { limit: 'file_bytes', ...amount },
      `The file ${path} would have 12 bytes, but at most 10 bytes are allowed in one file: shorten it or split it into several files`,
    ],
    [
      { limit: 'files', ...amount },
      `Nothing was written: with ${path} there would be 12 files in this memory, but at most 10 are allowed. Delete files that are not needed there, or add to one of them`,
    ],
    [
      { limit: 'files', ...amount, below: '/memories/team' },
      `Nothing was written: with ${path} there would be 12 files below /memories/team, but at most 10 are allowed. Delete files that are not needed there, or add to one of them`,
    ],
    [
      { limit: 'tenant_bytes', ...amount },
      `Nothing was written: with ${path} the files in this memory would have 12 bytes together, but at most 10 are allowed. Write less, or shorten or delete files that are not needed there`,
    ],
    [
      { limit: 'object_bytes', ...amount },
      `The file ${path} is too large to be handled: it has 12 bytes as stored, and at most 10 are allowed`,
    ],
    [
      { limit: 'text_bytes', ...amount },
      `The file ${path} is too large to be handled as text: it has 12 bytes, and a text has at most 10 characters. Rename or delete it, and split its text into several files`,
    ],
    [
      { limit: 'text_characters', ...amount },
      `The file ${path} would have 12 characters, but a text has at most 10: shorten it or split it into several files`,
    ],
    [
      { limit: 'odd', ...amount },
      `A limit of the memory would be exceeded by ${path}: 12 where at most 10 is allowed. Use less, or delete what is not needed`,
    ],
    [
      {},
      `A limit of the memory would be exceeded by ${path}: ? where at most ? is allowed. Use less, or delete what is not needed`,
    ],
  ])('words %j whole', (details, sentence) => {
    expect(say(create, 'limit_exceeded', details)).toBe(`Error: ${sentence}`);
  });
});
