import { isReaderGone } from '../show/terminal.ts';
import type { Action, Invocation } from './invocation.ts';

/** Notes what the command line asks for; it runs once the whole line was understood. */
export type Choose = (action: Action) => void;

/** Runs a verb that only shows: a reader that has seen enough, such as `head`, is no failure. */
export function forReaders(action: Action): Action {
  return async (invocation: Invocation) => {
    try {
      return await action(invocation);
    } catch (error) {
      if (isReaderGone(error)) return 0;
      throw error;
    }
  };
}
