import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { MemoryError } from '../../src/errors.ts';
import { COMMAND_NAMES, parseCommand } from '../../src/language/command.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { failureSentence, type Wording } from '../../src/language/sentences.ts';
import { fuzz, verdictOf } from './fuzz.ts';
import { mutatedTexts } from './mutation.ts';

const FIELDS = [
  ...[
    'path',
    'old_path',
    'new_path',
    'file_text',
    'old_str',
    'new_str',
    'insert_line',
    'insert_text',
    'view_range',
  ],
  ...['command', '__proto__', 'constructor', 'toString', 'extra'],
];
const WORDINGS: readonly Wording[] = ['doc', 'sdk'];
const texts = mutatedTexts(
  ['/memories', '/memories/a.txt', '/memories/notes/b.md', 'text\n'],
  fc.oneof(
    fc.constantFrom('..', '/', '\0', '\ud800', '%2e', '\\'),
    fc.string({ unit: 'binary', maxLength: 6 }),
  ),
);
const values = fc.oneof(
  { weight: 4, arbitrary: texts },
  fc.oneof(fc.integer(), fc.double(), fc.maxSafeInteger()),
  fc.array(fc.oneof(fc.integer({ min: -3, max: 9 }), fc.constant(null)), { maxLength: 3 }),
  fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, withSparseArray: true }),
);
const COMMANDS: readonly Readonly<Record<string, unknown>>[] = [
  { command: 'view', path: '/memories', view_range: [1, 2] },
  { command: 'create', path: '/memories/a.txt', file_text: 'text' },
  { command: 'str_replace', path: '/memories/a.txt', old_str: 'a', new_str: 'b' },
  { command: 'insert', path: '/memories/a.txt', insert_line: 1, insert_text: 'line' },
  { command: 'delete', path: '/memories/a.txt' },
  { command: 'rename', old_path: '/memories/a.txt', new_path: '/memories/b.txt' },
];
/** Commands with some fields changed, added or taken away. */
const inputs = fc
  .tuple(
    fc.constantFrom(...COMMANDS),
    fc.array(fc.tuple(fc.constantFrom(...FIELDS), values), { maxLength: 2 }),
    fc.option(fc.constantFrom(...FIELDS)),
  )
  .map(([command, fields, dropped]): unknown =>
    Object.fromEntries([...Object.entries(command), ...fields].filter(([field]) => field !== dropped)),
  );
const anything = fc.oneof({ weight: 6, arbitrary: inputs }, fc.anything({ withNullPrototype: true }));

describe('the input of a command', () => {
  fuzz('is a command, or refused', {
    runs: 5_000,
    inputs: [anything],
    check(input) {
      const verdict = verdictOf(() => parseCommand(input));
      if ('code' in verdict) {
        expect(['invalid_command', 'invalid_path']).toContain(verdict.code);
        return;
      }
      const command = verdict.value;
      expect(COMMAND_NAMES).toContain(command.command);
      const paths = command.command === 'rename' ? [command.source, command.destination] : [command.target];
      for (const { given, path } of paths) expect(path).toBe(parseMemoryPath(given));
      for (const value of Object.values(command)) {
        if (typeof value === 'string') expect(value.isWellFormed()).toBe(true);
      }
      expect(Object.hasOwn(Object(input), 'extra') && Reflect.get(Object(input), 'extra') !== undefined).toBe(
        false,
      );
    },
  });

  fuzz('is answered with a sentence in valid Unicode, whatever is wrong with it', {
    runs: 3_000,
    inputs: [anything, fc.constantFrom(...WORDINGS)],
    check(input, wording) {
      let refused: unknown;
      try {
        parseCommand(input);
      } catch (error) {
        refused = error;
      }
      const error = refused instanceof MemoryError ? refused : new MemoryError('integrity', 'refused');
      const { value: sentence } = verdictOf(() => failureSentence({ error, input, wording })) as {
        value: string;
      };
      expect(sentence).toMatch(/\S/);
      expect(sentence.isWellFormed()).toBe(true);
    },
  });
});
