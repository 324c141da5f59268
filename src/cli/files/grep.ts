import type { Command } from 'commander';
import { hasCode, MemoryError } from '../../errors.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import { decodeText, findInLines } from '../../language/text.ts';
import { inTurns } from '../../time.ts';
import type { FileStat } from '../../tool/files.ts';
import { type ChosenVerb, EXIT_FAILED, forReaders, type Invocation } from '../run/invocation.ts';
import { eachAhead, filesAt, readOneOfMany, runOnFiles, tellIfNobodys } from '../run/memory.ts';
import { pathArgument } from '../run/typed.ts';
import { counted } from '../show/report.ts';

/** Declares `grep`. */
export function declareGrep(program: Command, run: ChosenVerb<typeof runGrep>): void {
  program
    .command('grep <pattern>')
    .addArgument(pathArgument('[path]'))
    .description('search the lines of all files; exit code 1 when none matches')
    .option('-i, --ignore-case', 'capitals count as small letters')
    .option('-F, --fixed-strings', 'the pattern is a text, no regular expression')
    .option('-l, --files-with-matches', 'print paths alone')
    .action((pattern: string, path: string = MEMORY_ROOT, options: GrepArguments) =>
      run({ pattern, path }, options),
    );
}

export interface GrepArguments {
  readonly ignoreCase?: boolean;
  readonly fixedStrings?: boolean;
  readonly filesWithMatches?: boolean;
}

/**
 * Prints the lines that match; resolves to 1 when none does, as grep does, or when a file could not be read. Such a
 * file is named and keeps no one from the others.
 */
export function runGrep(
  { pattern, path }: { readonly pattern: string; readonly path: string },
  options: GrepArguments,
  invocation: Invocation,
) {
  const matcher = matcherOf(pattern, options);
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
          const matching = findInLines(text, (line, number) =>
            matcher.test(line) ? { line, number } : undefined,
          );
          const hits = await inTurns(matching, invocation.signal);
          if (hits.length > 0 && options.filesWithMatches === true) {
            await report.entry({ path: file.path }, file.path);
          } else {
            for (const { line, number } of hits) {
              const place = `${terminal.style('cyan', file.path)}:${number}:`;
              await report.entry(
                { path: file.path, line: number, text: line },
                `${place}${line.replace(/\r$/, '')}`,
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
