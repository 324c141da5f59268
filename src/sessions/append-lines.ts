import { hasCode } from '../errors.ts';
import { inTurns } from '../time.ts';
import { untilDone } from '../tree/concurrency.ts';
import { holdRecord, recallRecord, writeRecord } from '../tree/records/sealed-record.ts';
import type { Work } from '../tree/tenant.ts';
import { foldLines, type SessionFold } from './fold.ts';
import {
  decodingPage,
  encodePage,
  isFull,
  roomFor,
  type TranscriptLine,
  type TranscriptPage,
} from './page.ts';
import { CLASS, pageId, type SessionKey, type TranscriptId, transcriptId } from './session-key.ts';
import {
  isKnown,
  type KnownTranscript,
  knownPage,
  newLines,
  readPage,
  reviewTranscript,
} from './transcript.ts';

interface AppendRequest {
  readonly key: SessionKey;
  readonly lines: readonly TranscriptLine[];
  /** The fold; absent: the transcript has no summary from then on. */
  readonly fold: SessionFold | undefined;
  /** The transcript as an earlier call has left it. */
  readonly known: KnownTranscript | undefined;
}

/**
 * Appends the lines that the transcript lacks, and answers the transcript as it then is. Where the last page is known
 * and has room, this takes one PUT for each MiB. A look comes before it (a LIST, and a GET for each page that is not
 * known) at the first append, where the last page is full, where a line is known already, and after a conflict.
 *
 * @throws MemoryError `version_conflict` when others were faster at every attempt; `outcome_unknown` when no answer
 * tells whether lines were written of which none has a uuid.
 */
export async function appendLines(work: Work, append: AppendRequest): Promise<KnownTranscript> {
  const transcript = transcriptId(work.keyring.names, append.key);
  let rest = newLines(append.lines);
  let known = append.known ?? [];
  /** True where `known` comes from the store by a request of this call. */
  let isFresh = false;
  /** True where a conflict has shown that `known` is no longer current. */
  let isSuperseded = false;

  /** True once `rest` holds no line that is known; what this call writes adds none of them. */
  let isFiltered = false;

  const look = async (): Promise<KnownTranscript> => {
    known = await reviewTranscript(work, transcript, known);
    [isFresh, isSuperseded, isFiltered] = [true, false, false];
    return known;
  };
  const again = (): 'again' => {
    isSuperseded = true;
    return 'again';
  };
  const isThere = (line: TranscriptLine): boolean => isKnown(known, line);
  const step = async (): Promise<'done' | 'more' | 'again'> => {
    if (isSuperseded) await look();
    let last = await lastPage(work, transcript, known);
    // Only fresh knowledge decides that a line is left out, or that a page follows another one, which may be gone.
    if (!isFresh && (last === 'none' || last === 'changed' || isFull(last) || rest.some(isThere))) {
      last = await lastPage(work, transcript, await look());
    }
    if (last === 'changed') return again();
    if (!isFiltered) rest = rest.filter((line) => !isThere(line));
    isFiltered = true;
    if (rest.length === 0) return 'done';
    const before = last === 'none' || isFull(last) ? [] : last.lines;
    const sent = rest.slice(0, roomFor(before, rest));
    const written = await writePage(work, { ...append, transcript, known, last, before, sent });
    if (written === 'conflict') return again();
    if (written === 'unknown') {
      await look();
      // Either all of them landed, or none.
      if (!sent.some(isThere)) return again();
    } else {
      known = [...known.filter(({ number }) => number !== written.number), written];
      isFresh = true;
    }
    rest = rest.slice(sent.length);
    return rest.length === 0 ? 'done' : 'more';
  };
  while ((await untilDone(work, step)) === 'more');
  return known;
}

/** The last page of a transcript. `none`: the transcript is empty; `changed`: the page is no longer the known one. */
type LastPage = TranscriptPage | 'none' | 'changed';

/** Answers the last page as this process holds it, or by one GET. */
async function lastPage(work: Work, transcript: TranscriptId, known: KnownTranscript): Promise<LastPage> {
  const last = known.at(-1);
  if (last === undefined) return 'none';
  const { number, etag } = last;
  const held = recallRecord(work, { cls: CLASS, id: pageId(transcript, number) }, etag);
  if (held !== undefined) return inTurns(decodingPage(held), work.call.signal);
  const read = await readPage(work, { transcript, number });
  return read?.etag === etag ? read.page : 'changed';
}

interface PageWrite extends Pick<AppendRequest, 'key' | 'fold'> {
  readonly transcript: TranscriptId;
  readonly known: KnownTranscript;
  readonly last: TranscriptPage | 'none';
  /** The lines that the page has already: none of a new one. */
  readonly before: readonly TranscriptLine[];
  readonly sent: readonly TranscriptLine[];
}

/**
 * Writes lines into the last page, or, where that is full, into a new one after it. `unknown`: no answer tells whether
 * it was written, but a look at the store does.
 */
async function writePage(
  work: Work,
  write: PageWrite,
): Promise<KnownTranscript[number] | 'conflict' | 'unknown'> {
  const { transcript, key, known, last, before, sent } = write;
  const end = known.at(-1);
  const replaced = last === 'none' || isFull(last) ? undefined : end;
  const number = replaced?.number ?? (end === undefined ? 0 : end.number + 1);
  const name = { cls: CLASS, id: pageId(transcript, number) } as const;
  const page: TranscriptPage = {
    key,
    first: known[0]?.number ?? number,
    summary: summaryOf(write),
    lines: [...before, ...sent],
  };
  try {
    const written = await writeRecord(work, name, { content: encodePage(page), base: replaced?.etag });
    if ('conflict' in written) return 'conflict';
    holdRecord(work, name, written);
    return knownPage(number, written.etag, page);
  } catch (error) {
    if (hasCode(error, 'outcome_unknown') && sent.some(({ uuid }) => uuid !== undefined)) return 'unknown';
    throw error;
  }
}

/** Makes the summary; undefined where it has none to continue, or where pages that it covers were deleted. */
function summaryOf({ key, fold, known, last, sent }: PageWrite): TranscriptPage['summary'] {
  if (fold === undefined || key.subpath !== undefined) return undefined;
  if (last === 'none') return foldLines(fold, { key, lines: sent });
  const { summary, first } = last;
  if (summary === undefined || summary.by !== fold.by || first !== known[0]?.number) return undefined;
  return foldLines(fold, { previous: summary.data, key, lines: sent });
}
