import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Action } from '../run/invocation.ts';

/** Notes what the command line asks for; it runs once the whole line was understood. */
export type Choose = (action: Action) => void;

export function parseCount(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}

export function parsePort(text: string): number {
  const port = parseCount(text);
  if (port > 65_535) throw new InvalidArgumentError('A port is at most 65535.');
  return port;
}

/** Adds the options that say where a content comes from. */
export function withSource(command: Command): Command {
  return command
    .addOption(new Option('--text <text>', 'the text itself').conflicts('file'))
    .option('--file <file>', 'a file to read; - or neither option: standard input');
}

/** Of an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

const TAKE_VERSIONS: ReadonlySet<string> = new Set(['diff', 'redact', 'restore', 'show', 'trace']);

/** No cluster of short options is so long, and no long option has capitals. */
const DASHED_VERSION = /^-(?!-)[\w-]{3,21}$|^--(?=[\w-]*[A-Z_])[\w-]{2,20}$/;

/** What no argument of a process can hold. */
const MARK = '\0';

/** The name of a version may begin with a dash, which makes it an option for the parser: it gets a mark before it. */
export function withVersionsMarked(args: readonly string[]): readonly string[] {
  const verb = args.findIndex((arg) => TAKE_VERSIONS.has(arg));
  if (verb < 0 || args.includes('--')) return args;
  return args.map((arg, index) => (index > verb && DASHED_VERSION.test(arg) ? `${MARK}${arg}` : arg));
}

/** As it was typed. */
export function withoutMarks(text: string): string {
  return text.replaceAll(MARK, '');
}

/** Takes the marks out of all that a command was given, before it runs. */
export function takeMarksOut(command: Command): void {
  const given: unknown[] = command.processedArgs;
  for (const [index, value] of given.entries()) given[index] = unmarked(value);
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const options = at.opts<Record<string, unknown>>();
    for (const [name, value] of Object.entries(options)) options[name] = unmarked(value);
  }
}

function unmarked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarked);
  return typeof value === 'string' ? withoutMarks(value) : value;
}
