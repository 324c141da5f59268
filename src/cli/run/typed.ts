import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { hasCode } from '../../errors.ts';
import { MEMORY_ROOT, parseMemoryPath } from '../../language/path.ts';

/** Names the root where its slash was left out. */
const ROOT_NAME = MEMORY_ROOT.slice(1);

/**
 * Reads a path of the memory as a person typed it, in its canonical form: verbs cut names off after it and compare it
 * with what is listed. No other place reads such paths; those of the model and of programs are taken as they are. Paths
 * begin at `/memories`: `notes/a.md`, `./notes/a.md` and `memories/notes/a.md` are `/memories/notes/a.md`. A text that
 * is no path of the memory stays as it is, and the verb refuses it in a sentence of its own.
 *
 * @throws InvalidArgumentError for a path with `..`: a shell would follow links there, and a memory has none.
 */
export function typedPath(text: string): string {
  const segments = text.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) {
    throw new InvalidArgumentError(
      `A path of the memory has no ".." in it: write it from ${MEMORY_ROOT} on, such as notes/a.md.`,
    );
  }
  const isNamed = segments[0] === ROOT_NAME;
  if (text === '' || (text.startsWith('/') && !isNamed)) return text;
  const path = [MEMORY_ROOT, ...(isNamed ? segments.slice(1) : segments)].join('/');
  try {
    return parseMemoryPath(path);
  } catch (error) {
    if (!hasCode(error, 'invalid_path')) throw error;
    return path;
  }
}

/** Makes an argument that takes such paths, as it stands in a usage: `<path>`, `[path]` or `<path...>`. */
export function pathArgument(name: string, description?: string): Argument {
  const argument = new Argument(name, description);
  return argument.argParser<string | readonly string[]>((text, before) =>
    argument.variadic ? [...(Array.isArray(before) ? before : []), typedPath(text)] : typedPath(text),
  );
}

/** Reads one or more mounts: the path before each `=` is one that a person typed. */
export function typedMounts(text: string, before: readonly string[] = []): readonly string[] {
  const mounts = text.split(',').map((mount) => mount.replace(/^[^=]+(?==)/, typedPath));
  return [...before, mounts.join(',')];
}

/** Reads what `diff` compares: a path of the memory, or a file of the user's, which begins with `/`, `./` or `../`. */
export function typedSide(text: string): string {
  return /^\.{1,2}(\/|$)|^\/+(?!memories(\/|$)|\/)/.test(text) ? text : typedPath(text);
}

/** Matches what may name a version. A file of such a name is written with what stands before it. */
const VERSION_NAME = /^v?[\w-]{4,22}$/;
const WITH_V = /^v[\w-]{4,22}$/;
const WHOLE_NAME = 22;

/**
 * Reads a version as a person typed it: `v` and its first characters, as "log" shows it, or those alone, as `--json`
 * does. A name may itself begin with v: 22 characters are a whole name, and with fewer the v is the one that is shown.
 */
export function typedVersion(text: string): string {
  return WITH_V.test(text) && text.length !== WHOLE_NAME ? text.slice(1) : text;
}

/** Makes an argument that takes such a version, as it stands in a usage: `<version>` or `[version]`. */
export function versionArgument(name: string, description = ''): Argument {
  return new Argument(name, description).argParser(typedVersion);
}

/** The words of `diff`: two sides, or a path of the memory and one or two versions of its file. */
export interface DiffWords {
  readonly left: string;
  readonly right: string;
  readonly version?: string | undefined;
}

/** Tells whether the right side names a version. */
export function isOfVersions({ left, right, version }: DiffWords): boolean {
  return version !== undefined || (isOfTheMemory(left) && VERSION_NAME.test(right));
}

export function isOfTheMemory(path: string): boolean {
  return `${path}/`.startsWith(`${MEMORY_ROOT}/`);
}

/** Answers the file of their own that a person may have meant by a path of the memory. */
export function typedHere(path: string): string {
  return `.${path.slice(MEMORY_ROOT.length)}`;
}

const MOST_TYPED = 9_999_999_999;

interface NumberBounds {
  readonly least?: number;
  readonly most?: number;
  /** Says what to give, where the bounds alone do not. */
  readonly sentence?: string;
}

/**
 * Reads a whole number within bounds, both included, as a person typed it. No other place judges such a number, so that
 * it is refused before anything is opened, in the name of the option or argument.
 */
export function wholeNumber({
  least = 0,
  most = MOST_TYPED,
  sentence,
}: NumberBounds = {}): (text: string) => number {
  const isBounded = least !== 0 || most !== MOST_TYPED;
  const advice = sentence ?? `Give a whole number${isBounded ? ` from ${least} to ${most}` : ''}.`;
  return (text) => {
    const number = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(advice);
  };
}

/** Bounds a port; 0 is any that is free. */
export const PORT: NumberBounds = { most: 65_535 };

/** Adds the options that say where a content comes from. */
export function withSource(command: Command): Command {
  return command
    .addOption(new Option('--text <text>', 'the text itself').conflicts('file'))
    .option('--file <file>', 'take the content from a file; - or neither option: from standard input');
}

/** Reads an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Reads an argument once its command is known, and refuses it in that command's name. */
export function orRefused<T>(command: Command, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return command.error(`error: ${error.message}`, { code: error.code });
  }
}
