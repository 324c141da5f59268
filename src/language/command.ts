import { MemoryError } from '../errors.ts';
import { echoText, shorten } from './page.ts';
import { type MemoryPath, parseGivenPath } from './path.ts';

/** A path as the model wrote it, for replies to echo, and as a path; its names keep their given form. */
interface PathArgument {
  readonly given: string;
  readonly path: MemoryPath;
}

/** A command whose fields are all present, of their types and, where they are paths, valid. */
export type MemoryCommand =
  | {
      readonly command: 'view';
      readonly target: PathArgument;
      /** The lines to view, judged against the file or listing; a value of the wrong shape is never a valid range. */
      readonly viewRange?: readonly number[];
    }
  | { readonly command: 'create'; readonly target: PathArgument; readonly fileText: string }
  | {
      readonly command: 'str_replace';
      readonly target: PathArgument;
      readonly oldStr: string;
      readonly newStr: string;
    }
  | {
      readonly command: 'insert';
      readonly target: PathArgument;
      /** The line to insert after: any number, judged against the file. */
      readonly insertLine: number;
      readonly insertText: string;
    }
  | { readonly command: 'delete'; readonly target: PathArgument }
  | { readonly command: 'rename'; readonly source: PathArgument; readonly destination: PathArgument };

export type CommandName = 'view' | 'create' | 'str_replace' | 'insert' | 'delete' | 'rename';

export const COMMAND_NAMES: readonly CommandName[] = [
  'view',
  'create',
  'str_replace',
  'insert',
  'delete',
  'rename',
];

/**
 * Reads the model's input. Only own properties count, and one whose value is undefined counts as absent. `rename` takes
 * `path` for `old_path` and `insert` takes `new_str` for `insert_text`; `view_range` may be null.
 *
 * The first fault is reported: the command, then its fields in the order of its documentation, then fields that do not
 * belong to it.
 *
 * @throws MemoryError `invalid_command` with `problem` (`not_an_object`, `unknown_command`, `missing`, `wrong_type`,
 * `lone_surrogate`, `unexpected`) and, where it is about one, `field`; `invalid_path` with `rule` and `field`.
 */
export function parseCommand(input: unknown): MemoryCommand {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw refusal({ problem: 'not_an_object' });
  }
  const fields = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const name = fields.get('command');
  if (!isCommandName(name)) throw refusal({ problem: 'unknown_command' });
  fields.delete('command');
  const command = readCommand(name, fields);
  const [unexpected] = fields.keys();
  if (unexpected !== undefined) throw refusal({ problem: 'unexpected', field: unexpected });
  return command;
}

/** The fields yet to be read. Reading a field removes it, so a field that remains does not belong to the command. */
type InputFields = Map<string, unknown>;

function readCommand(command: CommandName, fields: InputFields): MemoryCommand {
  switch (command) {
    case 'view':
      return { command, target: takePath(fields, 'path'), ...takeViewRange(fields) };
    case 'create':
      return { command, target: takePath(fields, 'path'), fileText: takeText(fields, 'file_text') };
    case 'str_replace':
      return {
        command,
        target: takePath(fields, 'path'),
        oldStr: takeText(fields, 'old_str'),
        newStr: fields.has('new_str') ? takeText(fields, 'new_str') : '',
      };
    case 'insert':
      return {
        command,
        target: takePath(fields, 'path'),
        insertLine: takeNumber(fields, 'insert_line'),
        insertText: takeText(fields, eitherName(fields, 'insert_text', 'new_str')),
      };
    case 'delete':
      return { command, target: takePath(fields, 'path') };
    case 'rename':
      return {
        command,
        source: takePath(fields, eitherName(fields, 'old_path', 'path')),
        destination: takePath(fields, 'new_path'),
      };
  }
}

function isCommandName(name: unknown): name is CommandName {
  return COMMAND_NAMES.some((known) => known === name);
}

/** Chooses the field's own name, or the alias that models send instead. */
function eitherName(fields: InputFields, name: string, other: string): string {
  return !fields.has(name) && fields.has(other) ? other : name;
}

function take(fields: InputFields, field: string): unknown {
  if (!fields.has(field)) throw refusal({ problem: 'missing', field });
  const value = fields.get(field);
  fields.delete(field);
  return value;
}

function takePath(fields: InputFields, field: string): PathArgument {
  const given = take(fields, field);
  if (typeof given !== 'string') throw refusal({ problem: 'wrong_type', field });
  try {
    return { given, path: parseGivenPath(given) };
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    // An operator may log this message: paths of every kind stay out of logs.
    const message = `The command has a path that is refused in its field ${field}.`;
    throw new MemoryError(error.code, message, { details: { ...error.details, field } });
  }
}

function takeText(fields: InputFields, field: string): string {
  const value = take(fields, field);
  if (typeof value !== 'string') throw refusal({ problem: 'wrong_type', field });
  if (!value.isWellFormed()) throw refusal({ problem: 'lone_surrogate', field });
  return value;
}

function takeNumber(fields: InputFields, field: string): number {
  const value = take(fields, field);
  if (typeof value !== 'number') throw refusal({ problem: 'wrong_type', field });
  return value;
}

function takeViewRange(fields: InputFields): { readonly viewRange?: readonly number[] } {
  const value = fields.get('view_range');
  fields.delete('view_range');
  if (value === undefined || value === null) return {};
  if (!Array.isArray(value)) return { viewRange: [] };
  return { viewRange: Array.from(value, (item: unknown) => (typeof item === 'number' ? item : Number.NaN)) };
}

type Fault = Readonly<{ problem: 'not_an_object' | 'unknown_command' }> | FieldFault;
type FieldFault = Readonly<{
  problem: 'missing' | 'wrong_type' | 'lone_surrogate' | 'unexpected';
  field: string;
}>;

/**
 * Names the fault for an operator, who may log it. A field that no command has is the model's own text, and stays
 * unnamed.
 */
function faultOf(fault: Fault): string {
  switch (fault.problem) {
    case 'not_an_object':
      return 'is no object with the field command and those of that command';
    case 'unknown_command':
      return `is none of ${COMMAND_NAMES.join(', ')}`;
    case 'missing':
      return `lacks its field ${fault.field}`;
    case 'wrong_type':
      return `has a value of another type in its field ${fault.field}`;
    case 'lone_surrogate':
      return `has half of a surrogate pair in its field ${fault.field}`;
    case 'unexpected':
      return 'has a field that it does not know';
  }
}

function refusal(details: Fault): MemoryError {
  return new MemoryError('invalid_command', `The command ${faultOf(details)}.`, { details });
}

/**
 * The parts of the model's input that a sentence may repeat. Reading never throws, whatever the input is, and every
 * text is well-formed, so that it can be sent to the model.
 */
export interface Echo {
  readonly command: CommandName | undefined;
  /** Answers a field's text as a sentence repeats it; empty if the field holds another value. */
  text(field: string): string;
  /** Answers a field's whole text; empty if the field holds another value. */
  whole(field: string): string;
  /** Answers a field's value as JSON, shortened; a number in digits, an empty text for an absent field. */
  json(field: string): string;
}

export function echoOf(input: unknown): Echo {
  const command = ownValue(input, 'command');
  const whole = (field: string): string => {
    const value = ownValue(input, field);
    return typeof value === 'string' ? value : '';
  };
  return {
    command: COMMAND_NAMES.find((name) => name === command),
    text: (field) => echoText(whole(field)),
    whole,
    json(field) {
      return shorten(jsonOf(ownValue(input, field)));
    },
  };
}

function ownValue(input: unknown, field: string): unknown {
  try {
    if (typeof input !== 'object' || input === null || !Object.hasOwn(input, field)) return undefined;
    return Reflect.get(input, field);
  } catch {
    return undefined;
  }
}

function jsonOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '';
  }
}
