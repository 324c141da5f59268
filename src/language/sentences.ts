import type { ErrorDetails, MemoryError } from '../errors.ts';
import { type CommandName, type Echo, echoOf } from './command.ts';
import { amountOf } from './path-faults.ts';
import { commandRefusal, limitRefusal, pathRefusal, policyRefusal } from './refusals.ts';

/** The wording of replies: the tool's documentation, or the TypeScript SDK's filesystem tool where it differs. */
export type Wording = 'doc' | 'sdk';

/**
 * Makes the sentence about a failure for the model, from the error's code and details and the model's own `input`; the
 * error's message, cause and stack never enter it. Never throws, whatever the input is.
 */
export function failureSentence(failure: {
  readonly error: MemoryError;
  readonly input: unknown;
  readonly wording: Wording;
}): string {
  const { error, wording } = failure;
  const echo = echoOf(failure.input);
  const sentence = (wording === 'sdk' ? sdkSentence(error, echo) : undefined) ?? describeFailure(error, echo);
  return wording === 'doc' && standsAlone(error, echo) ? sentence : `Error: ${sentence}`;
}

/** Tells whether the failure is one of the documented ones that carry no `Error: `. */
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

/** Words a failure as the SDK does, where the SDK has a sentence of its own and the documentation another one. */
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

/** The failed action of each command, where the cause is for the operator alone. */
const VERBS: Readonly<Record<CommandName, string>> = {
  view: 'read',
  create: 'written',
  str_replace: 'read',
  insert: 'read',
  delete: 'deleted',
  rename: 'renamed',
};

/** Words a failure as the tool's documentation does, without the `Error: ` before it. */
function describeFailure(error: MemoryError, echo: Echo): string {
  const { code, details } = error;
  const path = subjectOf(echo);
  switch (code) {
    case 'invalid_command':
      return editsRoot(details, echo) ? missing(path, echo) : commandRefusal(details, echo);
    case 'invalid_path':
      return pathRefusal(details, echo);
    case 'not_found':
      return missing(path, echo);
    case 'already_exists':
      return taken(details, echo);
    case 'is_directory':
      return directory(path, echo);
    case 'not_text':
      return `The file ${path} is binary (${amountOf(details, 'size')} bytes) and cannot be ${echo.command === 'view' ? 'shown' : 'edited'} as text`;
    case 'no_match':
      return `No replacement was performed, old_str \`${echo.text('old_str')}\` did not appear verbatim in ${path}.`;
    case 'ambiguous_match':
      return `No replacement was performed. Multiple occurrences of old_str \`${echo.text('old_str')}\` in lines: ${numbers(details)}. Please ensure it is unique`;
    case 'line_out_of_range':
      return outOfRange(details, echo);
    case 'limit_exceeded':
      return details['limit'] === 'lines'
        ? `File ${path} exceeds maximum line limit of 999,999 lines.`
        : limitRefusal(details, path);
    case 'version_conflict':
      return conflict(details, echo);
    case 'outcome_unknown':
      return `The edit may have been applied. View ${placesOf(echo)} before trying again.`;
    case 'unavailable':
    case 'timeout':
      return 'The memory is temporarily unavailable, try again';
    case 'aborted':
      return 'The command was cancelled';
    case 'read_only':
      return `${path} cannot be changed: this memory can be read only`;
    case 'policy_refused':
      return policyRefusal(details, path);
    case 'access_denied':
      return `Access to ${path} is not permitted`;
    default:
      return `The path ${path} could not be ${VERBS[echo.command ?? 'view']}`;
  }
}

/** Names the path of a sentence, as the model gave it: of a rename, the source. */
function subjectOf(echo: Echo): string {
  const path = echo.text('path') || '/memories';
  return echo.command === 'rename' ? echo.text('old_path') || path : path;
}

function missing(path: string, echo: Echo): string {
  const advises = echo.command === 'view' || echo.command === 'str_replace';
  return `The path ${path} does not exist${advises ? '. Please provide a valid path.' : ''}`;
}

/** Tells whether an edit was of the root, which fails like an edit of any directory. */
function editsRoot(details: ErrorDetails, echo: Echo): boolean {
  return details['reason'] === 'root' && (echo.command === 'str_replace' || echo.command === 'insert');
}

function taken(details: ErrorDetails, echo: Echo): string {
  const target = writtenPath(echo);
  if (details['reason'] === 'below_file') {
    return `Cannot write to ${target}: a part of that path is a file, and a file cannot hold others`;
  }
  return echo.command === 'rename'
    ? `The destination ${target} already exists`
    : `File ${target} already exists`;
}

function directory(path: string, echo: Echo): string {
  switch (echo.command) {
    case 'create':
      return `Cannot create a file at ${path}: it is a directory`;
    case 'rename':
      return `The destination ${writtenPath(echo)} already exists`;
    default:
      return missing(path, echo);
  }
}

function outOfRange(details: ErrorDetails, echo: Echo): string {
  if (echo.command === 'insert') {
    return `Invalid \`insert_line\` parameter: ${echo.json('insert_line')}. It should be within the range of lines of the file: [0, ${amountOf(details, 'lines')}]`;
  }
  const [range, end] =
    typeof details['rows'] === 'number'
      ? [`rows of the listing: [1, ${amountOf(details, 'rows')}]`, 'listing']
      : [`lines of the file: [1, ${amountOf(details, 'lines')}]`, 'file'];
  return `Invalid \`view_range\` parameter: ${echo.json('view_range')}. It should be [first, last] within the range of ${range}, where -1 as last means the end of the ${end}`;
}

function conflict(details: ErrorDetails, echo: Echo): string {
  if (details['reason'] === 'left_behind') return leftBehind(details, echo);
  return details['reason'] === 'both_kept'
    ? `${subjectOf(echo)} and ${writtenPath(echo)} were changed during the rename and both were kept. View both and delete the one you do not need`
    : `${subjectOf(echo)} was changed by another command at the same time. View it and try again`;
}

/** Names paths that the model did not give: without them the model would look for those files in vain. */
function leftBehind(details: ErrorDetails, echo: Echo): string {
  const { paths } = details;
  const named = Array.isArray(paths) ? paths : [];
  const more = Number(details['files']) - named.length;
  const others = more > 0 ? ` and ${more} more` : '';
  return `${subjectOf(echo)} could not be renamed as a whole to ${writtenPath(echo)}: ${named.join(', ')}${others} had to stay. View both before trying again`;
}

/** Names the path to which a command writes: of a rename, the destination. */
function writtenPath(echo: Echo): string {
  return (echo.command === 'rename' && echo.text('new_path')) || subjectOf(echo);
}

function placesOf(echo: Echo): string {
  return echo.command === 'rename' ? `${subjectOf(echo)} and ${writtenPath(echo)}` : subjectOf(echo);
}

function numbers({ lines, more }: ErrorDetails): string {
  if (!Array.isArray(lines)) return '';
  const listed = lines.join(', ');
  return more === true ? `${listed} and more (only the first ${lines.length} lines are listed)` : listed;
}
