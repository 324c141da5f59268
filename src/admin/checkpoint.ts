import { isDamaged, MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import { equalBytes, KEY_BYTES } from '../format/sodium.ts';
import { ID_BYTES, NO_ID } from '../format/wrap.ts';
import { sealingOf } from '../history/sealed-again.ts';
import { MEMORY_ROOT } from '../language/path.ts';
import { ageOf } from '../store/port.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { decodeEntry, type ListedEntry } from '../tree/list-directory.ts';
import { pagesBelow } from '../tree/list-objects.ts';
import { readListed, SETTLED_MS } from '../tree/read-file.ts';
import { writeRecord } from '../tree/sealed-record.ts';
import { type Call, openWork, type Session, type Work } from '../tree/session.ts';
import {
  type CheckpointEntry,
  type CheckpointHead,
  createEntryTree,
  encodeEntry,
  encodeHead,
  headId,
  lineOf,
  partId,
  rootOf,
} from './checkpoint-record.ts';
import { type LastCheckpoint, openLastCheckpoint } from './last-checkpoint.ts';
import { newestNumber } from './read-checkpoint.ts';

export interface WrittenCheckpoint {
  /** Number and root: to be kept where who writes the store cannot write. */
  readonly line: string;
  readonly number: number;
  /** 43 characters. */
  readonly root: string;
  readonly files: number;
  /** Paths of files that could not be opened, and so are not in it. */
  readonly unread: readonly string[];
}

/** What a new checkpoint says of the findings that led to it, and how it is stored. */
interface CheckpointWriting {
  readonly accepts?: string | undefined;
  /** The new number is larger, also where none is stored any more that is as large. */
  readonly above?: number | undefined;
  /** Whether what the history says against a version is on purpose. */
  readonly isAccepted?: ((entry: CheckpointEntry) => boolean) | undefined;
  /** A record of entries ends with the one that reaches so many bytes; 4 MiB unless given. */
  readonly partBytes?: number | undefined;
}

const PART_BYTES = 4_194_304;
/** Processes that write checkpoints at once take numbers one after the other. */
const ATTEMPTS = 64;

/**
 * Writes a checkpoint: for each file the version that it had at some moment between begin and end. A file that is renamed
 * meanwhile may be in it twice or not at all. What the last checkpoint says of an object that has not changed since is taken
 * from there: one LIST for each 1,000 files, one GET for each that changed, one for each part of the last checkpoint.
 *
 * @throws MemoryError `not_found` for a tenant that was never written to; what the store and the keyring throw.
 */
export async function writeCheckpoint(
  session: Session,
  call: Call = {},
  { accepts, above = 0, isAccepted = () => false, partBytes = PART_BYTES }: CheckpointWriting = {},
): Promise<WrittenCheckpoint> {
  let work = await openWritten(session, call);
  const began = Math.floor(session.clock());
  const [run, secret] = [toBase64url(session.random(ID_BYTES)), session.random(KEY_BYTES)];
  const newest = await newestNumber(work);
  const last = openLastCheckpoint(work, newest);
  const tree = createEntryTree(secret);
  const unread: string[] = [];
  const parts = createParts({ run, partBytes });
  let done = 0;
  const onFile = (): void => call.onProgress?.({ done: ++done, total: done });
  for await (const { objects } of pagesBelow(work, { prefix: session.layout.data })) {
    // From the cache within its time to live: a walk may take longer than a keyring may be held.
    work = await openWritten(session, call);
    const files = objects.flatMap((object) => {
      const entry = decodeEntry(work, { directory: MEMORY_ROOT, prefix: session.layout.data, object });
      return entry === undefined ? [] : [entry];
    });
    const found = await versionsOf(work, files, { last, onFile });
    for (const [index, entry] of found.entries()) {
      if (entry === 'unread') unread.push(files[index]?.path ?? '');
      if (typeof entry !== 'object') continue;
      const line = encodeEntry(isAccepted(entry) ? { ...entry, note: 'accepted' } : entry);
      tree.add(line);
      await parts.add(work, line);
    }
  }
  const written = await parts.end(work);
  const head = {
    ...{ files: tree.files(), tree: tree.tree(), began, ended: Math.floor(session.clock()) },
    ...{ accepts, run, parts: written, secret },
    ...{ epoch: work.keyring.epoch, keepsHistory: work.keyring.keepsHistory },
  };
  const { number, root } = await putHead(await openWritten(session, call), head, Math.max(newest, above));
  return { line: lineOf({ number, root }), number, root, files: head.files, unread };
}

/** @throws MemoryError `not_found` for a tenant that was never written to. */
export async function openWritten(session: Session, call: Call): Promise<Work> {
  const work = await openWork(session, call);
  if (work !== undefined) return work;
  throw new MemoryError('not_found', 'nothing was ever written for this tenant; is its name right?');
}

/**
 * What each file has now: what the last checkpoint says where the object has not changed since, and what is read otherwise.
 * Undefined: it is gone.
 */
async function versionsOf(
  work: Work,
  files: readonly ListedEntry[],
  { last, onFile }: { readonly last: LastCheckpoint; readonly onFile: () => void },
): Promise<readonly (CheckpointEntry | 'unread' | undefined)[]> {
  const known: (CheckpointEntry | undefined)[] = [];
  for (const file of files) known.push(await last.find(file));
  const found: (CheckpointEntry | 'unread' | undefined)[] = [];
  const readOne = async (index: number): Promise<void> => {
    const [file, before] = [files[index], known[index]];
    if (file === undefined) return;
    const isSame = before?.etag === file.etag && before.note !== 'young';
    found[index] = isSame ? before : await read(work, file, before);
    onFile();
  };
  await eachConcurrently(work.session, [...files.keys()], readOne, (index) => files[index]?.size ?? 0);
  return found;
}

/** Undefined: it is gone. */
async function read(
  work: Work,
  entry: ListedEntry,
  last: CheckpointEntry | undefined,
): Promise<CheckpointEntry | 'unread' | undefined> {
  try {
    const file = await readListed(work, entry);
    if (file === undefined) return undefined;
    const { contentId, bound, mtime, previous, writer, content, stored, origin } = file;
    const id = toBase64url(contentId);
    const isNew = equalBytes(previous, NO_ID) && equalBytes(origin, NO_ID);
    const isYoung = isNew && ageOf(stored) <= SETTLED_MS;
    const ids = { previous: toBase64url(previous), writer: toBase64url(writer) };
    const facts = { path: entry.path, id, bound, mtime, size: content.length, ...ids };
    // Or what a migration of keys has made of it.
    const isSame = last !== undefined && (last.id === id || sealingOf(last) === sealingOf(facts));
    const isAccepted = isSame && last.note === 'accepted';
    return { ...facts, etag: stored.etag, note: isAccepted ? 'accepted' : isYoung ? 'young' : '' };
  } catch (error) {
    if (!isDamaged(error)) throw error;
    return 'unread';
  }
}

/** Gathers lines into records of entries. */
function createParts({ run, partBytes }: { readonly run: string; readonly partBytes: number }): {
  add(work: Work, line: Uint8Array): Promise<void>;
  /** How many records there are, once the last one is written. */
  end(work: Work): Promise<number>;
} {
  let [lines, bytes, parts]: [Uint8Array[], number, number] = [[], 0, 0];
  const flush = async (work: Work): Promise<void> => {
    if (lines.length === 0) return;
    await create(work, partId(run, parts++), joined(lines));
    [lines, bytes] = [[], 0];
  };
  return {
    async add(work, line) {
      lines.push(line);
      bytes += line.length + 1;
      if (bytes >= partBytes) await flush(work);
    },
    async end(work) {
      await flush(work);
      return parts;
    },
  };
}

function joined(lines: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(lines.reduce((sum, line) => sum + line.length + 1, -1));
  let at = 0;
  for (const line of lines) {
    if (at > 0) bytes[at - 1] = NEW_LINE;
    bytes.set(line, at);
    at += line.length + 1;
  }
  return bytes;
}

const NEW_LINE = 0x0a;

/** Takes the first number that is free. What was written before is the checkpoint's own from here on. */
async function putHead(
  work: Work,
  head: Omit<CheckpointHead, 'number'>,
  newest: number,
): Promise<{ readonly number: number; readonly root: string }> {
  for (let number = newest + 1; number <= newest + ATTEMPTS; number++) {
    const numbered = { ...head, number };
    if (await create(work, headId(number), encodeHead(numbered))) return { number, root: rootOf(numbered) };
  }
  throw new MemoryError('version_conflict', 'other processes wrote checkpoints at every attempt');
}

/** False: one is there already. */
async function create(work: Work, id: string, content: Uint8Array): Promise<boolean> {
  return 'etag' in (await writeRecord(work, { cls: 'checkpoints', id }, { content, base: undefined }));
}
