import { hasReason, isDamaged } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import { readRecords, textHashOf } from '../history/read-records.ts';
import { MEMORY_ROOT, type MemoryPath, rebase } from '../language/path.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import type { Finding, SinceFinding } from '../tree/findings.ts';
import { type ListedEntry, listDirectory } from '../tree/list-directory.ts';
import { readListed } from '../tree/read-file.ts';
import type { Work } from '../tree/session.ts';
import { acceptedBy } from './acceptance.ts';
import {
  type CheckpointEntry,
  type CheckpointLine,
  parseLine,
  rootOf,
  type VersionFacts,
} from './checkpoint-record.ts';
import type { Held } from './comparison.ts';
import type { Leave, ReadVersion } from './evidence.ts';
import { judgeSince } from './judge-since.ts';
import { readKeptFrom } from './kept-from.ts';
import { type Checkpoint, type CheckpointFault, readCheckpoint } from './read-checkpoint.ts';

export interface SinceOptions {
  /** The line of a checkpoint, as it was kept outside of the store. */
  readonly line: string;
  /** For how long the history is kept. Absent: for good. */
  readonly historyDays?: number | undefined;
}

export interface SinceReport {
  /** Of the checkpoint that was compared with. */
  readonly number: number;
  /** Files in it. */
  readonly files: number;
  /** When it was begun. Absent where it cannot be read. */
  readonly began?: Date;
  /** Numbers of later checkpoints that accepted what was found since the one of the line, the last of which was compared with. */
  readonly accepted: readonly number[];
  readonly findings: readonly Finding[];
}

interface SinceComparison {
  readonly report: SinceReport;
  /** Of the checkpoint that was compared with; none where it cannot be read. */
  readonly entries: readonly CheckpointEntry[];
}

/**
 * Holds what the tenant has now to a checkpoint. One GET for each file, each record of the history and each part of the
 * checkpoint; twice, where something is wrong, so that what other processes did meanwhile is not taken for it. All versions are in
 * memory.
 *
 * @throws MemoryError `invalid_command` for what is no line; what the store and the keyring throw.
 */
export async function verifySince(work: Work, { line, historyDays }: SinceOptions): Promise<SinceComparison> {
  const { checkpoint, number, accepted } = await follow(work, parseLine(line));
  const isRead = typeof checkpoint !== 'string';
  const { head, leaves } = isRead ? checkpoint : { head: undefined, leaves: [] };
  const entries = leaves.map(({ entry }) => entry);
  const judge = async (): Promise<readonly SinceFinding[]> => {
    const held = await readHeld(work);
    const kept = await readKeptFrom(work, historyDays);
    return judgeSince({ held, entries, facts: head ?? { began: 0, ended: 0 }, kept });
  };
  const first = await judge();
  const second = new Set(first.length === 0 ? [] : (await judge()).map(nameOf));
  const findings: Finding[] = first.filter((finding) => second.has(nameOf(finding)));
  if (head === undefined) {
    // Without it nothing is compared: what the history says by itself is left.
    const told = findings.filter((finding) => finding.kind !== 'since' || finding.state !== 'untold');
    const state = checkpoint as CheckpointFault;
    return {
      entries,
      report: { number, files: 0, accepted, findings: [{ kind: 'checkpoint', state, number }, ...told] },
    };
  }
  const { epoch } = work.keyring;
  if (epoch < head.epoch) findings.push({ kind: 'keyring', expected: head.epoch, found: epoch });
  return {
    entries,
    report: { number, files: head.files, began: new Date(head.began), accepted, findings },
  };
}

/** The checkpoint of a line, or the last one that accepted what had been found since it. */
async function follow(
  work: Work,
  line: CheckpointLine,
): Promise<{
  readonly checkpoint: Checkpoint | CheckpointFault;
  readonly number: number;
  readonly accepted: readonly number[];
}> {
  const accepted: number[] = [];
  let [checkpoint, at] = [await readCheckpoint(work, line), line];
  for (;;) {
    const number = await acceptedBy(work, at);
    if (number === undefined) break;
    const later = await readCheckpoint(work, { number });
    if (typeof later === 'string') break;
    accepted.push(number);
    [checkpoint, at] = [later, { number, root: rootOf(later.head) }];
  }
  return { checkpoint, number: at.number, accepted };
}

/** The files first, so that what replaces one meanwhile is found in the history. */
async function readHeld(work: Work): Promise<Held> {
  const files: ReadVersion[] = [];
  const damaged = new Set<MemoryPath>();
  const listed = await listDirectory(work, MEMORY_ROOT, { concurrent: true });
  const readOne = async (entry: ListedEntry): Promise<void> => {
    const { path } = entry;
    try {
      const file = await readListed(work, entry);
      if (file === undefined) return;
      const { content } = file;
      files.push({ ...factsOf({ ...file, path }), size: content.length, textHash: textHashOf(content) });
    } catch (error) {
      if (!isDamaged(error) && !hasReason(error, 'unknown_key')) throw error;
      damaged.add(path);
    }
  };
  await eachConcurrently(work.session, listed.files, readOne, ({ size }) => size);
  const { versions, events } = await readRecords(work);
  const leaves = events.flatMap((event): readonly Leave[] =>
    event.files.map(([from, contentId]) => ({
      ...{ version: toBase64url(contentId), from, at: event.at },
      to: event.kind === 'moved' ? rebase(from, event.from, event.to) : undefined,
      isOfDirectory: event.kind === 'moved' && event.from !== from,
    })),
  );
  const saved = versions.map((version) => ({
    ...{ ...factsOf(version), size: version.size },
    ...{ textHash: version.textHash, savedAt: version.savedAt },
  }));
  return { files, saved, leaves, damaged };
}

function factsOf(version: {
  readonly path: MemoryPath;
  readonly contentId: Uint8Array;
  readonly bound: bigint;
  readonly mtime: number;
  readonly previous: Uint8Array;
  readonly writer: Uint8Array;
}): Omit<VersionFacts, 'size'> {
  const { path, contentId, bound, mtime, previous, writer } = version;
  const ids = { id: toBase64url(contentId), previous: toBase64url(previous), writer: toBase64url(writer) };
  return { path, bound, mtime, ...ids };
}

/** The same in two looks. */
function nameOf({ state, path, found }: SinceFinding): string {
  return `${state} ${path} ${found?.version ?? ''} ${found?.bound ?? ''}`;
}
