import type { MemoryError } from '../errors.ts';
import type { MemoryCommand } from './command.ts';
import { amountOf, type Echo, echoOf, echoText } from './echo.ts';
import { describeFailure, subjectOf } from './failure.ts';

/** The wording of replies: the tool's documentation, or the TypeScript SDK's filesystem tool where it differs. */
export type Profile = 'doc' | 'sdk';

type ChangingCommand = Exclude<MemoryCommand, { readonly command: 'view' }>;

/**
 * The reply to a command that changed something, paths repeated as they were given; `snippet` shows what
 * `str_replace` did. Replies to views are made by `view.ts` and `listing.ts`.
 */
export function successSentence(command: ChangingCommand, snippet = ''): string {
  switch (command.command) {
    case 'create':
      return `File created successfully at: ${echoText(command.target.given)}`;
    case 'str_replace':
      return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`;
    case 'insert':
      return `The file ${echoText(command.target.given)} has been edited.`;
    case 'delete':
      return `Successfully deleted ${echoText(command.target.given)}`;
    case 'rename':
      return `Successfully renamed ${echoText(command.source.given)} to ${echoText(command.destination.given)}`;
  }
}

/**
 * What the model reads about a failure. It is made from the error's code and details and the model's own `input`;
 * the error's message, cause and stack never enter it. Never throws, whatever the input is.
 */
export function failureSentence(failure: {
  readonly error: MemoryError;
  readonly input: unknown;
  readonly profile: Profile;
}): string {
  const { error, profile } = failure;
  const echo = echoOf(failure.input);
  const sentence = (profile === 'sdk' ? sdkSentence(error, echo) : undefined) ?? describeFailure(error, echo);
  return profile === 'doc' && standsAlone(error, echo) ? sentence : `Error: ${sentence}`;
}

/** The documented failures that carry no `Error: `. */
function standsAlone(error: MemoryError, echo: Echo): boolean {
  switch (error.code) {
    case 'not_found':
      return echo.command === 'view';
    case 'limit_exceeded':
      return error.details['limit'] === 'lines';
    default:
      return error.code === 'no_match' || error.code === 'ambiguous_match';
  }
}

/** The SDK's sentence where it has one of its own for a failure that the documentation words otherwise. */
function sdkSentence(error: MemoryError, echo: Echo): string | undefined {
  const { code, details } = error;
  const path = subjectOf(echo);
  if (code === 'is_directory' || details['reason'] === 'root') {
    if (echo.command === 'create') return `File ${path} already exists`;
    if (echo.command === 'str_replace' || echo.command === 'insert') return `The path ${path} is not a file.`;
  }
  if (code === 'not_found' && echo.command === 'insert') {
    return `The path ${path} does not exist. Please provide a valid path.`;
  }
  if (code === 'limit_exceeded' && details['limit'] === 'lines') {
    return `File ${path} has too many lines (${amountOf(details, 'value')}). Maximum is 999,999 lines.`;
  }
  return undefined;
}
