import { hasCode } from '../../errors.ts';
import { toBase64url } from '../../format/encoding.ts';
import { classLogicalName, type LogicalName, type ObjectKey } from '../../format/object-keys.ts';
import type { MemoryPath } from '../../language/path.ts';
import { openStored } from '../../tree/read-file.ts';
import { identityOf, type VersionIdentity } from '../../tree/sightings.ts';
import type { Work } from '../../tree/tenant.ts';
import {
  decodeHistoryRecord,
  historyHash,
  pathHashOfRecord,
  versionOfRecord,
  WHOLE_TREE,
} from '../save/history-record.ts';
import type { Past, VersionId } from './past.ts';

/** The keys of damaged records, by the names at which they lie. */
type DamagedRecords = ReadonlyMap<LogicalName, ObjectKey>;

/** The known facts of a damaged record. */
interface NamedDamage {
  /** `misplaced`: another record lies at its name. */
  readonly state: 'damaged' | 'misplaced';
  readonly name: LogicalName;
  /** The id of the version that belongs there, or its beginning. */
  readonly expected: string;
  readonly path?: MemoryPath;
  /** The version of the record that lies there. */
  readonly found?: string;
}

/** The most damaged records whose owners are looked for. */
const MOST_LOOKED_AT = 100;

/** Names for each damaged record the version that belongs there and, where another record lies there, whose that is. */
export async function nameDamaged(
  work: Work,
  seen: {
    readonly damaged: DamagedRecords;
    readonly identities: ReadonlyMap<VersionIdentity, LogicalName>;
    readonly past: Past;
    /** The ids of versions that are missing. */
    readonly missing: readonly string[];
  },
): Promise<readonly NamedDamage[]> {
  const { damaged, past, missing } = seen;
  if (damaged.size === 0) return [];
  const pathOf = new Map(pathsIn(past).map((path) => [historyHash(work, path), path]));
  const versionOf = versionsByRecord(past);
  const lying = new Map<LogicalName, FoundRecord>();
  for (const [name, key] of [...damaged].slice(0, MOST_LOOKED_AT)) {
    const found = await whoseRecord(work, { name, key }, { ...seen, versionOf });
    if (found !== undefined) lying.set(name, found);
  }
  // Two records that were exchanged tell of each other which version belongs at their names.
  const versionAt = new Map([...lying.values()].map(({ name, version }) => [name, version]));
  return [...damaged.keys()].map((name) => {
    const id = name.slice('/history/'.length);
    const path = pathOf.get(pathHashOfRecord(id));
    const beginning = versionOfRecord(id);
    const lost = missing.find((expected) => expected.startsWith(beginning));
    const found = lying.get(name)?.version;
    return {
      state: found === undefined ? 'damaged' : 'misplaced',
      name,
      expected: lost ?? versionAt.get(name) ?? beginning,
      ...(path !== undefined && { path }),
      ...(found !== undefined && { found }),
    };
  });
}

/** Lists every path that the past knows, and the root, which stands for records of several paths. */
function pathsIn(past: Past): readonly MemoryPath[] {
  const paths = new Set<MemoryPath>([WHOLE_TREE, ...past.damaged.files]);
  for (const id of past.versions.keys()) for (const { path } of past.bindings(id)) paths.add(path);
  for (const { from } of past.leaves) paths.add(from);
  return [...paths];
}

function versionsByRecord(past: Past): ReadonlyMap<LogicalName, VersionId> {
  const versions = new Map<LogicalName, VersionId>();
  for (const id of past.versions.keys())
    for (const { saved } of past.bindings(id))
      if (saved !== undefined) versions.set(classLogicalName('history', saved.record), id);
  return versions;
}

/** A record that lies at the name of another one. */
interface FoundRecord {
  /** The record's own name. */
  readonly name: LogicalName;
  /** The id of its version; for a delete or a rename the end of its name. */
  readonly version: string;
}

/**
 * Finds whose record lies at a name: a copy of a whole one, or one that opens under the name of another damaged one.
 */
async function whoseRecord(
  work: Work,
  { name, key }: { readonly name: LogicalName; readonly key: ObjectKey },
  seen: {
    readonly damaged: DamagedRecords;
    readonly identities: ReadonlyMap<VersionIdentity, LogicalName>;
    readonly versionOf: ReadonlyMap<LogicalName, VersionId>;
  },
): Promise<FoundRecord | undefined> {
  const stored = await work.tenant.store.get(key, { signal: work.call.signal });
  if (typeof stored !== 'object') return undefined;
  const copied = seen.identities.get(identityOf(stored.body));
  if (copied !== undefined) {
    return { name: copied, version: seen.versionOf.get(copied) ?? versionOfRecord(copied) };
  }
  for (const other of [...seen.damaged.keys()].slice(0, MOST_LOOKED_AT)) {
    if (other === name) continue;
    const opened = await openStored(work, other, stored).catch((error: unknown) => {
      if (!hasCode(error, 'integrity', 'unavailable')) throw error;
    });
    if (opened === undefined) continue;
    const record = decodeHistoryRecord(opened.content);
    const isVersion = record?.kind === 'replaced' || record?.kind === 'redacted';
    return { name: other, version: isVersion ? toBase64url(record.version.id) : versionOfRecord(other) };
  }
  return undefined;
}
