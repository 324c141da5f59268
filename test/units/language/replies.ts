import { type ErrorDetails, MemoryError, type MemoryErrorCode } from '../../../src/errors.ts';
import { parseCommand } from '../../../src/language/command.ts';
import { failureSentence, type Wording } from '../../../src/language/sentences.ts';

export const path = '/memories//notes.txt';
export const view = { command: 'view', path };
export const create = { command: 'create', path, file_text: 'x' };
export const replace = { command: 'str_replace', path, old_str: 'blue', new_str: 'green' };
export const insert = { command: 'insert', path, insert_line: 9, insert_text: 'x' };
export const remove = { command: 'delete', path };
export const rename = { command: 'rename', old_path: '/memories/draft.txt', new_path: '/memories/final.txt' };
export const inputs = [view, create, replace, insert, remove, rename];

/** Answers what the model reads about a failure of the command `input`. */
export function say(
  input: unknown,
  code: MemoryErrorCode,
  details: ErrorDetails = {},
  wording: Wording = 'doc',
): string {
  return failureSentence({ error: new MemoryError(code, 'for the operator', { details }), input, wording });
}

/** Answers what the model reads about a malformed input. */
export function refuse(input: unknown, wording: Wording = 'doc'): string {
  try {
    parseCommand(input);
  } catch (error) {
    if (error instanceof MemoryError) return failureSentence({ error, input, wording });
  }
  throw new Error('the input was not refused');
}
