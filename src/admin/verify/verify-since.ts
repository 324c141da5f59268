import { toBase64url } from '../../format/encoding.ts';
import type { MemoryPath } from '../../language/path.ts';
import type { ETag } from '../../store/port.ts';
import { inTurns } from '../../time.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import type { Work } from '../../tree/tenant.ts';
import { type CheckpointEntry, NO_VERSION } from '../checkpoints/checkpoint-record.ts';
import { readCheckpoint, type SinceLine } from '../checkpoints/read-checkpoint.ts';
import { type Finding, findingOf, type SinceFinding, weightOf } from '../findings.ts';
import {
  type FileRecord,
  type Inspection,
  inspectRecord,
  type ListedRecord,
  listFileRecords,
} from '../scan.ts';
import { judgeSince } from './judge-since.ts';
import { readKeptFrom } from './kept-from.ts';
import type { SeenHistory } from './verify-history.ts';

export interface SinceReport {
  /** The number of the checkpoint that was compared with. */
  readonly number: number;
  /** The number of files in the checkpoint. */
  readonly files: number;
  /** The time at which it was begun. Absent where the checkpoint cannot be read. */
  readonly began?: Date;
}

/** Watches a scan of all objects of a tenant, and compares it with a checkpoint. */
export interface SinceWatch {
  /** Takes the scan's inspection of one object. */
  saw(record: ListedRecord, inspection: Inspection): void;
  /**
   * Compares once the scan is over. Where it finds something, it lists the tenant once more, and again while files go
   * meanwhile or two looks find different faults of a file, and reads the files that have changed. A change by another
   * process during the scan is therefore no finding; a file with a fault at each look is one.
   */
  findings(
    work: Work,
    options: {
      /** The history as the same scan has watched it. */
      readonly history: Omit<SeenHistory, 'findings'>;
      readonly historyDays: number | undefined;
      readonly renaming: MemoryPath | undefined;
    },
  ): Promise<readonly Finding[]>;
  readonly report: SinceReport;
}

/** An empty checkpoint in place of one that cannot be read: files whose binding had ended are found without it. */
const NOTHING = { entries: [] as readonly CheckpointEntry[], head: { began: 0, ended: 0, epoch: 0 } };

/**
 * Reads the checkpoint of a line, or where the root is unknown the one of its number: a GET, and one for each part. All
 * its entries stay in memory during the comparison.
 *
 * @throws MemoryError the errors of the store and the keyring.
 */
export async function watchSince(work: Work, line: SinceLine): Promise<SinceWatch> {
  const { number } = line;
  const checkpoint = await readCheckpoint(work, line);
  const fault = typeof checkpoint === 'string' ? checkpoint : undefined;
  const { head, entries } = typeof checkpoint === 'string' ? NOTHING : checkpoint;
  const texts = new Map(entries.map(({ id, textHash }) => [id, textHash]));
  const read = new Map<MemoryPath, ETag>();
  const exchanged = new Set<MemoryPath>();
  /** Files that could not be opened. The verification itself tells of those in the scan. */
  const unopened = new Set<MemoryPath>();

  const sawFile = (path: MemoryPath, inspection: Inspection): void => {
    if (inspection.state !== 'whole') {
      unopened.add(path);
      exchanged.delete(path);
      return;
    }
    const { version } = inspection;
    read.set(path, version.stored.etag);
    // An attacker who once held the data key can exchange the text under the same header.
    const expected = texts.get(toBase64url(version.id));
    const isOther = expected !== undefined && expected !== work.keyring.names.textHash(version.content);
    if (isOther) exchanged.add(path);
    else exchanged.delete(path);
  };

  return {
    saw(record, inspection) {
      if (record.cls === 'data') sawFile(record.path, inspection);
    },
    report: {
      number,
      files: entries.length,
      ...(fault === undefined && { began: new Date(head.began) }),
    },
    async findings(now, { history, historyDays, renaming }) {
      const { collector } = history;
      for (const { previous, writer, ...entry } of entries)
        collector.addSeen({ ...entry, previous: unlessNone(previous), writer: unlessNone(writer) });
      const judge = async (): Promise<readonly SinceFinding[]> => {
        const kept = await readKeptFrom(now, historyDays);
        const past = await collector.past();
        return inTurns(judgeSince({ past, entries, facts: head, kept, renaming }), now.call.signal);
      };
      let found = await judge();
      const late: Finding[] = [];
      for (let look = 1, isLast = false; look <= LOOKS && !isLast; look++) {
        if (found.length === 0 && exchanged.size === 0) break;
        const take = (record: FileRecord, inspection: Inspection): void => {
          const finding = findingOf(record, inspection);
          if (finding !== undefined && !unopened.has(record.path)) late.push(finding);
          history.saw(record, inspection);
          sawFile(record.path, inspection);
        };
        const forget = (path: MemoryPath): void => {
          read.delete(path);
          collector.removeFile(path);
        };
        const isWhole = await lookAgain(now, { read, take, forget });
        for (const finding of await history.seeAgain(now)) late.push(finding);
        const before = { names: new Set(found.map(nameOf)), paths: new Set(found.map(({ path }) => path)) };
        // The file has a fault at each look, though an attacker may make it another one each time.
        found = (await judge()).filter(({ path }) => before.paths.has(path));
        isLast = isWhole && found.every((finding) => before.names.has(nameOf(finding)));
      }
      const { epoch } = now.keyring;
      const first: Finding[] = [];
      if (fault !== undefined) first.push({ kind: 'checkpoint', state: fault, number });
      if (epoch < head.epoch) first.push({ kind: 'keyring', expected: head.epoch, found: epoch });
      for (const path of exchanged) first.push({ kind: 'damaged', path });
      return [
        ...first,
        ...late,
        ...found.filter((each) => fault === undefined || weightOf(each) !== 'untold'),
      ];
    },
  };
}

/** The most times that the tenant is listed once more while other processes rename or delete files. */
const LOOKS = 8;

/**
 * Reads files that are new or have changed since the scan, and forgets those that are gone. False where a file went
 * meanwhile, and a rename may have taken it to a place that the listing had passed already.
 */
async function lookAgain(
  work: Work,
  {
    read,
    take,
    forget,
  }: {
    readonly read: ReadonlyMap<MemoryPath, ETag>;
    readonly take: (record: FileRecord, inspection: Inspection) => void;
    readonly forget: (path: MemoryPath) => void;
  },
): Promise<boolean> {
  const { records } = await listFileRecords(work);
  const there = new Set(records.map(({ path }) => path));
  const gone = [...read.keys()].filter((path) => !there.has(path));
  const changed = records.filter(({ path, object }) => read.get(path) !== object.etag);
  const look = async (record: FileRecord): Promise<void> => {
    const inspection = await inspectRecord(work, record);
    if (inspection === undefined) gone.push(record.path);
    else take(record, inspection);
  };
  await eachConcurrently(work.tenant, changed, look, ({ object }) => object.size);
  for (const path of gone) forget(path);
  return gone.length === 0;
}

function unlessNone(text: string): string | undefined {
  return text === NO_VERSION ? undefined : text;
}

/** Names a finding so that two looks can be compared. */
function nameOf({ state, path, found }: SinceFinding): string {
  return `${state} ${path} ${found?.version ?? ''} ${found?.bound ?? ''}`;
}
