import { classLogicalName, type LogicalName, type ObjectKey } from '../../format/object-keys.ts';
import { createCollector } from '../../history/past/collect.ts';
import { nameDamaged } from '../../history/past/damaged-records.ts';
import type { Past } from '../../history/past/past.ts';
import { isHistoryName } from '../../history/save/history-record.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { listIds } from '../../tree/records/list-ids.ts';
import { identityOf, type VersionIdentity } from '../../tree/sightings.ts';
import type { Work } from '../../tree/tenant.ts';
import { type Finding, findingOf, type HistoryFinding } from '../findings.ts';
import { type Inspection, inspectRecord, type ListedRecord } from '../scan.ts';
import { readKeptFrom } from './kept-from.ts';

/** The history of files, which a verification watches while it reads everything. */
export interface SeenHistory {
  /** The collector of all files and records of the history that the verification read. */
  readonly collector: ReturnType<typeof createCollector>;
  /** Takes the scan's inspection of one object. True: `findings` judges it. */
  saw(record: ListedRecord, inspection: Inspection): boolean;
  /**
   * Lists the history again, and takes the records that are new. Answers the damage among those, except the damage that
   * `findings` tells.
   */
  seeAgain(work: Work): Promise<readonly Finding[]>;
  /**
   * Finds the damage of the past. Where a version is missing, it sees the history again, so that a version that was
   * replaced meanwhile is no finding. Versions that were replaced more than `historyDays` ago may be absent.
   */
  findings(
    work: Work,
    retention: { readonly historyDays: number | undefined },
  ): Promise<readonly HistoryFinding[]>;
}

const RECORDS = '/history/';

export function watchHistory(): SeenHistory {
  const collector = createCollector();
  const identities = new Map<VersionIdentity, LogicalName>();
  const damaged = new Map<LogicalName, ObjectKey>();
  const seen = new Set<LogicalName>();

  const saw = (record: ListedRecord, inspection: Inspection): boolean => {
    const { name, cls } = record;
    if (cls === 'data') {
      if (inspection.state === 'whole') collector.addFile(record.path, inspection.version);
      else collector.addDamagedFile(record.path);
      return false;
    }
    if (cls !== 'history') return false;
    seen.add(name);
    const isWhole =
      inspection.state === 'whole' &&
      collector.addRecord(name.slice(RECORDS.length), inspection.version.content);
    if (isWhole) identities.set(identityOf(inspection.version.stored.body), name);
    else if (isRefused(inspection) && isHistoryName(name)) damaged.set(name, record.object.key);
    return damaged.has(name);
  };
  const seeAgain = async (work: Work): Promise<readonly Finding[]> => {
    const found: Finding[] = [];
    const seeOne = async (record: ListedRecord): Promise<void> => {
      const inspection = await inspectRecord(work, record);
      if (inspection === undefined || saw(record, inspection)) return;
      const finding = findingOf(record, inspection);
      if (finding !== undefined) found.push(finding);
    };
    const listed = (await listIds(work, 'history')).map(
      ({ id, object }) => ({ cls: 'history', name: classLogicalName('history', id), object }) as const,
    );
    const late = listed.filter(({ name }) => !seen.has(name));
    await eachConcurrently(work.tenant, late, seeOne, ({ object }) => object.size);
    return found;
  };

  return {
    collector,
    saw,
    seeAgain,
    async findings(work, { historyDays }) {
      let past = await collector.past();
      if (orphansOf(past).length > 0) {
        await seeAgain(work);
        past = await collector.past();
      }
      const missing = await findMissing(work, past, historyDays);
      const lost = missing.map(({ expected }) => expected);
      const wrong = await nameDamaged(work, { damaged, identities, past, missing: lost });
      const named = new Set(wrong.map(({ expected }) => expected));
      return [
        ...missing.filter(({ expected }) => !named.has(expected)),
        ...wrong.map((each) => ({ kind: 'history', ...each }) as const),
        ...unredacted(past),
        ...doubled(past),
      ];
    },
  };
}

/** Tells whether a record is damaged, or opens and is malformed. */
function isRefused({ state }: Inspection): boolean {
  return state === 'damaged' || state === 'whole';
}

/** Finds versions whose predecessor is lost: files and records lack it. A checkpoint alone keeps no version. */
function orphansOf({ versions }: Past) {
  const kept = [...versions.values()].filter(({ text }) => text !== 'gone');
  const ids = new Set(kept.map(({ id }) => id));
  return kept.flatMap(({ id, path, mtime, previous }) =>
    previous === undefined || ids.has(previous) ? [] : [{ id, path, mtime, previous }],
  );
}

/** Finds versions whose predecessor is lost though the history ought to have kept it. */
async function findMissing(
  work: Work,
  past: Past,
  historyDays: number | undefined,
): Promise<readonly HistoryFinding[]> {
  const orphans = orphansOf(past);
  if (orphans.length === 0) return [];
  const { from } = await readKeptFrom(work, historyDays);
  const lost = orphans.filter(({ mtime }) => mtime >= from);
  return lost.map(({ id: replacedBy, path, previous: expected }) => {
    return { kind: 'history', state: 'missing', path, expected, replacedBy };
  });
}

/** Finds records that still have a text which another record of the same version says was taken out. */
function unredacted(past: Past): readonly HistoryFinding[] {
  return [...past.versions.values()].flatMap(({ id }) => {
    const all = past.bindings(id).flatMap(({ path, saved }) => (saved ? [{ path, ...saved }] : []));
    const left = all.filter(({ at }) => at !== undefined);
    if (left.length === all.length) return [];
    return left.map(({ path, record }) => ({
      ...({ kind: 'history', state: 'unredacted', path, expected: id } as const),
      name: classLogicalName('history', record),
    }));
  });
}

/** Finds ids that two different versions share. */
function doubled({ versions, damaged }: Past): readonly HistoryFinding[] {
  return [...damaged.versions].flatMap((id): readonly HistoryFinding[] => {
    const version = versions.get(id);
    return version === undefined
      ? []
      : [{ kind: 'history', state: 'doubled', path: version.path, expected: id }];
  });
}
