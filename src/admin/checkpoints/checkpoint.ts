import { MemoryError, unlessDamaged } from '../../errors.ts';
import { hashPart } from '../../format/checkpoint-root.ts';
import { toBase64url } from '../../format/encoding.ts';
import { equalBytes, KEY_BYTES } from '../../format/sodium.ts';
import { ID_BYTES, NO_ID } from '../../format/wrap.ts';
import { encodeText } from '../../language/text.ts';
import { ageOf } from '../../store/port.ts';
import { attempts, eachConcurrently, throwing } from '../../tree/concurrency.ts';
import { filesIn, type ListedEntry } from '../../tree/list-directory.ts';
import { pagesBelow } from '../../tree/list-objects.ts';
import { readListed, STAYS_AFTER_MS } from '../../tree/read-file.ts';
import { writeRecord } from '../../tree/records/sealed-record.ts';
import { type CallOptions, openWork, type Tenant, type Work } from '../../tree/tenant.ts';
import { type Finding, weightOf } from '../findings.ts';
import { readKeptFrom } from '../verify/kept-from.ts';
import { verifySince } from '../verify/verify.ts';
import {
  type CheckpointEntry,
  type CheckpointHead,
  encodeEntry,
  encodeHead,
  headId,
  lineOf,
  parseLine,
  partId,
  rootOf,
} from './checkpoint-record.ts';
import { type FindEntry, openEarlier, openEntries } from './earlier-entries.ts';
import { newestNumber, type SinceLine } from './read-checkpoint.ts';

export interface WrittenCheckpoint {
  /** Number and root, to be kept where nobody who writes the store can write. */
  readonly line: string;
  readonly number: number;
  /** 43 characters. */
  readonly root: string;
  readonly files: number;
  /** The time at which it was begun, by the clock of this process. */
  readonly began: Date;
  /** Paths of files that could not be opened, and are not in the checkpoint. */
  readonly unread: readonly string[];
}

export interface CheckpointOptions extends CallOptions {
  /**
   * The line of an earlier checkpoint, or `last` for the newest stored one. The tenant is compared with it first, and
   * no checkpoint is written where that finds an alarm.
   */
  readonly since?: string | undefined;
  /** The days for which the history is kept; the memory's own unless given. */
  readonly historyDays?: number | undefined;
}

/** The answer where no checkpoint was written, as its line would vouch for the state that the alarms report. */
export interface RefusedCheckpoint {
  readonly line: undefined;
  /** All findings since the earlier checkpoint; one of them at least is an alarm. */
  readonly findings: readonly Finding[];
}

export interface NewCheckpoint extends WrittenCheckpoint {
  /** The findings since the earlier checkpoint, none of which is an alarm; empty without `since`. */
  readonly findings: readonly Finding[];
  /**
   * The reason why `verify` with this line cannot tell how a file ended, or what lay between two of its versions: the
   * history is off, or was within the last hour (`history_off`), or is kept for a day or less (`not_kept`). Absent
   * where `verify` can tell.
   */
  readonly untold?: 'history_off' | 'not_kept';
}

export type CheckpointReport = NewCheckpoint | RefusedCheckpoint;

/**
 * Writes a checkpoint, as `writeCheckpoint` does. With `since` it compares first, as `verify` does, and stops at an
 * alarm.
 *
 * @throws MemoryError `invalid_command` for a `since` that is no line; as `writeCheckpoint`.
 */
export async function checkpointTree(
  tenant: Tenant,
  { since, historyDays, signal, onProgress, actor }: CheckpointOptions = {},
): Promise<CheckpointReport> {
  const call = { signal, onProgress, actor };
  const line = since === undefined ? undefined : await lineIn(tenant, call, since);
  const compared = line && (await verifySince(tenant, line, { ...call, historyDays }));
  const findings = compared?.findings.filter((each) => weightOf(each) !== 'settled') ?? [];
  if (findings.some((each) => weightOf(each) === 'alarm')) return { line: undefined, findings };
  const written = await writeCheckpoint(tenant, call, { above: line?.number });
  const { from, otherwise } = await readKeptFrom(await openWritten(tenant, call), historyDays);
  return { ...written, findings, ...(written.began.getTime() < from && { untold: otherwise }) };
}

/** Reads the option `since`; undefined for `last` where no checkpoint is stored. */
async function lineIn(tenant: Tenant, call: CallOptions, since: string): Promise<SinceLine | undefined> {
  if (since !== 'last') return parseLine(since);
  const number = await newestNumber(await openWritten(tenant, call));
  return number === 0 ? undefined : { number };
}

/** The number and the parts of a new checkpoint. */
interface CheckpointWriting {
  /** The new number is larger than this, also where the checkpoint of this number is no longer stored. */
  readonly above?: number | undefined;
  /** The size at which a part ends; 4 MiB unless given. */
  readonly partBytes?: number | undefined;
}

const PART_BYTES = 4_194_304;
/** The most numbers that are tried: processes that write checkpoints at once take one after the other. */
const ATTEMPTS = 64;

/**
 * Writes a checkpoint: for each file the version that it had at some moment between begin and end. It lists the files
 * twice, so that a file which another process renames meanwhile is in it, once or twice. The entry of an object that
 * has not changed is taken from the last checkpoint, or from one that was cut off after it. Two LISTs for each 1,000
 * files, one GET for each file that changed and for each part of those two checkpoints, and a GET and a PUT for each
 * new part.
 *
 * @throws MemoryError `not_found` for a tenant that was never written to; what the store and the keyring throw.
 */
export async function writeCheckpoint(
  tenant: Tenant,
  call: CallOptions = {},
  { above = 0, partBytes = PART_BYTES }: CheckpointWriting = {},
): Promise<WrittenCheckpoint> {
  const work = await openWritten(tenant, call);
  const began = tenant.stamps.now();
  const [run, secret] = [toBase64url(tenant.random(ID_BYTES)), tenant.random(KEY_BYTES)];
  const known = await openEarlier(work);
  const unread = new Set<string>();
  const parts = createParts({ run, secret, partBytes });
  let [files, done] = [0, 0];
  const onFile = (): void => call.onProgress?.({ done: ++done, total: done });
  const take = async (on: Work, listed: readonly ListedEntry[], find: FindEntry): Promise<void> => {
    const found = await versionsOf(on, listed, { find, onFile });
    for (const [{ path }, entry] of found) {
      if (entry === 'unread') unread.add(path);
      else if (entry !== undefined) {
        await parts.add(on, encodeEntry(entry));
        files++;
      }
    }
  };
  for await (const { on, listed } of pagesOfFiles(tenant, call)) await take(on, listed, known.find);
  await parts.end(work);
  const findTaken = openEntries(work, { run, parts: parts.digests.length });
  for await (const { on, listed } of pagesOfFiles(tenant, call)) {
    const later: ListedEntry[] = [];
    for (const file of listed) {
      const isTaken = isOf(on, file, await findTaken(file));
      if (!isTaken && !unread.has(file.path)) later.push(file);
    }
    await take(on, later, async () => undefined);
  }
  const last = await openWritten(tenant, call);
  await parts.end(last);
  const head = {
    files,
    began,
    ended: tenant.stamps.now(),
    run,
    parts: parts.digests.length,
    secret,
    epoch: last.keyring.epoch,
    keepsHistory: last.keyring.keepsHistory,
  };
  const number = await putHead(last, head, Math.max(known.newest, above));
  const root = rootOf({ ...head, number }, parts.digests);
  return { line: lineOf({ number, root }), number, root, files, began: new Date(began), unread: [...unread] };
}

/**
 * Lists the files of the tenant, page by page, each with a fresh keyring: a walk may take longer than one may be held.
 */
async function* pagesOfFiles(
  tenant: Tenant,
  call: CallOptions,
): AsyncGenerator<{ readonly on: Work; readonly listed: readonly ListedEntry[] }> {
  const request = { prefix: tenant.layout.data };
  for await (const { objects } of pagesBelow(await openWritten(tenant, call), request)) {
    const on = await openWritten(tenant, call);
    yield { on, listed: filesIn(on, objects) };
  }
}

/** Opens the work on a tenant. @throws MemoryError `not_found` for a tenant that was never written to. */
async function openWritten(tenant: Tenant, call: CallOptions): Promise<Work> {
  const work = await openWork(tenant, call);
  if (work !== undefined) return work;
  throw new MemoryError('not_found', 'nothing was ever written for this tenant; is its name right?');
}

/** Makes the entry of each file, reading only those whose object has changed. Undefined: the file is gone. */
async function versionsOf(
  work: Work,
  files: readonly ListedEntry[],
  { find, onFile }: { readonly find: FindEntry; readonly onFile: () => void },
): Promise<ReadonlyMap<ListedEntry, CheckpointEntry | 'unread' | undefined>> {
  const known = new Map<ListedEntry, CheckpointEntry | undefined>();
  for (const file of files) known.set(file, await find(file));
  const found = new Map<ListedEntry, CheckpointEntry | 'unread' | undefined>(known);
  const readOne = async (file: ListedEntry): Promise<void> => {
    const before = known.get(file);
    const isSame = before?.note !== 'young' && isOf(work, file, before);
    if (!isSame) found.set(file, await read(work, file));
    onFile();
  };
  await eachConcurrently(work.tenant, files, readOne, ({ size }) => size);
  return found;
}

/**
 * Tells whether an entry is of the object that the listing shows. An older version that was put back may have an entry
 * as well: where this process has seen another version there, the file is read, so that its guard can judge it.
 */
function isOf({ tenant }: Work, file: ListedEntry, entry: CheckpointEntry | undefined): boolean {
  return entry?.etag === file.etag && !tenant.sightings.knowsOther(file);
}

/** Reads a file and makes its entry; undefined where it is gone. */
async function read(work: Work, entry: ListedEntry): Promise<CheckpointEntry | 'unread' | undefined> {
  const file = await unlessDamaged(readListed(work, entry), () => 'unread' as const);
  if (file === undefined || file === 'unread') return file;
  const { bound, mtime, previous, writer, content, stored, origin } = file;
  const isNew = equalBytes(previous, NO_ID) && equalBytes(origin, NO_ID);
  const isYoung = isNew && ageOf(stored) <= STAYS_AFTER_MS;
  return {
    path: entry.path,
    id: toBase64url(file.id),
    bound,
    mtime,
    size: content.length,
    previous: toBase64url(previous),
    writer: toBase64url(writer),
    etag: stored.etag,
    textHash: work.keyring.names.textHash(content),
    note: isYoung ? 'young' : '',
  };
}

/** Gathers lines into parts. */
function createParts({
  run,
  secret,
  partBytes,
}: Pick<CheckpointHead, 'run' | 'secret'> & { readonly partBytes: number }): {
  /** The digests of the parts that are written, in their order. */
  readonly digests: readonly Uint8Array[];
  add(work: Work, line: string): Promise<void>;
  /** Writes the last part, however small. */
  end(work: Work): Promise<void>;
} {
  const digests: Uint8Array[] = [];
  let [lines, bytes]: [string[], number] = [[], 0];
  const flush = async (work: Work): Promise<void> => {
    if (lines.length === 0) return;
    const [part, content] = [digests.length, encodeText(lines.join('\n'))];
    digests.push(hashPart(secret, part, content));
    await create(work, partId(run, part), content);
    [lines, bytes] = [[], 0];
  };
  return {
    digests,
    async add(work, line) {
      lines.push(line);
      bytes += encodeText(line).length + 1;
      if (bytes >= partBytes) await flush(work);
    },
    end: flush,
  };
}

/**
 * Writes the head under the first number that is free. The parts that were written before belong to a checkpoint from
 * here on.
 */
async function putHead(work: Work, head: Omit<CheckpointHead, 'number'>, newest: number): Promise<number> {
  const attempt = async (after: number): Promise<number | 'again'> => {
    const number = newest + after;
    return (await create(work, headId(number), encodeHead({ ...head, number }))) ? number : 'again';
  };
  const overtaken = throwing('version_conflict', 'other processes wrote checkpoints at every attempt');
  return attempts(ATTEMPTS, attempt, overtaken);
}

/** Creates a record of a checkpoint. False: one is there already. */
async function create(work: Work, id: string, content: Uint8Array): Promise<boolean> {
  return 'etag' in (await writeRecord(work, { cls: 'checkpoints', id }, { content, base: undefined }));
}
