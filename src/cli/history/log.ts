import type { Command } from 'commander';
import { MOST_KEPT_BYTES } from '../../format/sizes.ts';
import type { HistoryEntry, WrittenEntry } from '../../history/past/entries.ts';
import { visibleName } from '../../language/invisible.ts';
import { isoOf } from '../../time.ts';
import type { Progress } from '../../tree/tenant.ts';
import { runOnAdmin } from '../run/admin.ts';
import { type ChosenVerb, EXIT_FAILED, forReaders, type Invocation } from '../run/invocation.ts';
import { ofAdmin, tellHistoryOff } from '../run/tenant-state.ts';
import { pathArgument, wholeNumber } from '../run/typed.ts';
import { counted } from '../show/report.ts';
import { exactTimeOf, shownVersion } from '../show/shown.ts';
import type { Terminal } from '../show/terminal.ts';
import { wrapped } from '../show/wrap.ts';
import { logPicture } from './log-picture.ts';

/** Declares `log`. */
export function declareLog(program: Command, run: ChosenVerb<typeof runLog>): void {
  program
    .command('log')
    .addArgument(pathArgument('[path]'))
    .description(
      'show what happened to a file, or to all files, where the tenant keeps history; the newest first',
    )
    .option('--limit <count>', 'show only the newest <count> entries', wholeNumber({ least: 1 }))
    .action((path: string | undefined, options: LogArguments) => run(path, options));
}

const LONGEST_KIND = 'unrecorded'.length;

interface LogArguments {
  /** The most entries that are told: the newest. */
  readonly limit?: number;
}

/**
 * Tells what happened to a file, or to all files, the newest first; draws a picture of one file's history on a screen.
 * Resolves to 1 where nothing is known of the file.
 */
export function runLog(
  path: string | undefined,
  { limit }: LogArguments,
  invocation: Invocation,
): Promise<number> {
  const { terminal, flags } = invocation;
  return forReaders(() =>
    runOnAdmin(
      async (run) => {
        const { admin, report, signal } = run;
        const state = await tellHistoryOff(ofAdmin(run, invocation));
        const onProgress = (progress: Progress): void =>
          report.progress({ ...progress }, { what: 'versions and files', ...progress });
        let damaged = 0;
        const onDamaged = (count: number): void => {
          damaged = count;
        };
        const paging = limit === undefined ? {} : { limit: limit + 1 };
        const found = await report.during('reading the history', () =>
          admin.history.list(path, { signal, onProgress, onDamaged, ...paging }),
        );
        const entries = found.slice(0, limit);
        const isDrawn = path !== undefined && terminal.isForEyes && flags.json !== true;
        for (const entry of isDrawn ? [] : entries) {
          const time = isoOf(entry.time);
          const line = logLine(entry, terminal);
          const rows = terminal.isForEyes ? wrapped(line, { room: terminal.columns }) : [line];
          await report.entry({ ...entry, time }, rows.join('\n'));
        }
        const hasMore = found.length > entries.length;
        const picture = isDrawn ? logPicture(entries, terminal) : [];
        await report.done(
          {
            entries: entries.length,
            ...(hasMore && { more: true }),
            ...(damaged > 0 && { damaged }),
            ...state,
          },
          entries.length === 0 ? [nothingKnown(path)] : picture,
        );
        if (hasMore && flags.json !== true) terminal.note('there is more that is older');
        if (damaged > 0 && flags.json !== true) terminal.note(leftOut(damaged));
        return path !== undefined && entries.length === 0 ? EXIT_FAILED : 0;
      },
      { invocation },
    ),
  );
}

function leftOut(damaged: number): string {
  return `${counted(damaged, 'file or record', 'files or records')} cannot be read, and the history that they hold is left out: "sealed-memory verify" says which`;
}

function nothingKnown(path: string | undefined): string {
  return path === undefined
    ? 'Nothing is known: no file was ever there.'
    : `Nothing is known of ${path}: no file is there, and the history has no version of one.`;
}

/** Writes the line of an entry: its time, version, what became of that, its path, and its actor. */
function logLine(entry: HistoryEntry, { style }: Terminal): string {
  const { kind, path, time, version, writer } = entry;
  const by = writer === undefined ? '' : `  by ${visibleName(writer)}`;
  const shown = style('yellow', shownVersion(version));
  const what = (word: string): string =>
    `${exactTimeOf(time)}  ${shown}  ${word.padEnd(LONGEST_KIND)}  ${path}`;
  if (entry.kind === 'written') {
    const rest = entry.text === 'redacted' ? redactedWords(entry) : `${counted(entry.size, 'byte')}${by}`;
    return `${what(entry.end)}  ${rest}`;
  }
  return entry.to === undefined ? `${what(`is ${kind}`)}${by}` : `${what(`is ${kind}`)}  to ${entry.to}${by}`;
}

/** Tells who wrote the text from who took it out; nobody did where it was too long to be kept. */
function redactedWords({ writer, redacted, size }: WrittenEntry): string {
  const written = writer === undefined ? '' : `  written by ${visibleName(writer)}`;
  if (size > MOST_KEPT_BYTES) return `too large to keep${written}`;
  return `redacted${written}${redacted?.writer === undefined ? '' : `  redacted by ${visibleName(redacted.writer)}`}`;
}
