import type { MemoryPath } from '../language/path.ts';
import type { SinceFinding } from '../tree/findings.ts';
import type { CheckpointEntry, CheckpointFacts, VersionFacts } from './checkpoint-record.ts';
import { createEvidence, type Known } from './evidence.ts';
import type { KeptFrom } from './kept-from.ts';
import {
  ancestry,
  both,
  CLOCK_SKEW_MS,
  forkOf,
  mayBeMissed,
  mayHaveCome,
  NO_VERSION,
  named,
  timeOf,
  wasPutBack,
  wasThere,
} from './lineage.ts';
import { leftBefore, mayHaveEnded, replacedBefore } from './place.ts';

/** What a tenant holds now, and what its history says of how that came about. */
export interface Held extends Omit<Known, 'entries' | 'atOnce' | 'ended'> {
  /** Paths of files that cannot be opened: a finding of their own. */
  readonly damaged: ReadonlySet<MemoryPath>;
}

interface Since {
  readonly held: Held;
  readonly entries: readonly CheckpointEntry[];
  readonly facts: Pick<CheckpointFacts, 'began' | 'ended'>;
  readonly kept: KeptFrom;
}

/**
 * Holds what a tenant has now to a checkpoint: each file is the same version or came of it, or the history says how it ended.
 * Nothing of a file is taken for wrong that an honest process, cut off at any moment, may have left.
 */
export function judgeSince({ held, entries, facts, kept }: Since): readonly SinceFinding[] {
  const { began } = facts;
  // What is newer may be one that was sealed again and renamed while the checkpoint was taken.
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
  const entryAt = new Map(entries.map((entry) => [entry.path, entry]));
  const entriesBySame = Map.groupBy(entries, ({ id }) => sameAs(id));
  const entriesOf = (id: string): readonly CheckpointEntry[] => entriesBySame.get(sameAs(id)) ?? [];
  const byVersion = Map.groupBy(held.files, ({ id }) => sameAs(id));
  const isSame = (left: VersionFacts, right: VersionFacts): boolean => sameAs(left.id) === sameAs(right.id);
  /** Why not all that happened since the checkpoint must be in the history. */
  const untold = began < kept.from ? kept.otherwise : undefined;

  /** Whether it may be the entry, which a migration has sealed again since and a process that was cut off renamed. */
  const isSealedAgain = (entry: CheckpointEntry, version: VersionFacts): boolean =>
    version.bound > entry.bound && timeOf(version) >= before && entriesOf(version.id).length === 0;
  const alikeEntries = (version: VersionFacts): readonly CheckpointEntry[] =>
    evidence.alike(version).flatMap(({ id }) => entriesOf(id));

  /** What the history says of the file at its path. Of what was accepted only what it says of later times counts. */
  const judgePlace = (file: VersionFacts): SinceFinding | undefined => {
    const entry = entryAt.get(file.path);
    const isAccepted = entry?.note === 'accepted' && isSame(entry, file);
    const after = isAccepted ? began + CLOCK_SKEW_MS : Number.NEGATIVE_INFINITY;
    return replacedBefore(evidence, { file, after }) ?? leftBefore(evidence, { file, after });
  };

  /** Where the chain of a file leads, from version to replaced version. */
  const judgeChain = (file: VersionFacts): SinceFinding | undefined => {
    const seen = new Set<string>();
    let wasMissed = false;
    for (let at = file; !seen.has(sameAs(at.id)); ) {
      if (entriesOf(at.id).length > 0) return undefined;
      seen.add(sameAs(at.id));
      wasMissed ||= mayBeMissed(evidence, { version: at, ...facts });
      if (at.previous === NO_VERSION) break;
      if (alikeEntries(at).some((entry) => isSealedAgain(entry, at))) return undefined;
      const replaced = entriesOf(at.previous);
      const isAccepted = replaced.some(({ note }) => note === 'accepted');
      const other = isAccepted ? undefined : forkOf(evidence, at);
      if (other !== undefined) return { kind: 'since', state: 'forked', ...both(file, other) };
      if (replaced.length > 0) {
        const isThere =
          untold !== undefined || wasThere(evidence, { next: at, replaced, since: began - CLOCK_SKEW_MS });
        if (isThere) return undefined;
        return !wasMissed && wasPutBack(evidence, { next: at, began })
          ? { ...foundAt(file), state: 'forked' }
          : { ...foundAt(file), state: 'untold', why: 'twice' };
      }
      const [before] = evidence.versionsOf(at.previous);
      if (before === undefined) {
        const found = { path: file.path, found: named(file) };
        const expected = { version: at.previous };
        return at.mtime < kept.from
          ? { kind: 'since', state: 'untold', why: kept.otherwise, ...found, expected }
          : { kind: 'since', state: 'cut', ...found, expected };
      }
      // It was older than the checkpoint, and not there then: it was put back, and written after that.
      const latest = Math.max(...evidence.versionsOf(at.previous).map(timeOf));
      if (!wasMissed && latest + CLOCK_SKEW_MS < began) return { ...foundAt(file), state: 'forked' };
      at = before;
    }
    // It came of nothing in the checkpoint, so it is newer.
    return timeOf(file) < began ? { ...foundAt(file), state: 'untold', why: 'clock' } : undefined;
  };

  const foundAt = (file: VersionFacts) => {
    const entry = entryAt.get(file.path);
    const expected = entry !== undefined && !isSame(entry, file) && { expected: named(entry) };
    return { kind: 'since', path: file.path, found: named(file), ...expected } as const;
  };

  const judgeFile = (file: VersionFacts): SinceFinding | undefined => {
    const entry = entryAt.get(file.path);
    if (entry !== undefined && isSame(entry, file) && file.bound < entry.bound) {
      // By a slower clock than that of the rename before.
      const there = entriesOf(file.id);
      const isBoundSince = timeOf(file) >= before && mayHaveCome(evidence, { file, there });
      if (!isBoundSince) return { kind: 'since', state: 'rolled_back', ...both(file, entry) };
    }
    if (entry !== undefined && !isSame(entry, file)) {
      const [older, shared] = ancestry(evidence, { entry, file, entriesOf });
      if (older) return { kind: 'since', state: 'rolled_back', ...both(file, entry) };
      if (shared) return { kind: 'since', state: 'forked', ...both(file, entry) };
    }
    // What was bound before the checkpoint, and was not there then, was put back.
    if ((entry === undefined || !isSame(entry, file)) && timeOf(file) + CLOCK_SKEW_MS < began)
      return { ...foundAt(file), state: entry === undefined ? 'brought_back' : 'rolled_back' };
    return judgePlace(file) ?? judgeChain(file);
  };

  /** What an entry came to that is not at its path any more. */
  const judgeGone = (entry: CheckpointEntry): SinceFinding | undefined => {
    const line = [...evidence.descendants(entry.id)];
    const lives = line.some((id) =>
      byVersion.get(id)?.some((file) => {
        if (id !== sameAs(entry.id)) return true;
        // It may have been at two places then: a rename was under way, or had been cut off.
        return entriesOf(id).some(
          ({ path, bound }) => file.bound > bound || (file.path === path && file.bound === bound),
        );
      }),
    );
    if (lives || line.some((id) => evidence.leaves(id).some(({ to }) => to === undefined))) return undefined;
    const found = files.get(entry.path);
    const told = {
      ...({ kind: 'since', path: entry.path } as const),
      expected: named(newestOf(line, entry)),
      ...(found !== undefined && { found: named(found) }),
    } as const;
    if (entry.note === 'young') return { ...told, state: 'untold', why: 'young' };
    if (untold !== undefined) return { ...told, state: 'untold', why: untold };
    const there = entriesOf(entry.id);
    const mayBeElsewhere = evidence.alike(entry).some((version) => isSealedAgain(entry, version));
    if (mayBeElsewhere || line.some((id) => mayHaveEnded(evidence, { id, there, began })))
      return { ...told, state: 'untold', why: 'unrecorded' };
    return { ...told, state: 'dropped' };
  };

  const newestOf = (line: readonly string[], entry: VersionFacts): VersionFacts =>
    line
      .flatMap((id) => evidence.versionsOf(id))
      .reduce((newest, each) => (each.bound > newest.bound ? each : newest), entry);

  const findings: SinceFinding[] = [];
  const told = new Set<MemoryPath>();
  for (const file of held.files) {
    const finding = judgeFile(file);
    if (finding === undefined) continue;
    findings.push(finding);
    told.add(file.path);
  }
  for (const entry of entries) {
    const file = files.get(entry.path);
    if (told.has(entry.path) || held.damaged.has(entry.path)) continue;
    if (file !== undefined && evidence.descendants(entry.id).has(sameAs(file.id))) continue;
    const finding = judgeGone(entry);
    if (finding !== undefined) findings.push(finding);
  }
  return findings;
}
