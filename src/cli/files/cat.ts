import { type Command, InvalidArgumentError } from 'commander';
import { MemoryError } from '../../errors.ts';
import { encodeText } from '../../language/text.ts';
import { type ChosenVerb, forReaders, type Invocation } from '../run/invocation.ts';
import { readFile, runOnFiles } from '../run/memory.ts';
import { pathArgument } from '../run/typed.ts';
import { counted } from '../show/report.ts';
import { contentFields, textFor } from '../show/shown.ts';

/** Declares `cat`. */
export function declareCat(program: Command, run: ChosenVerb<typeof runCat>): void {
  program
    .command('cat')
    .addArgument(pathArgument('<path...>'))
    .description('write files to standard output')
    .option('--lines <first,last>', 'some lines of a text, such as 10,20; 10, to the end', parseLines)
    .action((paths: string[], options: CatArguments) => run(paths, options));
}

/** A range of lines as an editor counts them, from 1; without `last` it goes to the end. */
interface LineRange {
  readonly first: number;
  readonly last?: number | undefined;
}

interface CatArguments {
  readonly lines?: LineRange;
}

/** Prints the bytes of files as they are; with `--json` as text, or as base64 where they are no text. */
export function runCat(paths: readonly string[], { lines }: CatArguments, invocation: Invocation) {
  return forReaders(() =>
    runOnFiles(async (run) => {
      const { terminal, report, flags } = invocation;
      for (const path of paths) {
        const bytes = await readFile(run, path);
        const wanted = lines === undefined ? bytes : linesOf(bytes, lines, path);
        if (flags.json === true) await report.entry({ path, ...contentFields(wanted) }, '');
        else await terminal.out(terminal.isForEyes ? textFor(wanted, path) : wanted);
      }
      if (flags.json === true) await report.done({ files: paths.length });
      return 0;
    }, invocation),
  );
}

function linesOf(bytes: Uint8Array, { first, last }: LineRange, path: string): Uint8Array {
  const lines = textFor(bytes, path).split(/(?<=\n)/);
  if (first > lines.length) {
    throw new MemoryError('line_out_of_range', `${path} has ${counted(lines.length, 'line')}.`);
  }
  return encodeText(lines.slice(first - 1, last).join(''));
}

function parseLines(text: string): LineRange {
  const [, first, comma, last] = /^([1-9]\d{0,9})(,)?([1-9]\d{0,9})?$/.exec(text) ?? [];
  if (
    first === undefined ||
    (comma === undefined && last !== undefined) ||
    Number(last ?? first) < Number(first)
  ) {
    throw new InvalidArgumentError('Give a line, or first,last such as 10,20, or 10, for all from there.');
  }
  if (comma === undefined) return { first: Number(first), last: Number(first) };
  return { first: Number(first), ...(last !== undefined && { last: Number(last) }) };
}
