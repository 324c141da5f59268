import { hasCode } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import type { LogicalName } from '../format/object-keys.ts';
import { decodeHistoryRecord, historyHash } from '../history/history-record.ts';
import type { MemoryPath } from '../language/path.ts';
import type { HistoryFinding } from '../tree/findings.ts';
import { openStored } from '../tree/read-file.ts';
import type { ListedRecord } from '../tree/scan.ts';
import type { Work } from '../tree/session.ts';
import { identityOf, type VersionIdentity } from '../tree/version-history.ts';

/** A version as its wrap or its record tells it; ids in base64url. */
export interface SeenVersion {
  readonly id: string;
  readonly path: MemoryPath;
  /** Undefined for a new file. */
  readonly previous: string | undefined;
  /** When it was written, by its writer's clock; milliseconds since the epoch. */
  readonly mtime: number;
}

/** What is kept of a record is no text. */
export interface SeenRecord {
  readonly name: LogicalName;
  readonly kind: 'replaced' | 'redacted';
  readonly version: SeenVersion;
}

/** Of so many damaged records it is looked for whose they are. */
const MOST_LOOKED_AT = 100;
const HASH_CHARACTERS = 43;
const ID_CHARACTERS = 8;

/** Says of what lies at the names of records, and does not open there, which version belongs there and whose record it is. */
export async function nameDamaged(
  work: Work,
  seen: {
    readonly damaged: ReadonlyMap<LogicalName, ListedRecord>;
    readonly identities: ReadonlyMap<VersionIdentity, LogicalName>;
    readonly records: ReadonlyMap<LogicalName, SeenRecord>;
    readonly paths: ReadonlySet<MemoryPath>;
    readonly missing: readonly HistoryFinding[];
  },
): Promise<readonly HistoryFinding[]> {
  const { damaged, paths, missing } = seen;
  if (damaged.size === 0) return [];
  const pathOf = new Map([...paths].map((path) => [historyHash(work, path), path]));
  const lying = new Map<LogicalName, FoundRecord>();
  for (const [name, record] of [...damaged].slice(0, MOST_LOOKED_AT)) {
    const found = await whoseRecord(work, record, seen);
    if (found !== undefined) lying.set(name, found);
  }
  // Of those that were exchanged each tells of the other what belongs there.
  const versionAt = new Map([...lying.values()].map(({ name, version }) => [name, version]));
  return [...damaged.keys()].map((name) => {
    const id = name.slice('/history/'.length);
    const path = pathOf.get(id.slice(0, HASH_CHARACTERS));
    const beginning = id.slice(-ID_CHARACTERS);
    const lost = missing.find(({ expected }) => expected.startsWith(beginning));
    const found = lying.get(name)?.version;
    return {
      ...{ kind: 'history', state: found === undefined ? 'damaged' : 'misplaced', name },
      expected: lost?.expected ?? versionAt.get(name) ?? beginning,
      ...(path !== undefined && { path }),
      ...(found !== undefined && { found }),
    };
  });
}

/** A record that lies at the name of another one. */
interface FoundRecord {
  /** Its own. */
  readonly name: LogicalName;
  /** Of an event the end of its name. */
  readonly version: string;
}

/** A copy of a record that is whole, or one that opens at the name of another damaged one: two were exchanged. */
async function whoseRecord(
  work: Work,
  { name, object: { key } }: ListedRecord,
  seen: {
    readonly damaged: ReadonlyMap<LogicalName, ListedRecord>;
    readonly identities: ReadonlyMap<VersionIdentity, LogicalName>;
    readonly records: ReadonlyMap<LogicalName, SeenRecord>;
  },
): Promise<FoundRecord | undefined> {
  const stored = await work.session.store.get(key, { signal: work.call.signal });
  if (typeof stored !== 'object') return undefined;
  const endOf = (other: LogicalName): string => other.slice(-ID_CHARACTERS);
  const copied = seen.identities.get(identityOf(stored.body));
  if (copied !== undefined) {
    return { name: copied, version: seen.records.get(copied)?.version.id ?? endOf(copied) };
  }
  for (const other of [...seen.damaged.keys()].slice(0, MOST_LOOKED_AT)) {
    if (other === name) continue;
    const opened = await openStored(work, other, stored).catch((error: unknown) => {
      if (!hasCode(error, 'integrity', 'unavailable')) throw error;
    });
    if (opened === undefined) continue;
    const record = decodeHistoryRecord(opened.content);
    const isVersion = record?.kind === 'replaced' || record?.kind === 'redacted';
    return { name: other, version: isVersion ? toBase64url(record.version.contentId) : endOf(other) };
  }
  return undefined;
}
