import { inTurns } from '../../time.ts';
import { judgeLeaves, mergeLeaves, type ToldLeave } from './leaves.ts';
import type { Binding, Damaged, Leave, Past, PastVersion, VersionFacts, VersionId } from './past.ts';

/** A version at one place, as a file, a record or something else tells of it. */
export interface FileSighting
  extends VersionFacts,
    Pick<PastVersion, 'textHash' | 'redacted'>,
    Omit<Binding, 'isThere' | 'isRenamed'> {
  /** Set where a file told of the version. */
  readonly file?: { readonly isRenamed: boolean };
}

/** Sightings and leaves, in any order, from which a past is made. */
interface Gathered {
  readonly sightings: readonly FileSighting[];
  readonly leaves: readonly ToldLeave[];
  readonly damaged: Pick<Damaged, 'records' | 'files'>;
}

/** The items of a past, a few milliseconds at most, after which everything else in the process has its turn. */
const ITEMS_PER_TURN = 100;

/**
 * Runs a generator that goes through a past to its end, and lets others run in between. @throws MemoryError `aborted`.
 */
export function itemByItem<T>(items: Generator<void, T>, signal?: AbortSignal): Promise<T> {
  return inTurns(items, signal, ITEMS_PER_TURN);
}

/** Joins sightings and leaves into one past, item by item. */
export function* modelOf({ sightings, leaves: told, damaged }: Gathered): Generator<void, Past> {
  const versions = new Map<VersionId, PastVersion>();
  const conflicting = new Set<VersionId>();
  const files = new Map<Binding['path'], Binding>();
  const bindings = new Map<VersionId, Binding[]>();

  for (const sighting of sightings) {
    yield;
    const binding = bindingOf(sighting);
    addBinding(bindings, binding);
    if (binding.isThere) files.set(binding.path, binding);
    const version = versionOf(sighting);
    const known = versions.get(version.id);
    if (known !== undefined && !agree(known, version)) conflicting.add(version.id);
    if (known === undefined || isNearer(version, known)) versions.set(version.id, version);
  }
  const leavesToJudge = new Map<VersionId, ToldLeave[]>();
  for (const leave of yield* mergeLeaves(told)) {
    yield;
    const { id, from: path, bound } = leave;
    addBinding(bindings, { id, path, bound, isThere: false, isRenamed: false, saved: undefined });
    push(leavesToJudge, id, leave);
  }
  for (const some of bindings.values()) {
    yield;
    some.sort(byBound);
  }
  const bindingsOf = (id: VersionId): readonly Binding[] => bindings.get(id) ?? [];

  const successors = new Map<VersionId, PastVersion[]>();
  for (const version of versions.values()) {
    yield;
    const { previous } = version;
    if (previous !== undefined) push(successors, previous, version);
  }
  const firstBound = ({ id, bound }: PastVersion): bigint => bindingsOf(id)[0]?.bound ?? bound;
  for (const some of successors.values()) {
    yield;
    some.sort((a, b) => compare(firstBound(a), firstBound(b)));
  }
  const successorsOf = (id: VersionId): readonly PastVersion[] => successors.get(id) ?? [];

  const leaves: Leave[] = [];
  const leavesById = new Map<VersionId, readonly Leave[]>();
  for (const [id, some] of leavesToJudge) {
    yield;
    const judged = judgeLeaves(some, { bindings: bindingsOf, successors: successorsOf });
    for (const leave of judged) leaves.push(leave);
    const happened = judged.filter(({ state }) => state !== 'undone');
    happened.sort((a, b) => byBound(a, b) || a.at - b.at);
    leavesById.set(id, happened);
  }
  const leavesOf = (id: VersionId): readonly Leave[] => leavesById.get(id) ?? [];

  return {
    versions,
    files,
    leaves,
    damaged: { ...damaged, versions: conflicting },
    bindings: bindingsOf,
    leavesOf,
    successors: successorsOf,
    birthplace: (id) => bindingsOf(id)[0]?.path,
    ancestors: (id, isPassed) => ancestorsOf(versions, id, isPassed),
    descendants(id) {
      const found = new Map(successorsOf(id).map((next) => [next.id, next]));
      for (const { id: each } of found.values())
        for (const next of successorsOf(each)) found.set(next.id, next);
      found.delete(id);
      return [...found.values()];
    },
  };
}

/** Walks along the predecessors of a version, the nearest first. */
function ancestorsOf(
  versions: ReadonlyMap<VersionId, PastVersion>,
  id: VersionId,
  isPassed?: (id: VersionId) => boolean,
): readonly PastVersion[] {
  const found = new Set<PastVersion>();
  for (let next = versions.get(id)?.previous; next !== undefined && next !== id; ) {
    const at = versions.get(next);
    // Only a holder of keys can make a chain that loops. The walk ends at its second pass.
    if (at === undefined || found.has(at) || isPassed?.(next) === true) break;
    found.add(at);
    next = at.previous;
  }
  return [...found];
}

function bindingOf({ id, path, bound, file, saved }: FileSighting): Binding {
  return { id, path, bound, isThere: file !== undefined, isRenamed: file?.isRenamed === true, saved };
}

function versionOf(sighting: FileSighting): PastVersion {
  const { file: _, saved, ...facts } = sighting;
  return { ...facts, text: textIn(sighting), record: saved?.record };
}

function textIn({ file, redacted, saved }: FileSighting): PastVersion['text'] {
  if (file !== undefined) return 'current';
  if (redacted !== undefined) return 'redacted';
  return saved === undefined ? 'gone' : 'kept';
}

const NEARNESS: readonly PastVersion['text'][] = ['gone', 'kept', 'redacted', 'current'];

/**
 * Tells which of two sightings of one version counts: a file before a record, a record that says the text was taken out
 * before one that has it, and otherwise the one with the greater bound; between two files the first.
 */
function isNearer(version: PastVersion, known: PastVersion): boolean {
  const [near, before] = [NEARNESS.indexOf(version.text), NEARNESS.indexOf(known.text)];
  return near === before ? near < NEARNESS.length - 1 && version.bound > known.bound : near > before;
}

/** Tells whether two sightings may be of one version: two texts or two sets of facts never share an id. */
function agree(a: PastVersion, b: PastVersion): boolean {
  const isOneText = a.textHash === undefined || b.textHash === undefined || a.textHash === b.textHash;
  const areFacts = a.mtime === b.mtime && a.size === b.size;
  return isOneText && areFacts && a.previous === b.previous && a.writer === b.writer;
}

/** Adds a binding, or joins it with the equal one that is there already. */
function addBinding(bindings: Map<VersionId, Binding[]>, binding: Binding): void {
  const some = bindings.get(binding.id) ?? [];
  const at = some.findIndex(({ path, bound }) => path === binding.path && bound === binding.bound);
  const other = some[at];
  if (other === undefined) some.push(binding);
  else
    some[at] = {
      ...binding,
      isThere: binding.isThere || other.isThere,
      isRenamed: binding.isRenamed || other.isRenamed,
      saved: binding.saved ?? other.saved,
    };
  bindings.set(binding.id, some);
}

/** Appends a value to the list of a key. */
export function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const some = map.get(key);
  if (some === undefined) map.set(key, [value]);
  else some.push(value);
}

function byBound(a: { readonly bound: bigint }, b: { readonly bound: bigint }): number {
  return compare(a.bound, b.bound);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}
