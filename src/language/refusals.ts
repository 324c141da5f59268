import type { ErrorDetails } from '../errors.ts';
import { COMMAND_NAMES, type CommandName, type Echo } from './command.ts';
import { shorten } from './page.ts';
import { amountOf, pathFault } from './path-faults.ts';

const FIELDS: Readonly<Record<CommandName, string>> = {
  view: '`path` and optionally `view_range`',
  create: '`path` and `file_text`',
  str_replace: '`path`, `old_str` and optionally `new_str`',
  insert: '`path`, `insert_line` and `insert_text`',
  delete: '`path`',
  rename: '`old_path` and `new_path`',
};

const EXPECTED: ReadonlyMap<string, string> = new Map([
  ['path', 'a string, the path of a file or directory'],
  ['old_path', 'a string, the path to rename'],
  ['new_path', 'a string, the path to rename it to'],
  ['file_text', 'a string, the content of the file'],
  ['old_str', 'a string, the text to replace'],
  ['new_str', 'a string, the text to put in'],
  ['insert_line', 'a whole number, the line to insert after'],
  ['insert_text', 'a string, the text to insert'],
]);

const UNKNOWN_COMMAND = `Field \`command\` must be one of these strings: ${COMMAND_NAMES.join(', ')}`;

/** Words the fault in a command's fields (`invalid_command`), for the model to mend. */
export function commandRefusal(details: ErrorDetails, echo: Echo): string {
  const name = typeof details['field'] === 'string' ? details['field'] : 'command';
  const field = `Field \`${shorten(name)}\``;
  const expected = EXPECTED.get(name) ?? 'another value';
  const command = echo.command ?? 'the command';
  switch (details['problem'] ?? details['reason']) {
    case 'not_an_object':
      return 'The input must be an object with the field `command` and the fields of that command';
    case 'unknown_command':
      return UNKNOWN_COMMAND;
    case 'missing':
      return `${field} is missing: ${command} expects ${expected}`;
    case 'wrong_type':
      return `${field} has the wrong type: ${command} expects ${expected}`;
    case 'lone_surrogate':
      return `${field} must be valid Unicode text: it contains half of a surrogate pair`;
    case 'unexpected':
      return `${field} is not expected: ${command} takes ${echo.command ? FIELDS[echo.command] : 'other fields'}`;
    case 'empty':
      return `${field} must not be empty: use \`insert\` to add text to a file or \`create\` to write a new one`;
    case 'delete_root':
      return 'Cannot delete the /memories directory itself';
    case 'rename_root':
      return 'Cannot rename the /memories directory itself';
    case 'into_itself':
      return `Cannot rename ${echo.text('old_path') || echo.text('path')} to ${echo.text('new_path')}: a directory cannot be moved into itself`;
    case 'mount':
      return `Cannot ${command} ${echo.text('old_path') || echo.text('path')}: another memory is mounted there`;
    case 'across_mounts':
      return `Cannot rename ${echo.text('old_path') || echo.text('path')} to ${echo.text('new_path')}: they lie in different memories. View the file, create it at the new path, then delete the old one if you may`;
    case 'root':
      return echo.command === 'rename'
        ? `The destination ${echo.text('new_path')} already exists`
        : 'Cannot write a file at /memories itself: choose a path below it, such as /memories/notes.txt';
    default:
      return name === 'command' ? UNKNOWN_COMMAND : `The fields of ${command} are not valid`;
  }
}

/** Words the rule that a path breaks (`invalid_path`); `details.field` names its field. */
export function pathRefusal(details: ErrorDetails, echo: Echo): string {
  const given = refusedPath(details, echo);
  const path = `${shorten(given)}${reasonToName(details, echo)}`;
  switch (details['rule']) {
    case 'outside_root':
      return `Path must start with /memories, got: ${path}${given.startsWith('/memories') ? '. A slash must follow /memories' : ''}`;
    case 'parent_segment':
    case 'dot_segment':
      return dotRefusal(given, details, echo);
    default:
      return `Path ${path} ${pathFault(details)}`;
  }
}

function dotRefusal(given: string, details: ErrorDetails, echo: Echo): string {
  const path = shorten(given);
  const depth = depthOf(given);
  if (depth === undefined) return `Path ${path} would escape /memories directory`;
  const removes = echo.command === 'delete' || (echo.command === 'rename' && details['field'] !== 'new_path');
  if (depth === 0 && removes) return `Cannot ${echo.command} the /memories directory itself`;
  return `Path ${path} ${pathFault(details)}`;
}

/**
 * Counts the depth below /memories to which the dots of a rejected path lead; undefined if they leave /memories on the
 * way.
 */
function depthOf(given: string): number | undefined {
  let depth = 0;
  for (const segment of given.slice('/memories'.length).split(/[/\\]/)) {
    if (segment === '..') depth -= 1;
    else if (segment !== '' && segment !== '.') depth += 1;
    if (depth < 0) return undefined;
  }
  return depth;
}

/** Answers the path of a refusal: the refused field, or of a rename the file or the place that `details` names. */
function refusedPath(details: ErrorDetails, echo: Echo): string {
  const field = details['field'];
  const moved = movedTo(details);
  if (moved !== undefined) return moved;
  if (typeof field === 'string') return echo.whole(field);
  if (echo.command !== 'rename') return echo.whole('path');
  return details['role'] === 'source' ? echo.whole('old_path') || echo.whole('path') : echo.whole('new_path');
}

/**
 * Answers the path that the rename of a directory would have given a file; undefined where the model gave the path
 * itself.
 */
function movedTo({ paths }: ErrorDetails): string | undefined {
  const [path] = Array.isArray(paths) ? paths : [];
  return typeof path === 'string' ? path : undefined;
}

/** Words the reason why a sentence names a path that the model did not give. */
function reasonToName(details: ErrorDetails, echo: Echo): string {
  if (movedTo(details) === undefined) return '';
  return `, where a file of ${echo.text('old_path') || echo.text('path')} would lie,`;
}

/**
 * Words the refusal of a policy (`policy_refused`), by rule and line: the text found there, or in a name, is never
 * repeated.
 */
export function policyRefusal({ rules, lines, inName, reason }: ErrorDetails, path: string): string {
  const named = Array.isArray(rules) && rules.length > 0 ? ` (${rules.join(', ')})` : '';
  if (inName === true) {
    return `Nothing was written: the name holds information${named} that must not be kept in this memory. Choose another name`;
  }
  const places = Array.isArray(lines) ? lines : [];
  const where = places.length === 0 ? '' : ` in line${places.length === 1 ? '' : 's'} ${places.join(', ')}`;
  const why =
    reason === 'not_text' ? ', and cannot be replaced there, because the file is not UTF-8 text' : '';
  return `Nothing was written: ${path} would hold information${named}${where} that must not be kept in this memory${why}. Leave it out and try again`;
}

/** Says which files count: those of the memory, or of one that is mounted in it. */
function memoryOf({ below }: ErrorDetails): string {
  return typeof below === 'string' ? `below ${below}` : 'in this memory';
}

/** Words the limit (`limit_exceeded`), the number that exceeds it, and the model's ways out. */
export function limitRefusal(details: ErrorDetails, path: string): string {
  const value = amountOf(details, 'value');
  const max = amountOf(details, 'max');
  switch (details['limit']) {
    case 'file_bytes':
      return `The file ${path} would have ${value} bytes, but at most ${max} bytes are allowed in one file: shorten it or split it into several files`;
    case 'files':
      return `Nothing was written: with ${path} there would be ${value} files ${memoryOf(details)}, but at most ${max} are allowed. Delete files that are not needed there, or add to one of them`;
    case 'tenant_bytes':
      return `Nothing was written: with ${path} the files ${memoryOf(details)} would have ${value} bytes together, but at most ${max} are allowed. Write less, or shorten or delete files that are not needed there`;
    case 'object_bytes':
      return `The file ${path} is too large to be handled: it has ${value} bytes as stored, and at most ${max} are allowed`;
    case 'text_bytes':
      return `The file ${path} is too large to be handled as text: it has ${value} bytes, and a text has at most ${max} characters. Rename or delete it, and split its text into several files`;
    case 'text_characters':
      return `The file ${path} would have ${value} characters, but a text has at most ${max}: shorten it or split it into several files`;
    default:
      return `A limit of the memory would be exceeded by ${path}: ${value} where at most ${max} is allowed. Use less, or delete what is not needed`;
  }
}
