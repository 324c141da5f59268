import { describe, expect, it } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../src/errors.ts';
import { parseCommand } from '../../src/language/command.ts';
import { viewDirectory } from '../../src/language/listing.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { failureSentence, successSentence } from '../../src/language/reply.ts';
import { viewFile } from '../../src/language/view.ts';
import { create, inputs, insert, remove, rename, replace, say } from '../support/replies.ts';

function succeed(input: unknown, snippet?: string): string {
  const command = parseCommand(input);
  if (command.command === 'view') throw new Error('a view has no success sentence');
  return successSentence(command, snippet);
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
          for (const profile of ['doc', 'sdk'] as const) {
            expect(say(input, code, details, profile).length).toBeLessThan(most);
          }
        }
      }
    }
    const path = parseMemoryPath(given);
    expect(viewFile({ given, text: 'x' }).length).toBeLessThan(most);
    expect(viewDirectory({ given, path, files: [] }).length).toBeLessThan(most);
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
        for (const profile of ['doc', 'sdk'] as const) {
          const sentence = failureSentence({ error, input, profile });
          expect(sentence).not.toMatch(/SECRET|bucket-name|host|errors\.ts|\[object|undefined/);
          expect(sentence.isWellFormed()).toBe(true);
        }
      }
    }
  });

  it('begins every sentence of the sdk profile with Error', () => {
    for (const code of codes) {
      for (const input of inputs) expect(say(input, code, { lines: [1] }, 'sdk')).toMatch(/^Error: \S/);
    }
  });
});
