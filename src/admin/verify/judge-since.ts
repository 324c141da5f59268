import { millisecondsOf } from '../../format/wrap.ts';
import type { Binding, Leave, Past, PastVersion, VersionId } from '../../history/past/past.ts';
import { isWithin, type MemoryPath } from '../../language/path.ts';
import { DAY_MS } from '../../time.ts';
import { type CheckpointEntry, type CheckpointFacts, NO_VERSION } from '../checkpoints/checkpoint-record.ts';
import type { SinceFinding } from '../findings.ts';
import type { KeptFrom } from './kept-from.ts';

/** A checkpoint, and the tenant's files and history that are compared with it. */
interface SinceCase {
  /** The files and the history; the collector that made it was given the entries of the checkpoint too. */
  readonly past: Past;
  readonly entries: readonly CheckpointEntry[];
  readonly facts: Pick<CheckpointFacts, 'began' | 'ended'>;
  readonly kept: KeptFrom;
  /** The directory whose rename is still going on; undefined where there is none. */
  readonly renaming: MemoryPath | undefined;
}

/** The most that a writer's clock may differ from the server's: S3 refuses its requests beyond that. */
const CLOCK_MS = 900_000;

/** The longest time in which a process that saved a version deletes it; later it saves the version again. */
const STOOD_STILL_MS = DAY_MS;

type Why = NonNullable<SinceFinding['why']>;
type BindingPlace = Pick<Binding, 'id' | 'path' | 'bound'>;

/** The files or entries, a few milliseconds of work, after which everything else in the process has its turn. */
const STEPS_BETWEEN_TURNS = 500;

/**
 * Compares a tenant's files with a checkpoint, in steps. Each file must lead back to an entry or to a version that was
 * born since, and any sealed record that its binding had ended accuses it. Each entry must lead forward to a file or to
 * a recorded end. Remains that an honest process may leave when it is cut off are no alarm.
 */
export function* judgeSince(since: SinceCase): Generator<void, readonly SinceFinding[]> {
  const scene = yield* sceneOf(since);
  const { past, entries } = since;
  const findings: SinceFinding[] = [];
  yield* inSteps(past.files.values(), (file) => {
    const finding = hadEnded(scene, file) ?? leadsNotBack(scene, file);
    if (finding !== undefined) findings.push(finding);
  });
  const wrong = new Set(findings.flatMap(({ state, path }) => (state === 'older' ? [path] : [])));
  const told = new Set([...past.damaged.files, ...wrong]);
  yield* inSteps(entries, (entry) => {
    const finding = told.has(entry.path) ? undefined : leadsNowhere(scene, entry, wrong);
    if (finding === undefined) return;
    findings.push(finding);
    told.add(entry.path);
  });
  return findings;
}

function* inSteps<T>(all: Iterable<T>, take: (one: T) => void): Generator<void, void> {
  let steps = 0;
  for (const one of all) {
    if (++steps % STEPS_BETWEEN_TURNS === 0) yield;
    take(one);
  }
}

/** The comparison with the indexes that the judgement of files and entries asks. */
interface Scene extends SinceCase {
  readonly entriesOf: (id: VersionId) => readonly CheckpointEntry[];
  readonly entryAt: (path: MemoryPath) => CheckpointEntry | undefined;
  /** Finds the entry that came of a version; undefined where none did, or where the version has an entry itself. */
  readonly cameOf: (id: VersionId) => CheckpointEntry | undefined;
  /** Finds all leaves of a version, those that are too old to count as well. */
  readonly toldOf: (id: VersionId) => readonly Leave[];
  /** Finds the leaves of a version that count, those that are only planned among them. */
  readonly leavesOf: (id: VersionId) => readonly Leave[];
  /** Finds the files that hold a version now. */
  readonly filesOf: (id: VersionId) => readonly Binding[];
}

function* sceneOf(since: SinceCase): Generator<void, Scene> {
  const { past, kept } = since;
  const entries = new Map<VersionId, CheckpointEntry[]>();
  const entryAt = new Map<MemoryPath, CheckpointEntry>();
  const cameOf = new Map<VersionId, CheckpointEntry>();
  const leaves = new Map<VersionId, Leave[]>();
  const files = new Map<VersionId, Binding[]>();
  yield* inSteps(since.entries, (entry) => {
    push(entries, entry.id, entry);
    entryAt.set(entry.path, entry);
  });
  yield* inSteps(since.entries, (entry) => {
    if (entry.previous === NO_VERSION) return;
    cameOf.set(entry.previous, entry);
    for (const { previous } of past.ancestors(entry.id, (other) => entries.has(other)))
      if (previous !== undefined) cameOf.set(previous, entry);
  });
  yield* inSteps(past.leaves, (leave) => push(leaves, leave.id, leave));
  const toldOf = (id: VersionId): readonly Leave[] => leaves.get(id) ?? [];
  yield* inSteps(past.files.values(), (file) => push(files, file.id, file));
  return {
    ...since,
    entriesOf: (id) => entries.get(id) ?? [],
    entryAt: (path) => entryAt.get(path),
    cameOf: (id) => (entries.has(id) ? undefined : cameOf.get(id)),
    toldOf,
    leavesOf: (id) => toldOf(id).filter(({ lastAt }) => lastAt >= kept.since),
    filesOf: (id) => files.get(id) ?? [],
  };
}

/**
 * Finds a sealed record that accuses a file: its binding had ended by a delete, a rename or a version written over it.
 */
function hadEnded(scene: Scene, file: Binding): SinceFinding | undefined {
  const { past, kept, renaming, facts } = scene;
  const leaves = scene
    .leavesOf(file.id)
    .filter(({ from, bound }) => from === file.path && bound >= file.bound);
  const left = leaves.find(({ state }) => state === 'done');
  if (left !== undefined) {
    if (left.to !== undefined && renaming !== undefined && isWithin(file.path, renaming))
      return untold(file, 'renaming');
    return mayBeLater(scene, file, left) ? untold(file, 'clock') : older(scene, file);
  }
  if (leaves.length > 0) return untold(file, 'renaming');
  for (const next of past.successors(file.id)) {
    const written = birthOf(scene, next);
    if (written?.path !== file.path || isBefore(written, kept.since)) continue;
    const bound = replacedBy(scene, next)?.bound ?? written.bound - 1n;
    if (file.bound > bound) continue;
    const ended = { bound, lastAt: next.mtime };
    return mayBeLater(scene, file, ended) ? untold(file, 'clock') : older(scene, file, next);
  }
  const nothing = isEntry(scene, file) ? undefined : cameOfNothing(scene, file);
  if (nothing !== undefined) return nothing;
  // The process that saved it was about to replace or delete it, and may have been cut off.
  const { at = Number.NEGATIVE_INFINITY } = savedAs(scene, file) ?? {};
  return at >= Math.max(facts.began - CLOCK_MS, kept.since) ? untold(file, 'saved') : undefined;
}

/**
 * Finds a version that was put back and bound again since, such as by a migration of keys: it had been deleted or
 * written over at the file's path, and at each other path where it is known to have lain. Where it still lay elsewhere
 * when the file was bound, a rename has brought it again, and that is no finding. The answer is `untold` where the file
 * bears the mark of a rename and lay elsewhere until after its end here.
 */
function cameOfNothing(scene: Scene, file: Binding): SinceFinding | undefined {
  const { past, kept } = scene;
  const others = past.bindings(file.id).filter((binding) => !isSame(binding, file));
  const endOf = ({ id, path, bound }: Binding): number | undefined => {
    const left = past.leavesOf(id).filter(({ from, bound: last }) => from === path && last >= bound);
    const hasGone = ({ to, lastAt, bound: last }: Leave): boolean =>
      to === undefined
        ? lastAt >= kept.since
        : others.some((other) => other.path === to && other.bound > last);
    if (left.length > 0)
      return left.every(hasGone) ? Math.max(...left.map(({ lastAt }) => lastAt)) : undefined;
    const next = past.successors(id).findLast((version) => {
      const replaced = replacedBy(scene, version);
      return replaced?.path === path && replaced.bound >= bound && version.mtime >= kept.since;
    });
    return next?.mtime;
  };
  const ends = new Map(others.map((binding) => [binding.path, endOf(binding)]));
  if (!ends.has(file.path) || [...ends.values()].includes(undefined)) return undefined;
  const endedHere = Number(ends.get(file.path));
  ends.delete(file.path);
  const endedElsewhere = Math.max(...[...ends.values()].map(Number));
  const lasted = endedElsewhere - millisecondsOf(file.bound);
  if (lasted > CLOCK_MS) return undefined;
  // A rename that was cut off may have brought it in that time, and a migration has bound it since.
  const mayBeCopy = file.isRenamed && endedElsewhere >= endedHere;
  return lasted < -CLOCK_MS && !mayBeCopy ? older(scene, file) : untold(file, 'clock');
}

/**
 * Tells whether the file may have come after the end at its path though its bound is smaller: a rename by a process
 * with a slower clock may have brought the version again. A record of this very binding rules that out, and so does its
 * entry in the checkpoint where the end came later.
 */
function mayBeLater(
  scene: Scene,
  file: Binding,
  { bound, lastAt }: Pick<Leave, 'bound' | 'lastAt'>,
): boolean {
  const isRecorded =
    scene.toldOf(file.id).some((leave) => leave.from === file.path && leave.bound === file.bound) ||
    savedAs(scene, file) !== undefined;
  const wasThere = isRecorded || (lastAt >= scene.facts.began && isEntry(scene, file));
  return !wasThere && bound !== file.bound && millisecondsOf(bound) - millisecondsOf(file.bound) <= CLOCK_MS;
}

/** Finds the note that this very binding was saved. */
function savedAs({ past }: Scene, file: Binding): Binding['saved'] {
  return past.bindings(file.id).find((binding) => isSame(binding, file) && binding.saved)?.saved;
}

/** Tells whether the checkpoint has this very binding. */
function isEntry({ entriesOf }: Scene, file: Binding): boolean {
  return entriesOf(file.id).some((entry) => isSame(entry, file));
}

/** Judges whether a file came of an entry, or is new; undefined where it passes. */
function leadsNotBack(scene: Scene, file: Binding): SinceFinding | undefined {
  return (scene.entriesOf(file.id).length > 0 ? asEntry : asNew)(scene, file);
}

/** Judges a file whose version the checkpoint has, at this path or another. */
function asEntry(scene: Scene, file: Binding): SinceFinding | undefined {
  const own = scene.entriesOf(file.id);
  if (own.some(({ bound }) => bound <= file.bound)) return undefined;
  const cameHere = scene.leavesOf(file.id).some(({ to }) => to === file.path);
  const wasHere = own.some(({ path }) => path === file.path) && !cameHere;
  return !wasHere && isMeanwhile(scene, file) ? untold(file, 'clock') : older(scene, file);
}

/** Judges a file whose version the checkpoint lacks: it must have come of one that the checkpoint has, or be new. */
function asNew(scene: Scene, file: Binding): SinceFinding | undefined {
  const { past, facts, kept, entriesOf, cameOf } = scene;
  const isOld = isBefore(file, facts.began - CLOCK_MS);
  const version = past.versions.get(file.id);
  if (cameOf(file.id) !== undefined) return isOld ? older(scene, file) : ofReplaced(scene, file, file);
  if (version === undefined) return isOld ? older(scene, file) : undefined;
  /** A version of the chain was bound before the checkpoint, which lacks it. */
  let wasBefore = isOld;
  let wasMeanwhile = !isOld && isMeanwhile(scene, file);
  const isKnown = (id: VersionId): boolean => entriesOf(id).length > 0 || cameOf(id) !== undefined;
  const wrong = (): SinceFinding => (wasMeanwhile ? untold(file, 'clock') : older(scene, file));
  for (const at of [version, ...past.ancestors(file.id, isKnown)]) {
    const { id, mtime, previous } = at;
    const bindings = past.bindings(id);
    wasMeanwhile ||= !isOld && bindings.some((binding) => isMeanwhile(scene, binding));
    wasBefore ||= bindings.every((binding) => isBefore(binding, facts.began - CLOCK_MS));
    if (previous === undefined) {
      if (wasBefore) return wrong();
      const born = Math.min(mtime, ...bindings.map(({ bound }) => millisecondsOf(bound)));
      if (born > facts.ended + CLOCK_MS) return undefined;
      return born >= facts.began - CLOCK_MS ? untold(file, 'clock') : wrong();
    }
    const replaced = replacedBy(scene, at);
    if (replaced && hadGone(scene, at, replaced)) return older(scene, file);
    if (cameOf(previous) !== undefined) return wasBefore ? wrong() : ofReplaced(scene, file, replaced);
    wasMeanwhile ||= !isOld && replaced !== undefined && isMeanwhile(scene, replaced);
    const entries = entriesOf(previous);
    const { bound: last } = replaced ?? file;
    // The file came of an entry: a clock that was set back since gives the file an earlier bound than the checkpoint
    // has.
    if (entries.some(({ bound }) => bound <= last)) return wasBefore ? untold(file, 'clock') : undefined;
    if (entries.length > 0) return wrong();
    if (past.versions.has(previous)) continue;
    if (wasBefore) return wrong();
    // `verify` names that version as missing where the history ought to have it.
    return mtime < kept.from
      ? { ...untold(file, kept.otherwise), expected: { version: previous } }
      : undefined;
  }
  return wasBefore ? wrong() : undefined;
}

/**
 * Judges a file that is, or came of, a version that an entry came of: it is older, whatever clocks say. One excuse
 * counts: a rename that was cut off while the checkpoint was taken made it as a copy, bound later than the entry or at
 * another path.
 */
function ofReplaced(scene: Scene, file: Binding, replaced: Binding | undefined): SinceFinding {
  const entry = replaced && scene.cameOf(replaced.id);
  if (replaced === undefined || entry === undefined) return older(scene, file);
  const isBehind = replaced.bound > entry.bound && isMeanwhile(scene, replaced);
  // A migration may have bound it again since, however late.
  const isElsewhere =
    replaced.path !== entry.path &&
    wasRenamed(scene, replaced) &&
    !isBefore(replaced, scene.facts.began - CLOCK_MS);
  return isBehind || isElsewhere ? untold(file, 'clock') : older(scene, file);
}

/** Tells whether a rename brought the version to the path of this binding. */
function wasRenamed({ past }: Scene, { id, path, bound, isRenamed }: Binding): boolean {
  return isRenamed || past.bindings(id).some((other) => other.path !== path && other.bound < bound);
}

/** Finds an entry that leads neither to a file nor to a recorded end. */
function leadsNowhere(
  scene: Scene,
  entry: CheckpointEntry,
  wrong: ReadonlySet<MemoryPath>,
): SinceFinding | undefined {
  const { past, facts, kept, filesOf, leavesOf } = scene;
  const descent = descentOf(scene, entry);
  if (descent.some((id) => filesOf(id).some(({ path }) => !wrong.has(path)))) return undefined;
  const isLater = ({ id, bound }: Pick<BindingPlace, 'id' | 'bound'>): boolean =>
    id !== entry.id || bound >= entry.bound;
  const deletes = descent.flatMap(leavesOf).filter(({ to }) => to === undefined);
  if (deletes.some(isLater)) return undefined;
  const file = past.files.get(entry.path);
  if (file !== undefined && isCut(scene, file)) return undefined;
  const found = file && { found: named(file) };
  const told = {
    kind: 'since',
    path: entry.path,
    expected: named(newestOf(scene, descent, entry)),
    ...found,
  } as const;
  const why = ((): Why | undefined => {
    if (entry.note === 'young') return 'young';
    if (facts.began < kept.from) return kept.otherwise;
    // A process takes back a copy whose source was deleted after it, however late, and writes no record of that.
    const copiedAt = millisecondsOf(entry.bound);
    if (deletes.some(({ lastAt }) => lastAt >= copiedAt - CLOCK_MS)) return 'unrecorded';
    const mayBeDeleted = (binding: Binding): boolean => {
      const { saved } = binding;
      if (saved?.for !== 'delete') return false;
      const { at = Number.POSITIVE_INFINITY } = saved;
      return at >= facts.began - CLOCK_MS - (isLater(binding) ? STOOD_STILL_MS : 0);
    };
    return descent.some((id) => past.bindings(id).some(mayBeDeleted)) ? 'unrecorded' : undefined;
  })();
  return why === undefined ? { ...told, state: 'gone' } : { ...told, state: 'untold', why };
}

/** Tells whether the file's chain breaks off, so that the file may have come of any entry. */
function isCut({ past }: Scene, { id }: Binding): boolean {
  const previous = (past.ancestors(id).at(-1) ?? past.versions.get(id))?.previous;
  return previous !== undefined && !past.versions.has(previous);
}

/** Names a version and all versions that came of it. */
function descentOf({ past }: Scene, { id }: Pick<BindingPlace, 'id'>): readonly VersionId[] {
  return [id, ...past.descendants(id).map((version) => version.id)];
}

/** Finds the newest known binding of some versions, apart from that of a file that is wrong. */
function newestOf(
  { past }: Scene,
  ids: readonly VersionId[],
  first: BindingPlace,
  file?: BindingPlace,
): BindingPlace {
  const bindings = ids.flatMap((id) => past.bindings(id)).filter((each) => !isSame(file, each));
  return bindings.reduce<BindingPlace>((a, b) => (b.bound > a.bound ? b : a), first);
}

/** Finds the binding that a version was written over, as its writer saved it; undefined where that is unknown. */
function replacedBy(scene: Scene, version: PastVersion): Binding | undefined {
  const written = birthOf(scene, version);
  if (written === undefined || version.previous === undefined) return undefined;
  return scene.past
    .bindings(version.previous)
    .findLast(({ path, saved, bound }) => path === written.path && saved && bound < written.bound);
}

/**
 * Tells whether the binding that a version replaced had ended before, by a delete or another version: then it was put
 * back.
 */
function hadGone(scene: Scene, version: PastVersion, replaced: Binding): boolean {
  const { past, kept, leavesOf } = scene;
  const written = birthOf(scene, version);
  // A copy that a resumed rename brought there after the version may have been deleted since.
  const isDeleted = leavesOf(replaced.id).some(
    ({ from, to, bound }) =>
      to === undefined &&
      from === replaced.path &&
      bound >= replaced.bound &&
      (written === undefined || bound < written.bound),
  );
  const others = past.successors(replaced.id).filter(({ id }) => id !== version.id);
  return (
    isDeleted ||
    others.some((other) => isSame(replacedBy(scene, other), replaced) && other.mtime >= kept.from)
  );
}

/** Finds the first known binding of a version: the one that its writer made, where the records are complete. */
function birthOf({ past }: Scene, { id }: Pick<PastVersion, 'id'>): Binding | undefined {
  return past.bindings(id)[0];
}

/**
 * Makes the alarm about a file, and names the version that must be in its place: the descendant of the entry there, or
 * of `next`, which replaced it.
 */
function older(scene: Scene, file: Binding, next?: PastVersion): SinceFinding {
  const first = scene.entryAt(file.path) ?? (next && birthOf(scene, next));
  const expected = first && mustBe(scene, first, file);
  const at = { kind: 'since', state: 'older', path: file.path, found: named(file) } as const;
  return expected === undefined || isSame(expected, file) ? at : { ...at, expected: named(expected) };
}

/**
 * Finds the descendant of a binding that must lie at the path of a file: undefined where it was deleted there or
 * renamed.
 */
function mustBe(scene: Scene, first: BindingPlace, file: Binding): BindingPlace | undefined {
  const descent = descentOf(scene, first);
  const hasLeft = descent.some((id) =>
    scene
      .leavesOf(id)
      .some(({ from, bound }) => from === file.path && (id !== first.id || bound >= first.bound)),
  );
  const others = descent.filter((id) => id !== file.id || id === first.id);
  return hasLeft ? undefined : newestOf(scene, others, first, file);
}

function untold(file: Binding, why: Why): SinceFinding {
  return { kind: 'since', state: 'untold', why, path: file.path, found: named(file) };
}

function named({ id, bound }: Pick<BindingPlace, 'id' | 'bound'>): {
  readonly version: string;
  readonly bound: string;
} {
  return { version: id, bound: String(bound) };
}

function isSame(a: BindingPlace | undefined, b: BindingPlace): boolean {
  return a?.id === b.id && a.path === b.path && a.bound === b.bound;
}

function isBefore({ bound }: Pick<BindingPlace, 'bound'>, time: number): boolean {
  return millisecondsOf(bound) < time;
}

/**
 * Tells whether a bound falls into the time at which the checkpoint was taken, give or take the difference of clocks.
 */
function isMeanwhile({ facts }: Scene, { bound }: Pick<BindingPlace, 'bound'>): boolean {
  const time = millisecondsOf(bound);
  return time >= facts.began - CLOCK_MS && time <= facts.ended + CLOCK_MS;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const some = map.get(key);
  if (some === undefined) map.set(key, [value]);
  else some.push(value);
}
