import { MemoryError } from '../errors.ts';
import type { ETag, ListedObject } from '../store/port.ts';
import { inTurns } from '../time.ts';
import { eachConcurrently, untilDone } from '../tree/concurrency.ts';
import { listIds } from '../tree/records/list-ids.ts';
import { holdRecord, readRecord } from '../tree/records/sealed-record.ts';
import type { Work } from '../tree/tenant.ts';
import { decodingPage, MOST_PAGE_BYTES, type TranscriptLine, type TranscriptPage } from './page.ts';
import { CLASS, pageId, parsePageId, type TranscriptId, transcriptId } from './session-key.ts';

/*
 * A transcript is a row of pages, numbered from 0 on. Lines go after those of the last page by If-Match, or into a new
 * one after it (If-None-Match) once it is full; a full page stays as it is. One PUT therefore decides every append, and
 * it succeeds only for a writer that knows all lines before it. docs/protocols.md, "Sessions", says why no line is lost.
 */

interface KnownPage {
  readonly number: number;
  readonly etag: ETag;
  readonly uuids: ReadonlySet<string>;
}

/** The pages as a process met them last, ascending. Any of them may have changed since, so the next request asks. */
export type KnownTranscript = readonly KnownPage[];

interface ReadTranscript {
  readonly known: KnownTranscript;
  /** The lines in order, each uuid once. */
  readonly lines: readonly TranscriptLine[];
}

export function isKnown(known: KnownTranscript, { uuid }: TranscriptLine): boolean {
  return uuid !== undefined && known.some(({ uuids }) => uuids.has(uuid));
}

export function knownPage(number: number, etag: ETag, { lines }: Pick<TranscriptPage, 'lines'>): KnownPage {
  return { number, etag, uuids: new Set(lines.flatMap(({ uuid }) => (uuid === undefined ? [] : [uuid]))) };
}

/** A page of a transcript as a listing shows it. */
export interface ListedPage {
  readonly transcript: TranscriptId;
  readonly number: number;
  readonly isMain: boolean;
  readonly object: ListedObject;
}

/** Lists the pages whose ids begin with `part`, by transcript and number. One LIST for each 1,000. */
export async function listPages(work: Work, part: string): Promise<readonly ListedPage[]> {
  return (await listIds(work, CLASS, part)).flatMap(({ id, object }) => {
    const name = parsePageId(id);
    return name === undefined ? [] : [{ ...name, object }];
  });
}

interface ReadPage {
  readonly page: TranscriptPage;
  readonly etag: ETag;
  /** The time at which it was written, by its writer's clock; milliseconds since the epoch. */
  readonly mtime: number;
}

/** Reads a page; undefined when it is missing. One GET. The page is held sealed from then on. */
export async function readPage(
  work: Work,
  { transcript, number }: Pick<ListedPage, 'transcript' | 'number'>,
): Promise<ReadPage | undefined> {
  const name = { cls: CLASS, id: pageId(transcript, number) } as const;
  const record = await readRecord(work, { ...name, maxBytes: MOST_PAGE_BYTES });
  if (record === undefined) return undefined;
  const page = await inTurns(decodingPage(record.content), work.call.signal);
  // A hash that is cut short may stand for two names.
  if (transcriptId(work.keyring.names, page.key) !== transcript) {
    throw new MemoryError('integrity', 'a page of a session is not the one that was asked for');
  }
  holdRecord(work, name, record);
  return { page, etag: record.etag, mtime: record.mtime };
}

/** Reads a whole transcript: one LIST for each 1,000 pages, one GET for each page. */
export async function readTranscript(work: Work, transcript: TranscriptId): Promise<ReadTranscript> {
  const { known, read } = await readChanged(work, transcript, []);
  const pages = known.flatMap(({ number }) => read.get(number)?.page.lines ?? []);
  return { known, lines: newLines(pages) };
}

/**
 * Brings the knowledge of a transcript up to date: a LIST for each 1,000 pages, and a GET for each page that is not the
 * known one.
 */
export async function reviewTranscript(
  work: Work,
  transcript: TranscriptId,
  before: KnownTranscript,
): Promise<KnownTranscript> {
  return (await readChanged(work, transcript, before)).known;
}

async function readChanged(
  work: Work,
  transcript: TranscriptId,
  before: KnownTranscript,
): Promise<{ readonly known: KnownTranscript; readonly read: ReadonlyMap<number, ReadPage> }> {
  return untilDone(work, async () => {
    const listed = await listPages(work, transcript);
    const etags = new Map(before.map(({ number, etag }) => [number, etag]));
    const current = new Map(listed.map(({ number, object }) => [number, object.etag]));
    const kept = before.filter(({ number, etag }) => current.get(number) === etag);
    const changed = listed.filter(({ number, object }) => etags.get(number) !== object.etag);
    const read = new Map<number, ReadPage>();
    const readOne = async (each: ListedPage): Promise<void> => {
      const found = await readPage(work, each);
      if (found !== undefined) read.set(each.number, found);
    };
    await eachConcurrently(work.tenant, changed, readOne, ({ object }) => object.size);
    // Another process deletes the transcript.
    if (read.size < changed.length) return 'again';
    const met = [...read].map(([number, { etag, page }]) => knownPage(number, etag, page));
    return { known: [...kept, ...met].sort((one, other) => one.number - other.number), read };
  });
}

/** Leaves out the lines whose uuid has come before. */
export function newLines(lines: readonly TranscriptLine[]): readonly TranscriptLine[] {
  const uuids = new Set<string>();
  return lines.filter(({ uuid }) => {
    if (uuid === undefined) return true;
    const isNew = !uuids.has(uuid);
    uuids.add(uuid);
    return isNew;
  });
}
