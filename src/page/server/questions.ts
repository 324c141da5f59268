import { isForTheOperator, MemoryError } from '../../errors.ts';
import { failureSentence } from '../../language/sentences.ts';
import type { ErrorLine } from '../protocol.ts';

/** What an answer has besides its question. */
export interface Asking {
  /** Fires when the page no longer waits, and when the server stops. */
  readonly signal: AbortSignal;
  /** A line before the result. Resolves when there is room for the next one. */
  send(line: object): Promise<void>;
}

/** What the page may ask, by name. Each resolves to the last line. */
export type Questions = Readonly<
  Record<string, (input: Readonly<Record<string, unknown>>, asking: Asking) => Promise<object>>
>;

/** The command of the tool that a question comes nearest to, where that is not `view`. */
const COMMANDS: Readonly<Record<string, string>> = {
  write: 'create',
  restore: 'create',
  remove: 'delete',
  rename: 'rename',
};

/** What the page shows for a failure: the sentence of the command that comes nearest, or the operator's. */
export function errorLine(
  error: unknown,
  name: string,
  { path, to }: Readonly<Record<string, unknown>>,
): ErrorLine {
  if (!(error instanceof MemoryError)) {
    return { error: { code: 'unexpected', message: 'The page met a failure that it does not know.' } };
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : 'view';
  const input = command === 'rename' ? { command, old_path: path, new_path: to } : { command, path };
  const message = isForTheOperator(error)
    ? error.message
    : failureSentence({ error, input, profile: 'doc' }).replace(/^Error: /, '');
  return { error: { code: error.code, message } };
}
