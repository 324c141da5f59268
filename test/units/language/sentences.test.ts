import { describe, expect, it } from 'vitest';
import { type ErrorDetails, MemoryError, type MemoryErrorCode } from '../../../src/errors.ts';
import { parseCommand } from '../../../src/language/command.ts';
import { parseMemoryPath } from '../../../src/language/path.ts';
import { failureSentence } from '../../../src/language/sentences.ts';
import { successSentence } from '../../../src/language/success-sentences.ts';
import { viewFile } from '../../../src/language/view.ts';
import { create, inputs, insert, path, remove, rename, replace, say, view } from './replies.ts';
import { viewDirectory } from './view-directory.ts';

function succeed(input: unknown, snippet = ''): string {
  const command = parseCommand(input);
  if (command.command === 'view') throw new Error('a view has no success sentence');
  return successSentence(command, { snippet });
}

const codes: readonly MemoryErrorCode[] = [
  'invalid_command',
  'invalid_path',
  'not_found',
  'already_exists',
  'is_directory',
  'not_text',
  'no_match',
  'ambiguous_match',
  'line_out_of_range',
  'limit_exceeded',
  'read_only',
  'policy_refused',
  'version_conflict',
  'outcome_unknown',
  'unavailable',
  'timeout',
  'aborted',
  'access_denied',
  'key_unavailable',
  'tenant_unknown',
  'unsupported_format',
  'misconfigured',
  'integrity',
];

describe('successSentence', () => {
  it('repeats the documented sentences with paths as given', () => {
    expect(succeed(create)).toBe('File created successfully at: /memories//notes.txt');
    expect(succeed(insert)).toBe('The file /memories//notes.txt has been edited.');
    expect(succeed(remove)).toBe('Successfully deleted /memories//notes.txt');
    expect(succeed(rename)).toBe('Successfully renamed /memories/draft.txt to /memories/final.txt');
    expect(succeed(replace, '     1\tgreen')).toBe(
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tgreen',
    );
  });
});

describe('successSentence where the policy had something replaced', () => {
  const note =
    ' Sensitive information (email, iban) was replaced by placeholders before it was saved; view the file to see it as it is.';
  const redacted = ['email', 'iban'];

  it.each([
    [create, 'File created successfully at: /memories//notes.txt'],
    [insert, 'The file /memories//notes.txt has been edited.'],
    [replace, 'The memory file has been edited.'],
  ])('says so, and shows no snippet: %j', (input, sentence) => {
    const command = parseCommand(input);
    if (command.command === 'view') throw new Error('a view has no success sentence');
    expect(successSentence(command, { redacted, snippet: 'a snippet' })).toBe(`${sentence}${note}`);
    expect(successSentence(command, { redacted: [], snippet: '' }).startsWith(sentence)).toBe(true);
    expect(successSentence(command)).toBe(sentence);
  });
});

describe('every sentence', () => {
  const given = `/memories${'/'.repeat(1_000_000)}a`;
  const old = 'o'.repeat(1_000_000);
  const huge = [
    { command: 'create', path: given, file_text: old },
    { command: 'str_replace', path: given, old_str: old, new_str: old },
    { command: 'insert', path: given, insert_line: 0, insert_text: old },
    { command: 'delete', path: given },
    { command: 'rename', old_path: given, new_path: given },
  ];
  /** Two things are repeated at most, 16,000 characters of each. */
  const most = 33_000;

  it('is bounded, whatever it repeats', () => {
    for (const input of huge) {
      expect(succeed(input).length).toBeLessThan(most);
      for (const code of codes) {
        for (const details of [{}, { lines: [1] }, { reason: 'into_itself' }, { reason: 'both_kept' }]) {
          for (const wording of ['doc', 'sdk'] as const) {
            expect(say(input, code, details, wording).length).toBeLessThan(most);
          }
        }
      }
    }
    const canonical = parseMemoryPath(given);
    expect(viewFile({ given, text: 'x' }).length).toBeLessThan(most);
    expect(viewDirectory({ given, path: canonical, files: [] }).length).toBeLessThan(most);
  });
});

describe('failureSentence', () => {
  const hostile: readonly unknown[] = [
    ...inputs,
    undefined,
    null,
    'view',
    [],
    {},
    { command: 'view' },
    { command: 'rename', old_path: 7 },
    { command: 'insert', insert_line: 1n },
    {
      get command() {
        throw new Error('trap');
      },
    },
    new Proxy(
      {},
      {
        getOwnPropertyDescriptor() {
          throw new Error('trap');
        },
      },
    ),
  ];

  it.each(codes)('never holds the message, cause or stack of %s, and never throws', (code) => {
    const cause = new Error('SECRET-cause at /srv/host/path');
    for (const details of [{}, { size: 1 }, { reason: 'odd', rule: 'odd', limit: 'odd', problem: 'odd' }]) {
      const error = new MemoryError(code, 'SECRET-message bucket-name', { cause, details });
      for (const input of hostile) {
        for (const wording of ['doc', 'sdk'] as const) {
          const sentence = failureSentence({ error, input, wording });
          expect(sentence).not.toMatch(/SECRET|bucket-name|host|errors\.ts|\[object|undefined/);
          expect(sentence.isWellFormed()).toBe(true);
        }
      }
    }
  });

  it('begins every sentence of the sdk wording with Error', () => {
    for (const code of codes) {
      for (const input of inputs) expect(say(input, code, { lines: [1] }, 'sdk')).toMatch(/^Error: \S/);
    }
  });
});

describe('failureSentence, documented sentences', () => {
  const missing = 'The path /memories//notes.txt does not exist';

  it.each<[unknown, MemoryErrorCode, ErrorDetails, string]>([
    [view, 'not_found', {}, `${missing}. Please provide a valid path.`],
    [
      view,
      'limit_exceeded',
      { limit: 'lines', value: 1_000_000, max: 999_999 },
      'File /memories//notes.txt exceeds maximum line limit of 999,999 lines.',
    ],
    [create, 'already_exists', {}, 'Error: File /memories//notes.txt already exists'],
    [replace, 'not_found', {}, `Error: ${missing}. Please provide a valid path.`],
    [replace, 'is_directory', {}, `Error: ${missing}. Please provide a valid path.`],
    [
      replace,
      'no_match',
      {},
      'No replacement was performed, old_str `blue` did not appear verbatim in /memories//notes.txt.',
    ],
    [
      replace,
      'ambiguous_match',
      { lines: [1, 3, 10] },
      'No replacement was performed. Multiple occurrences of old_str `blue` in lines: 1, 3, 10. Please ensure it is unique',
    ],
    [insert, 'not_found', {}, `Error: ${missing}`],
    [insert, 'is_directory', {}, `Error: ${missing}`],
    [
      insert,
      'line_out_of_range',
      { lines: 2 },
      'Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 2]',
    ],
    [remove, 'not_found', {}, `Error: ${missing}`],
    [rename, 'not_found', {}, 'Error: The path /memories/draft.txt does not exist'],
    [rename, 'already_exists', {}, 'Error: The destination /memories/final.txt already exists'],
    [rename, 'is_directory', {}, 'Error: The destination /memories/final.txt already exists'],
  ])('%j, %s', (input, code, details, sentence) => {
    expect(say(input, code, details)).toBe(sentence);
  });

  it('repeats a number that is no line as it was given', () => {
    const details = { lines: 0 };
    expect(say({ ...insert, insert_line: 0.5 }, 'line_out_of_range', details)).toContain(
      'parameter: 0.5. It',
    );
    expect(say({ ...insert, insert_line: -1 }, 'line_out_of_range', details)).toContain('parameter: -1. It');
    expect(say({ ...insert, insert_line: Number.NaN }, 'line_out_of_range', details)).toContain(': NaN. It');
  });

  it('repeats up to 16,000 characters of the text to replace verbatim', () => {
    const old = `$& \\1 \n${'x'.repeat(15_993)}`;
    expect(old).toHaveLength(16_000);
    expect(say({ ...replace, old_str: old }, 'no_match')).toBe(
      `No replacement was performed, old_str \`${old}\` did not appear verbatim in ${path}.`,
    );
  });

  it.each([
    [
      'at the end of a line',
      `${'x'.repeat(99)}\n`.repeat(1_000),
      `${'x'.repeat(99)}\n`.repeat(160).slice(0, -1),
    ],
    ['before a line that would be cut', `a\n${'x'.repeat(16_000)}`, 'a'],
    ['within a line that is longer by itself', `${'x'.repeat(16_001)}\n`, 'x'.repeat(16_000)],
    ['between two characters', `x${'😀'.repeat(8_000)}`, `x${'😀'.repeat(7_999)}`],
  ])('cuts a longer text to replace %s and tells its length', (_, old, start) => {
    const echo = `${start}… (${old.length} characters)`;
    expect(say({ ...replace, old_str: old }, 'no_match')).toBe(
      `No replacement was performed, old_str \`${echo}\` did not appear verbatim in ${path}.`,
    );
    expect(say({ ...replace, old_str: old }, 'ambiguous_match', { lines: [1, 2] })).toBe(
      `No replacement was performed. Multiple occurrences of old_str \`${echo}\` in lines: 1, 2. Please ensure it is unique`,
    );
  });

  it('says that not every line of an ambiguous match is listed', () => {
    expect(say(replace, 'ambiguous_match', { lines: [1, 3, 10], more: true })).toBe(
      'No replacement was performed. Multiple occurrences of old_str `blue` in lines: 1, 3, 10 and more (only the first 3 lines are listed). Please ensure it is unique',
    );
  });

  it('names the old path of a rename that was called path', () => {
    expect(say({ command: 'rename', path: '/memories/a', new_path: '/memories/b' }, 'not_found')).toBe(
      'Error: The path /memories/a does not exist',
    );
  });
});

describe('failureSentence, what the model can mend', () => {
  it.each<[unknown, MemoryErrorCode, ErrorDetails, string]>([
    [
      view,
      'not_text',
      { size: 70_000 },
      'Error: The file /memories//notes.txt is binary (70000 bytes) and cannot be shown as text',
    ],
    [
      replace,
      'not_text',
      { size: 3 },
      'Error: The file /memories//notes.txt is binary (3 bytes) and cannot be edited as text',
    ],
    [
      create,
      'is_directory',
      { reason: 'target_is_directory' },
      'Error: Cannot create a file at /memories//notes.txt: it is a directory',
    ],
    [
      create,
      'already_exists',
      { reason: 'below_file' },
      'Error: Cannot write to /memories//notes.txt: a part of that path is a file, and a file cannot hold others',
    ],
    [
      rename,
      'already_exists',
      { reason: 'below_file' },
      'Error: Cannot write to /memories/final.txt: a part of that path is a file, and a file cannot hold others',
    ],
    [
      create,
      'invalid_command',
      { reason: 'root' },
      'Error: Cannot write a file at /memories itself: choose a path below it, such as /memories/notes.txt',
    ],
    [
      { ...rename, new_path: '/memories/' },
      'invalid_command',
      { reason: 'root' },
      'Error: The destination /memories/ already exists',
    ],
    [
      { ...insert, path: '/memories' },
      'invalid_command',
      { reason: 'root' },
      'Error: The path /memories does not exist',
    ],
    [
      { ...rename, new_path: '/memories/draft.txt/a' },
      'invalid_command',
      { reason: 'into_itself' },
      'Error: Cannot rename /memories/draft.txt to /memories/draft.txt/a: a directory cannot be moved into itself',
    ],
    [
      remove,
      'invalid_command',
      { reason: 'delete_root' },
      'Error: Cannot delete the /memories directory itself',
    ],
    [
      rename,
      'invalid_command',
      { reason: 'rename_root' },
      'Error: Cannot rename the /memories directory itself',
    ],
    [
      replace,
      'invalid_command',
      { problem: 'empty', field: 'old_str' },
      'Error: Field `old_str` must not be empty: use `insert` to add text to a file or `create` to write a new one',
    ],
    [
      { ...view, view_range: [12, 'x'] },
      'line_out_of_range',
      { lines: 11 },
      'Error: Invalid `view_range` parameter: [12,"x"]. It should be [first, last] within the range of lines of the file: [1, 11], where -1 as last means the end of the file',
    ],
    [
      { ...view, view_range: [3, 2] },
      'line_out_of_range',
      { rows: 4 },
      'Error: Invalid `view_range` parameter: [3,2]. It should be [first, last] within the range of rows of the listing: [1, 4], where -1 as last means the end of the listing',
    ],
  ])('%j, %s %j', (input, code, details, sentence) => {
    expect(say(input, code, details)).toBe(sentence);
  });
});

describe('failureSentence, what the operator must see to', () => {
  it.each<[unknown, MemoryErrorCode, string]>([
    [view, 'integrity', 'The path /memories//notes.txt could not be read'],
    [replace, 'unsupported_format', 'The path /memories//notes.txt could not be read'],
    [create, 'key_unavailable', 'The path /memories//notes.txt could not be written'],
    [remove, 'misconfigured', 'The path /memories//notes.txt could not be deleted'],
    [rename, 'integrity', 'The path /memories/draft.txt could not be renamed'],
    [view, 'access_denied', 'Access to /memories//notes.txt is not permitted'],
    [view, 'unavailable', 'The memory is temporarily unavailable, try again'],
    [create, 'timeout', 'The memory is temporarily unavailable, try again'],
    [create, 'aborted', 'The command was cancelled'],
    [create, 'read_only', '/memories//notes.txt cannot be changed: this memory can be read only'],
    [
      replace,
      'outcome_unknown',
      'The edit may have been applied. View /memories//notes.txt before trying again.',
    ],
    [
      rename,
      'outcome_unknown',
      'The edit may have been applied. View /memories/draft.txt and /memories/final.txt before trying again.',
    ],
    [
      insert,
      'version_conflict',
      '/memories//notes.txt was changed by another command at the same time. View it and try again',
    ],
  ])('%j, %s', (input, code, sentence) => {
    expect(say(input, code)).toBe(`Error: ${sentence}`);
    expect(say(input, code, {}, 'sdk')).toBe(`Error: ${sentence}`);
  });

  it('names both places of a rename that had to keep both', () => {
    expect(
      say(rename, 'version_conflict', {
        reason: 'left_behind',
        files: 3,
        paths: ['/memories/a/x', '/memories/a/y'],
      }),
    ).toMatch(/\/memories\/a\/x, \/memories\/a\/y and 1 more had to stay/);
    expect(say(rename, 'version_conflict', { reason: 'both_kept' })).toMatch(
      /^Error: \/memories\/draft\.txt and \/memories\/final\.txt were changed .* both were kept/,
    );
  });

  it.each<[ErrorDetails, string]>([
    [{ files: 2, paths: ['/memories/a/x', '/memories/a/y'] }, '/memories/a/x, /memories/a/y'],
    [{ files: 4, paths: ['/memories/a/x'] }, '/memories/a/x and 3 more'],
    [{ files: 1, paths: ['/memories/a/x'] }, '/memories/a/x'],
  ])('names what had to stay: %j', (details, named) => {
    expect(say(rename, 'version_conflict', { reason: 'left_behind', ...details })).toBe(
      `Error: /memories/draft.txt could not be renamed as a whole to /memories/final.txt: ${named} had to stay. View both before trying again`,
    );
  });

  it('names both places whole where both were kept', () => {
    expect(say(rename, 'version_conflict', { reason: 'both_kept' })).toBe(
      'Error: /memories/draft.txt and /memories/final.txt were changed during the rename and both were kept. View both and delete the one you do not need',
    );
  });

  it('names the root where the model gave no path', () => {
    expect(say({ command: 'view' }, 'integrity')).toBe('Error: The path /memories could not be read');
    expect(say({ command: 'rename' }, 'integrity')).toBe('Error: The path /memories could not be renamed');
    expect(say({ command: 'rename', old_path: '/memories/a' }, 'already_exists')).toBe(
      'Error: The destination /memories/a already exists',
    );
  });

  it('answers a code of the future neutrally', () => {
    expect(say(view, 'quota' as MemoryErrorCode)).toBe(
      'Error: The path /memories//notes.txt could not be read',
    );
  });
});
