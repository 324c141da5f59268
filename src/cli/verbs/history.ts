import { misconfigured } from '../../errors.ts';
import { toBase64 } from '../../format/encoding.ts';
import { decodeText } from '../../language/text.ts';
import type { HistoryEntry } from '../../tree/history/entries.ts';
import type { Progress } from '../../tree/session.ts';
import { textFor } from './files.ts';
import type { Invocation } from './invocation.ts';
import { timeOf } from './list.ts';
import { logPicture } from './log-picture.ts';
import { runOnAdmin } from './operate.ts';
import { counted } from './report.ts';
import { shortVersion } from './short-version.ts';
import { onOneLine, type Terminal } from './terminal.ts';

const LONGEST_KIND = 'unrecorded'.length;

export interface LogArguments {
  /** So many entries, the newest. */
  readonly limit?: number;
}

/** What happened to a file, or to all files, the newest first; of a file on a screen a picture. */
export function runLog(
  path: string | undefined,
  { limit }: LogArguments,
  invocation: Invocation,
): Promise<number> {
  const { terminal, flags } = invocation;
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      if (limit === 0) throw misconfigured('--limit must be at least 1.');
      const onProgress = (progress: Progress): void =>
        report.progress({ ...progress }, { what: 'versions and files', ...progress });
      const found = await report.during('reading the history', () =>
        admin.history.list(path, { signal, onProgress, ...(limit !== undefined && { limit: limit + 1 }) }),
      );
      const entries = found.slice(0, limit);
      const isDrawn = path !== undefined && terminal.isForEyes && flags.json !== true;
      for (const entry of isDrawn ? [] : entries) {
        const time = entry.time.toISOString();
        await report.entry({ ...entry, time }, logLine(entry, terminal));
      }
      const hasMore = found.length > entries.length;
      const picture = isDrawn ? logPicture(entries, terminal) : [];
      await report.done(
        { entries: entries.length, ...(hasMore && { more: true }) },
        entries.length === 0 ? [nothingKnown(path)] : picture,
      );
      if (hasMore && flags.json !== true) terminal.note('there is more that is older');
      return 0;
    },
    { invocation },
  );
}

function nothingKnown(path: string | undefined): string {
  const where = path === undefined ? 'no file was ever there' : `no file was ever at ${path}`;
  return `Nothing is known: ${where}, or the tenant keeps no history. "tenant history on" keeps it from then on.`;
}

/** When, which version, what it came to, where, and on whose behalf. */
function logLine(entry: HistoryEntry, { style }: Terminal): string {
  const { kind, path, time, version, writer } = entry;
  const by = writer === undefined ? '' : `  by ${onOneLine(writer)}`;
  const shown = style('yellow', shortVersion(version));
  const what = (word: string): string => `${timeOf(time)}  ${shown}  ${word.padEnd(LONGEST_KIND)}  ${path}`;
  if (entry.kind === 'written') {
    const size = entry.text === 'redacted' ? 'redacted' : counted(entry.size, 'byte');
    return `${what(entry.end)}  ${size}${by}`;
  }
  return entry.to === undefined ? `${what(`is ${kind}`)}${by}` : `${what(`is ${kind}`)}  to ${entry.to}${by}`;
}

/** The bytes of a version go out as they are, as those of a file do. */
export function runShow(
  { path, version }: { readonly path: string; readonly version: string },
  invocation: Invocation,
): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const { terminal, flags } = invocation;
      const found = await report.during('reading the history', () =>
        admin.history.read({ path, version }, { signal }),
      );
      const { bytes } = found;
      if (flags.json === true) {
        const text = decodeText(bytes);
        const content = text === undefined ? { base64: toBase64(bytes) } : { text };
        await report.done({ path: found.path, version: found.version, ...content });
      } else await terminal.out(terminal.isForEyes ? textFor(bytes, path) : bytes);
      return 0;
    },
    { invocation },
  );
}

export function runTurnHistory(to: 'on' | 'off', invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const turned = await report.during('reaching the store', () => admin.turnHistory(to, { signal }));
      const { changed, epoch } = turned;
      await report.done({ ...turned }, [
        changed
          ? `ok    history is ${to}, keyring epoch ${epoch}; a process that runs follows when it loads the keyring next, within 15 minutes`
          : `ok    history was ${to} already`,
      ]);
      return 0;
    },
    { invocation },
  );
}
