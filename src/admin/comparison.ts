import type { MemoryPath } from '../language/path.ts';
import type { SinceFinding } from '../tree/findings.ts';
import type { CheckpointEntry, CheckpointFacts, VersionFacts } from './checkpoint-record.ts';
import { createEvidence, type Evidence, type Known, type ReadVersion } from './evidence.ts';
import type { KeptFrom } from './kept-from.ts';
import { CLOCK_SKEW_MS, named, timeOf } from './lineage.ts';

/** What a tenant holds now, and what its history says of how that came about. */
export interface Held extends Omit<Known, 'entries' | 'atOnce' | 'ended'> {
  /** Paths of files that cannot be opened: a finding of their own. */
  readonly damaged: ReadonlySet<MemoryPath>;
}

/** What is held to a checkpoint. */
export interface Since {
  readonly held: Held;
  readonly entries: readonly CheckpointEntry[];
  readonly facts: Pick<CheckpointFacts, 'began' | 'ended'>;
  readonly kept: KeptFrom;
}

/** The same, as it is asked while files and entries are judged; times in milliseconds since the epoch. */
export interface Comparison {
  readonly evidence: Evidence;
  readonly began: number;
  readonly ended: number;
  /** What is newer may be one that was sealed again and renamed while the checkpoint was taken. */
  readonly before: number;
  readonly kept: KeptFrom;
  /** Why not all that happened since the checkpoint must be in the history. */
  readonly untold: KeptFrom['otherwise'] | undefined;
  fileAt(path: MemoryPath): ReadVersion | undefined;
  entryAt(path: MemoryPath): CheckpointEntry | undefined;
  /** Wherever the version is. */
  filesOf(id: string): readonly ReadVersion[];
  entriesOf(id: string): readonly CheckpointEntry[];
  isSame(left: VersionFacts, right: VersionFacts): boolean;
}

export function compare({ held, entries, facts, kept }: Since): Comparison {
  const { began, ended } = facts;
  const before = began - CLOCK_SKEW_MS;
  const old = entries.filter((entry) => timeOf(entry) < before);
  const deleted = held.leaves.filter(({ to, at }) => to === undefined && at < before);
  const later = [...entries, ...held.files, ...held.saved].filter(({ mtime }) => mtime < before);
  const evidence = createEvidence({
    ...{ ...held, entries },
    atOnce: new Set(old.map(({ id }) => id)),
    ended: new Set([...deleted.map(({ version }) => version), ...later.map(({ previous }) => previous)]),
  });
  const { sameAs } = evidence;
  const files = new Map(held.files.map((file) => [file.path, file]));
  const entriesByPath = new Map(entries.map((entry) => [entry.path, entry]));
  const filesBySame = Map.groupBy(held.files, ({ id }) => sameAs(id));
  const entriesBySame = Map.groupBy(entries, ({ id }) => sameAs(id));
  return {
    ...{ evidence, began, ended, before, kept },
    untold: began < kept.from ? kept.otherwise : undefined,
    fileAt: (path) => files.get(path),
    entryAt: (path) => entriesByPath.get(path),
    filesOf: (id) => filesBySame.get(sameAs(id)) ?? [],
    entriesOf: (id) => entriesBySame.get(sameAs(id)) ?? [],
    isSame: (left, right) => sameAs(left.id) === sameAs(right.id),
  };
}

/** Whether it may be the entry, which a migration has sealed again since and a process that was cut off renamed. */
export function isSealedAgain(
  { before, entriesOf }: Comparison,
  { entry, version }: { readonly entry: CheckpointEntry; readonly version: VersionFacts },
): boolean {
  return version.bound > entry.bound && timeOf(version) >= before && entriesOf(version.id).length === 0;
}

/** What a finding names of a file: the version that is there, and the one that the checkpoint has there. */
export function foundAt(
  { entryAt, isSame }: Comparison,
  file: VersionFacts,
): Pick<SinceFinding, 'kind' | 'path' | 'found' | 'expected'> {
  const entry = entryAt(file.path);
  const expected = entry !== undefined && !isSame(entry, file) && { expected: named(entry) };
  return { kind: 'since', path: file.path, found: named(file), ...expected };
}
