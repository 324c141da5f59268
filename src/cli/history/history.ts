import { toBase64 } from '../../format/encoding.ts';
import { MOST_KEPT_BYTES } from '../../format/sizes.ts';
import type { HistoryEntry, WrittenEntry } from '../../history/past/entries.ts';
import { decodeText } from '../../language/text.ts';
import { dateOf, isoOf } from '../../time.ts';
import type { Progress } from '../../tree/tenant.ts';
import { runOnAdmin } from '../run/admin.ts';
import { EXIT_FAILED, type Invocation, ofOneChange, wrongCall } from '../run/invocation.ts';
import { readOptions } from '../run/settings.ts';
import { ofAdmin, tellHistoryOff } from '../run/tenant-state.ts';
import { historyLine, statusLines } from '../show/operate-lines.ts';
import { counted } from '../show/report.ts';
import { exactTimeOf, shownVersion, textFor } from '../show/shown.ts';
import { onOneLine, type Terminal } from '../show/terminal.ts';
import { wrapped } from '../show/wrap.ts';
import { logPicture } from './log-picture.ts';

const LONGEST_KIND = 'unrecorded'.length;

export interface LogArguments {
  /** So many entries, the newest. */
  readonly limit?: number;
}

/**
 * What happened to a file, or to all files, the newest first; of a file on a screen a picture. Resolves to 1 where nothing is
 * known of the file.
 */
export function runLog(
  path: string | undefined,
  { limit }: LogArguments,
  invocation: Invocation,
): Promise<number> {
  const { terminal, flags } = invocation;
  return runOnAdmin(
    async (run) => {
      const { admin, report, signal } = run;
      if (limit === 0) throw wrongCall('--limit must be at least 1.');
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

/** When, which version, what it came to, where, and on whose behalf. */
function logLine(entry: HistoryEntry, { style }: Terminal): string {
  const { kind, path, time, version, writer } = entry;
  const by = writer === undefined ? '' : `  by ${onOneLine(writer)}`;
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
  const written = writer === undefined ? '' : `  written by ${onOneLine(writer)}`;
  if (size > MOST_KEPT_BYTES) return `too large to keep${written}`;
  return `redacted${written}${redacted?.writer === undefined ? '' : `  redacted by ${onOneLine(redacted.writer)}`}`;
}

/** The bytes of a version go out as they are, as those of a file do. */
export function runShow(
  { path, version }: { readonly path: string; readonly version: string },
  invocation: Invocation,
): Promise<number> {
  return runOnAdmin(
    async (run) => {
      const { admin, report, signal } = run;
      const { terminal, flags } = invocation;
      const state = await tellHistoryOff(ofAdmin(run, invocation));
      const found = await report.during('reading the history', () =>
        admin.history.read({ path, version }, { signal }),
      );
      const { bytes } = found;
      if (flags.json === true) {
        const text = decodeText(bytes);
        const content = text === undefined ? { base64: toBase64(bytes) } : { text };
        await report.done({ path: found.path, version: found.version, ...content, ...state });
      } else await terminal.out(terminal.isForEyes ? textFor(bytes, path) : bytes);
      return 0;
    },
    { invocation },
  );
}

/** Whether the tenant keeps history, since when, and how long an expiry run that is configured like this one leaves it. */
export function runHistoryState(invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const { history: { days } = {} } = readOptions(invocation);
      const status = await report.during('reaching the store', () => admin.keyStatus({ signal }));
      if (status.state !== 'open') {
        await report.done({ ...status }, statusLines(status));
        return status.state === 'absent' ? 0 : EXIT_FAILED;
      }
      const { history, historySince: since } = status;
      const kept =
        days === undefined
          ? 'for good: SEALED_MEMORY_HISTORY_DAYS is not set here'
          : `for ${counted(days, 'day')}, by SEALED_MEMORY_HISTORY_DAYS`;
      await report.done(
        {
          history,
          ...(since !== undefined && { since: dateOf(since) }),
          ...(days !== undefined && { days }),
        },
        [historyLine(status), ...(history === 'on' ? [`ok    expiry runs leave it ${kept}`] : [])],
      );
      return 0;
    },
    { invocation },
  );
}

export function runTurnHistory(to: 'on' | 'off' | 'anew', invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const turn = async () => {
        const isNew = to === 'on' && (await admin.history.state({ signal })) === 'absent';
        return { ...(await admin.turnHistory(to, { signal })), ...(isNew && { isNew }) };
      };
      const { isNew, ...turned } = await report.during('reaching the store', turn);
      const { changed, epoch } = turned;
      await report.done({ ...turned, ...(isNew && { created: true }) }, [
        ...(isNew ? [`note  nothing was written for the tenant ${admin.tenant} before: it begins now`] : []),
        to === 'anew'
          ? `ok    history begins anew, keyring epoch ${epoch}: what it says of the time before accuses no file, and its texts stay; now run "sealed-memory checkpoint", and throw older lines away`
          : changed
            ? `ok    history is ${to}, keyring epoch ${epoch}; a process that runs follows when it loads the keyring next, within 15 minutes`
            : `ok    history was ${to} already`,
      ]);
      return 0;
    },
    { invocation, interrupted: ofOneChange },
  );
}
