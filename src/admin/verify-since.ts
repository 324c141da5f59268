import { toBase64url } from '../format/encoding.ts';
import { classLogicalName, type LogicalName } from '../format/object-keys.ts';
import type { Collector } from '../history/past/collect.ts';
import type { MemoryPath } from '../language/path.ts';
import type { ETag } from '../store/port.ts';
import { inTurns } from '../time.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { type Finding, findingOf, isUntold, type SinceFinding } from '../tree/findings.ts';
import { listIds } from '../tree/list-ids.ts';
import { type Inspection, inspectRecord, type ListedRecord, listFileRecords } from '../tree/scan.ts';
import type { Work } from '../tree/session.ts';
import { type CheckpointEntry, type CheckpointLine, NO_VERSION } from './checkpoint-record.ts';
import { readKeptFrom } from './kept-from.ts';
import { readCheckpoint } from './read-checkpoint.ts';
import { judgeSince } from './since/judge.ts';
import type { SeenHistory } from './verify-history.ts';

export interface SinceReport {
  /** The number of the checkpoint that was compared with. */
  readonly number: number;
  /** The number of files in the checkpoint. */
  readonly files: number;
  /** The time at which it was begun. Absent where the checkpoint cannot be read. */
  readonly began?: Date;
}

/** The line of a checkpoint to compare with; without a root the one that is stored under the number. */
export type SinceLine = Pick<CheckpointLine, 'number'> & { readonly root?: string };

/** Watches a scan of all that a tenant has, and compares it with a checkpoint. */
export interface SinceWatch {
  /** Takes what the scan has read of one object. */
  saw(record: ListedRecord, inspection: Inspection): void;
  /**
   * Compares once the scan is over. Where it finds something, it lists the tenant once more, and again while files go meanwhile
   * or two looks find different things wrong with a file, and reads what has changed. So a change by another process during the
   * scan is no finding, and a file with which something is wrong at each look is one.
   */
  findings(
    work: Work,
    options: {
      /** The history as the same scan has watched it. */
      readonly history: Pick<SeenHistory, 'collector' | 'saw'>;
      readonly historyDays: number | undefined;
      readonly renaming: MemoryPath | undefined;
    },
  ): Promise<readonly Finding[]>;
  readonly report: SinceReport;
}

/** An empty checkpoint, which stands for one that cannot be read: files whose binding had ended are found without it. */
const NOTHING = { entries: [] as readonly CheckpointEntry[], head: { began: 0, ended: 0, epoch: 0 } };

/**
 * Reads the checkpoint of a line, or where the root is unknown the one of its number: a GET, and one for each part. All its
 * entries stay in memory during the comparison.
 *
 * @throws MemoryError what the store and the keyring throw.
 */
export async function watchSince(work: Work, line: SinceLine): Promise<SinceWatch> {
  const { number } = line;
  const checkpoint = await readCheckpoint(work, line);
  const fault = typeof checkpoint === 'string' ? checkpoint : undefined;
  const { head, entries } = typeof checkpoint === 'string' ? NOTHING : checkpoint;
  const texts = new Map(entries.map(({ id, textHash }) => [id, textHash]));
  const read = new Map<MemoryPath, ETag>();
  const records = new Set<LogicalName>();
  const exchanged = new Set<MemoryPath>();
  /** Files that could not be opened. The verification itself tells of those that the scan met. */
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
  const saw = (record: ListedRecord, inspection: Inspection): void => {
    if (record.cls === 'data') sawFile(record.path, inspection);
    if (record.cls === 'history') records.add(record.name);
  };

  return {
    saw,
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
        const take = (record: ListedRecord, inspection: Inspection): void => {
          const finding = findingOf(record, inspection);
          const isTold = record.cls === 'data' && unopened.has(record.path);
          if (finding !== undefined && !isTold) late.push(finding);
          history.saw(record, inspection);
          saw(record, inspection);
        };
        const isWhole = await lookAgain(now, { collector, take, read, records });
        const before = { names: new Set(found.map(nameOf)), paths: new Set(found.map(({ path }) => path)) };
        // Something is wrong with the file at each look, though an attacker may make it another thing each time.
        found = (await judge()).filter(({ path }) => before.paths.has(path));
        isLast = isWhole && found.every((finding) => before.names.has(nameOf(finding)));
      }
      if (fault !== undefined)
        return [
          { kind: 'checkpoint', state: fault, number },
          ...late,
          ...found.filter((each) => !isUntold(each)),
        ];
      const damaged = [...exchanged].map((path) => ({ kind: 'damaged', path }) as const);
      const { epoch } = now.keyring;
      const isOld = epoch < head.epoch;
      const keyring = { kind: 'keyring', expected: head.epoch, found: epoch } as const;
      return [...(isOld ? [keyring] : []), ...damaged, ...late, ...found];
    },
  };
}

/** The most often that the tenant is listed once more, while other processes rename or delete files. */
const LOOKS = 8;

/**
 * Reads files and records that are new or have changed since the scan, and forgets those that are gone: files first, then records.
 * False where a file went meanwhile, and a rename may have brought it behind the listing.
 */
async function lookAgain(
  work: Work,
  {
    collector,
    take,
    read,
    records,
  }: {
    readonly collector: Collector;
    readonly take: SinceWatch['saw'];
    readonly read: Map<MemoryPath, ETag>;
    readonly records: ReadonlySet<LogicalName>;
  },
): Promise<boolean> {
  let isWhole = true;
  const forget = (path: MemoryPath): void => {
    isWhole = false;
    read.delete(path);
    collector.removeFile(path);
  };
  const look = async (record: ListedRecord): Promise<void> => {
    const inspection = await inspectRecord(work, record);
    if (inspection !== undefined) take(record, inspection);
    else if (record.cls === 'data') forget(record.path);
  };
  const files = (await listFileRecords(work)).records;
  const there = new Set(files.map(({ path }) => path));
  for (const path of read.keys()) if (!there.has(path)) forget(path);
  const changed = files.filter(({ path, object }) => read.get(path) !== object.etag);
  await eachConcurrently(work.session, changed, look, ({ object }) => object.size);
  const named = (await listIds(work, 'history')).flatMap(({ id, object }) => {
    const record = { cls: 'history', name: classLogicalName('history', id), object } as const;
    return records.has(record.name) ? [] : [record];
  });
  await eachConcurrently(work.session, named, look, ({ object }) => object.size);
  return isWhole;
}

function unlessNone(text: string): string | undefined {
  return text === NO_VERSION ? undefined : text;
}

/** Names a finding so that two looks can be compared. */
function nameOf({ state, path, found }: SinceFinding): string {
  return `${state} ${path} ${found?.version ?? ''} ${found?.bound ?? ''}`;
}
