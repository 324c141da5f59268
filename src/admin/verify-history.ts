import { toBase64url } from '../format/encoding.ts';
import { classLogicalName, type LogicalName } from '../format/object-keys.ts';
import { NO_ID } from '../format/wrap.ts';
import { decodeHistoryRecord, isHistoryName } from '../history/history-record.ts';
import { listIds } from '../history/read-records.ts';
import { MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import type { HistoryFinding } from '../tree/findings.ts';
import { type Inspection, inspectRecord, type ListedRecord } from '../tree/scan.ts';
import type { Work } from '../tree/session.ts';
import { identityOf, type VersionIdentity } from '../tree/version-history.ts';
import { acceptedMissing } from './acceptance.ts';
import { nameDamaged, type SeenRecord, type SeenVersion } from './damaged-records.ts';
import { readKeptFrom } from './kept-from.ts';

interface Retention {
  readonly historyDays: number | undefined;
}

/** What a verification sees of the versions of files while it reads everything. */
export interface SeenHistory {
  /** True: what is wrong with that object is told by `findings`. */
  saw(record: ListedRecord, inspection: Inspection): boolean;
  /** Every version that was seen, those that files have now among them, by id. */
  readonly versions: ReadonlyMap<string, SeenVersion>;
  /**
   * What is wrong with the chain of versions. Where something is missing the history is listed once more, so that what was
   * replaced meanwhile is no finding. What was replaced more than `historyDays` ago need not be there.
   */
  findings(work: Work, retention: Retention): Promise<readonly HistoryFinding[]>;
}

const NO_VERSION = toBase64url(NO_ID);

export function watchHistory(): SeenHistory {
  const versions = new Map<string, SeenVersion>();
  const records = new Map<LogicalName, SeenRecord>();
  const identities = new Map<VersionIdentity, LogicalName>();
  const paths = new Set<MemoryPath>([MEMORY_ROOT]);
  const damaged = new Map<LogicalName, ListedRecord>();

  const saw = (record: ListedRecord, inspection: Inspection): boolean => {
    const { name, cls } = record;
    if (cls === 'data') {
      paths.add(record.path);
      if (inspection.state === 'whole') add({ ...inspection.version, path: record.path });
      return false;
    }
    if (cls !== 'history') return false;
    if (inspection.state === 'damaged' && isHistoryName(name)) damaged.set(name, record);
    if (inspection.state !== 'whole') return damaged.has(name);
    const { stored, content } = inspection.version;
    identities.set(identityOf(stored.body), name);
    const decoded = decodeHistoryRecord(content);
    if (decoded?.kind === 'replaced' || decoded?.kind === 'redacted') {
      const version = add(decoded.version);
      records.set(name, { name, kind: decoded.kind, version });
    } else if (decoded !== undefined) {
      for (const [path] of decoded.files) paths.add(path);
    }
    return false;
  };
  const add = (facts: Parameters<typeof seenVersion>[0]): SeenVersion => {
    const version = seenVersion(facts);
    paths.add(version.path);
    versions.set(version.id, version);
    return version;
  };

  return {
    saw,
    versions,
    async findings(work, { historyDays }) {
      const missing = await findMissing(work, { versions, records, saw, historyDays });
      const wrong = await nameDamaged(work, { damaged, identities, records, paths, missing });
      const named = new Set(wrong.map(({ expected }) => expected));
      return [...missing.filter(({ expected }) => !named.has(expected)), ...wrong, ...unredacted(records)];
    },
  };
}

function seenVersion(facts: {
  readonly contentId: Uint8Array;
  readonly previous: Uint8Array;
  readonly path: MemoryPath;
  readonly mtime: number;
}): SeenVersion {
  const { path, mtime } = facts;
  const previous = toBase64url(facts.previous);
  return {
    id: toBase64url(facts.contentId),
    path,
    previous: previous === NO_VERSION ? undefined : previous,
    mtime,
  };
}

/** A version whose predecessor ought to be kept, and is not, unless that was accepted. */
async function findMissing(
  work: Work,
  seen: Pick<SeenHistory, 'saw' | 'versions'> &
    Retention & { readonly records: ReadonlyMap<LogicalName, SeenRecord> },
): Promise<readonly HistoryFinding[]> {
  const { versions, records, saw, historyDays } = seen;
  const orphaned = [...versions.values()].filter(
    ({ previous }) => previous !== undefined && !versions.has(previous),
  );
  if (orphaned.length === 0) return [];
  // What was replaced since the listing was saved before: it is listed now.
  const known = new Set(records.keys());
  for (const { id, object } of await listIds(work, 'history', '')) {
    const record = { cls: 'history', name: classLogicalName('history', id), object } as const;
    if (known.has(record.name)) continue;
    const inspection = await inspectRecord(work, record);
    if (inspection?.state === 'whole') saw(record, inspection);
  }
  const { from } = await readKeptFrom(work, historyDays);
  const missing = orphaned.flatMap(({ id, path, previous, mtime }): readonly HistoryFinding[] =>
    previous === undefined || versions.has(previous) || mtime < from
      ? []
      : [{ kind: 'history', state: 'missing', path, expected: previous, replacedBy: id }],
  );
  if (missing.length === 0) return [];
  const accepted = await acceptedMissing(work);
  return missing.filter(({ expected }) => !accepted.has(expected));
}

function unredacted(records: ReadonlyMap<LogicalName, SeenRecord>): readonly HistoryFinding[] {
  const redacted = new Set<string>();
  for (const { kind, version } of records.values()) if (kind === 'redacted') redacted.add(version.id);
  return [...records.values()].flatMap(({ kind, version, name }) =>
    kind === 'replaced' && redacted.has(version.id)
      ? [{ kind: 'history', state: 'unredacted', path: version.path, expected: version.id, name }]
      : [],
  );
}
