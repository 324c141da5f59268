import { MemoryError } from '../../errors.ts';
import { toBase64url } from '../../format/encoding.ts';
import type { History } from '../../history/history.ts';
import type { WrittenEntry } from '../../history/past/entries.ts';
import { compareLines } from '../../language/line-diff.ts';
import { decodeText } from '../../language/text.ts';
import { inTurns } from '../../time.ts';
import type { Tree } from '../../tree/tree.ts';
import type { ResultOf } from '../protocol.ts';
import type { Answerers } from './answer-questions.ts';

/** The most versions that one question reads, the bytes of all of them, and the lines of a file. */
const MOST_VERSIONS = 100;
const MOST_BYTES = 8_388_608;
const MOST_LINES = 20_000;

type TracedOrigin = ResultOf<'lines'>['origins'][number];

/**
 * Answers who wrote each line of a file: the writer of the oldest version from which on the line was always there. Goes
 * from the newest version to the one that it replaced, and so on, until every line is told or a bound is met. A version
 * that has the text of an earlier one again, as after a restore, stands for that one. Costs the requests of
 * `history.list`, and of a `history.read` for each version that is compared.
 */
export function answerLines(history: History, tree: Tree): Answerers {
  return {
    async lines({ path }, { signal }) {
      const file = await tree.readVersion(path, { signal });
      if (file === undefined) throw new MemoryError('not_found', 'there is no file of that path');
      const text = decodeText(file.content);
      if (text === undefined) throw new MemoryError('not_text', 'The file is no text.');
      const version = String(file.etag);
      const count = lineCount(text);
      const listed = count > MOST_LINES ? [] : await history.list(path, { signal });
      const entries = new Map<string, WrittenEntry>();
      for (const entry of listed) if (entry.kind === 'written') entries.set(entry.version, entry);

      const origins: TracedOrigin[] = [];
      const told = new Int32Array(count).fill(-1);
      let at = entries.get(toBase64url(file.id));
      let lines: VersionLines = { text, places: Int32Array.from(told.keys()) };
      for (let bytes = 0; at !== undefined && lines.places.some((place) => place >= 0); ) {
        const before: WrittenEntry | undefined = entries.get(at.sameTextAs ?? at.previous ?? '');
        bytes += before?.size ?? 0;
        const isRead = before?.text === 'kept' && bytes <= MOST_BYTES && origins.length < MOST_VERSIONS;
        const older = isRead ? await textOf(before) : undefined;
        if (older === undefined) {
          tell(at, lines.places, isFirst(at));
          break;
        }
        const { stayed, added } = await inTurns(linesBefore(older, lines), signal);
        tell(at, added, true);
        [at, lines] = [before, { text: older, places: stayed }];
      }
      return { path, version, origins, runs: runsOf(told) };

      async function textOf({ path: from, version: name }: WrittenEntry): Promise<string | undefined> {
        return decodeText((await history.read({ path: from, version: name }, { signal })).bytes);
      }

      function tell({ writer, time }: WrittenEntry, places: Iterable<number>, isCertain: boolean): void {
        for (const place of places) if (place >= 0) told[place] = origins.length;
        origins.push({ time: time.getTime(), isCertain, ...(writer !== undefined && { writer }) });
      }
    },
  };
}

/** Tells whether a version replaced none. One from before the history tells neither that nor its writer. */
function isFirst({ previous, sameTextAs, writer }: WrittenEntry): boolean {
  return previous === undefined && sameTextAs === undefined && writer !== undefined;
}

/** A version's text, and for each of its lines the place of that line in the file now; -1: it is not there. */
interface VersionLines {
  readonly text: string;
  readonly places: Int32Array;
}

/** Follows lines into the version before: the places of its lines, and those of the lines that it does not have. */
function* linesBefore(
  older: string,
  { text, places }: VersionLines,
): Generator<void, { readonly stayed: Int32Array; readonly added: readonly number[] }> {
  const { hunks } = yield* compareLines(withLineEnd(older), withLineEnd(text), 0);
  const stayed = new Int32Array(lineCount(older)).fill(-1);
  const added: number[] = [];
  let [from, to] = [0, 0];
  const stay = (until: number): void => {
    stayed.set(places.subarray(to, until), from);
    [from, to] = [from + until - to, until];
  };
  for (const { newStart, newLines, oldLines } of hunks) {
    stay(newStart - 1);
    added.push(...places.subarray(to, to + newLines));
    [from, to] = [from + oldLines, to + newLines];
  }
  stay(places.length);
  return { stayed, added };
}

/** Counts the lines as the page shows them: what follows on the last line feed is no line where it is empty. */
function lineCount(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count += 1) at = text.indexOf('\n', at) + 1 || text.length + 1;
  return count;
}

/** Ends the last line as all others end, so that a line that is appended leaves it as it is. */
function withLineEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

function runsOf(told: Int32Array): ResultOf<'lines'>['runs'] {
  const runs: { origin: number; count: number }[] = [];
  for (const origin of told) {
    const last = runs.at(-1);
    if (last?.origin === origin) last.count += 1;
    else runs.push({ origin, count: 1 });
  }
  return runs;
}
