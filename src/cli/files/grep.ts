import type { Command } from 'commander';
import { hasCode, MemoryError } from '../../errors.ts';
import { countInvisible, visible } from '../../language/invisible.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import { decodeText, findInLines } from '../../language/text.ts';
import { inTurns } from '../../time.ts';
import type { FileStat } from '../../tool/files.ts';
import { type ChosenVerb, EXIT_FAILED, forReaders, type Invocation } from '../run/invocation.ts';
import { eachAhead, filesAt, readOneOfMany, runOnFiles, tellIfNobodys } from '../run/memory.ts';
import { orRefused, pathArgument, typedPath } from '../run/typed.ts';
import { counted } from '../show/report.ts';

/** Declares `grep`. */
export function declareGrep(program: Command, run: ChosenVerb<typeof runGrep>): void {
  program
    .command('grep')
    .usage('[options] <pattern> [path] | --invisible [path]')
    .argument('[pattern]')
    .addArgument(pathArgument('[path]'))
    .description('search the lines of all files; exit code 1 when none matches')
    .option('-i, --ignore-case', 'ignore the case of letters')
    .option('-F, --fixed-strings', 'take the pattern as text, not as a regular expression')
    .option('-l, --files-with-matches', 'print only the paths')
    .option(
      '--invisible',
      'in place of a pattern: lines with characters that cannot be seen, each written as ⟨its name⟩',
    )
    .action((first: string | undefined, path: string | undefined, given: TypedGrep, command: Command) => {
      const { invisible = false, ...options } = given;
      if (!invisible) {
        if (first === undefined) {
          command.error("error: missing required argument 'pattern'", { code: 'commander.missingArgument' });
        }
        run({ pattern: first, path: path ?? MEMORY_ROOT }, options);
        return;
      }
      const { ignoreCase, fixedStrings, filesWithMatches } = options;
      if (path !== undefined || ignoreCase === true || fixedStrings === true) {
        const why = '--invisible takes the place of a pattern: name a path alone';
        command.error(`error: ${why}`, { code: 'commander.conflictingOption' });
      }
      const wanted = first === undefined ? MEMORY_ROOT : orRefused(command, () => typedPath(first));
      run({ pattern: undefined, path: wanted }, filesWithMatches === true ? { filesWithMatches } : {});
    });
}

interface TypedGrep extends GrepArguments {
  readonly invisible?: boolean;
}

interface GrepArguments {
  readonly ignoreCase?: boolean;
  readonly fixedStrings?: boolean;
  readonly filesWithMatches?: boolean;
}

/**
 * Prints the lines that match, or without a pattern the lines with characters that cannot be seen, written as `⟨…⟩`;
 * JSON has the line as it is, with the number of such characters. Resolves to 1 when no line matches, as grep does, or
 * when a file could not be read: it names such a file and goes on with the others.
 */
export function runGrep(
  { pattern, path }: { readonly pattern: string | undefined; readonly path: string },
  options: GrepArguments,
  invocation: Invocation,
) {
  const hitOf = pattern === undefined ? invisibleHit : matchingHit(matcherOf(pattern, options));
  return forReaders(() =>
    runOnFiles(async (run) => {
      const { report, terminal } = invocation;
      const files = await filesAt(run, path);
      let [matches, skipped, unread] = [0, 0, 0];
      const read = async (file: FileStat) => {
        try {
          return { file, bytes: await readOneOfMany(run, file.path) };
        } catch (error) {
          return { file, error };
        }
      };
      await report.during(`searching ${path}`, async () => {
        for await (const { file, bytes, error } of eachAhead(run, files, read)) {
          // Deleted meanwhile.
          if (hasCode(error, 'not_found')) continue;
          if (bytes === undefined) {
            if (!hasCode(error, 'limit_exceeded', 'integrity', 'invalid_path')) throw error;
            if (error.code !== 'limit_exceeded') unread += 1;
            const { message } = error;
            terminal.note(error.code === 'integrity' ? `${file.path} is damaged: ${message}` : message);
            continue;
          }
          const text = decodeText(bytes);
          if (text === undefined) {
            skipped += 1;
            continue;
          }
          const hits = await inTurns(findInLines(text, hitOf), invocation.signal);
          if (hits.length > 0 && options.filesWithMatches === true) {
            await report.entry({ path: file.path }, file.path);
          } else {
            for (const { line, number, shown, invisible } of hits) {
              const place = `${terminal.style('cyan', file.path)}:${number}:`;
              await report.entry(
                { path: file.path, line: number, text: line, ...(invisible !== undefined && { invisible }) },
                `${place}${shown.replace(/\r$/, '')}`,
              );
            }
          }
          matches += hits.length;
        }
      });
      if (skipped > 0)
        terminal.note(
          `${counted(skipped, 'file')} that ${skipped === 1 ? 'is' : 'are'} not text, passed over`,
        );
      await report.done({ matches, skipped, unread, ...(await tellIfNobodys(run, path, files)) });
      return matches > 0 && unread === 0 ? 0 : EXIT_FAILED;
    }, invocation),
  );
}

interface Hit {
  readonly line: string;
  readonly number: number;
  /** The line as people read it. */
  readonly shown: string;
  /** The characters of the line that cannot be seen, where these are looked for. */
  readonly invisible?: number;
}

function invisibleHit(line: string, number: number): Hit | undefined {
  const invisible = countInvisible(line);
  return invisible === 0 ? undefined : { line, number, shown: visible(line), invisible };
}

function matchingHit(matcher: RegExp): (line: string, number: number) => Hit | undefined {
  return (line, number) => (matcher.test(line) ? { line, number, shown: line } : undefined);
}

function matcherOf(pattern: string, { ignoreCase = false, fixedStrings = false }: GrepArguments): RegExp {
  const source = fixedStrings ? pattern.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : pattern;
  try {
    return new RegExp(source, ignoreCase ? 'iu' : 'u');
  } catch {
    throw new MemoryError(
      'misconfigured',
      'The pattern is not a regular expression; --fixed-strings takes it as it is.',
    );
  }
}
