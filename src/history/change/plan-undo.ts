import type { MemoryPath } from '../../language/path.ts';
import { type Life, livesOf } from '../past/lives.ts';
import type { Leave, Past, PastVersion, VersionId } from '../past/past.ts';
import { draftPlan, haveSameText, type IsHidden, type LeftFile, type PlanDraft } from './plan.ts';

interface Undoing {
  /** Tells whether a keyed hash is that of the actor whose deeds are undone. */
  readonly isMeant: (by: string | undefined) => boolean;
  /** True to undo also the deeds that others have built on, and with them the deeds of those others. */
  readonly force: boolean;
}

interface UndoContext extends Undoing {
  readonly past: Past;
  readonly draft: PlanDraft;
}

type DeletedLife = Life & { readonly deleted: Leave };

/** The state of a file before some of its versions. */
type Before = PastVersion | 'nothing' | Lacking;

/** A text that is not kept. */
interface Lacking {
  readonly reason: 'expired' | 'redacted';
  readonly version: VersionId;
}

/**
 * Plans the undo of one actor's versions, renames and deletes, in steps, as far as no other actor has built on them: a
 * text where it is the file's newest, a rename where the file has stayed as it was since, a delete where the path is
 * free now. A file that has its earlier text again was undone before, and is passed over.
 */
export function* planUndo(
  past: Past,
  { isMeant, force, isHidden }: Undoing & { readonly isHidden: IsHidden },
): Generator<void, PlanDraft> {
  const draft = draftPlan(past, isHidden);
  for (const path of past.damaged.files) draft.left.set(path, { path, reason: 'damaged' });
  const lives = yield* livesOf(past);
  const context = { past, isMeant, force, draft };
  // Among files deleted at one path the last one gets the path.
  const deleted = lives.flatMap((life) =>
    life.deleted === undefined ? [] : [{ ...life, deleted: life.deleted }],
  );
  deleted.sort((a, b) => b.deleted.at - a.deleted.at);
  const deletedAt = Map.groupBy(deleted, ({ path }) => path);
  for (const life of lives) {
    yield;
    if (life.deleted === undefined) yield* planPresent(context, withEarlierLives(context, life, deletedAt));
  }
  for (const life of deleted) {
    yield;
    if (isMeant(life.deleted.by)) yield* planDeleted(context, life);
  }
  return draft;
}

/**
 * Joins a file to its earlier lives where another actor deleted it and created it again with the same text, as the undo
 * of that delete does. This means that the undone actor's texts in the earlier lives are found as well.
 *
 * @param deletedAt the deleted files of each path, the last one first.
 */
function withEarlierLives(
  { isMeant }: UndoContext,
  life: Life,
  deletedAt: ReadonlyMap<MemoryPath, readonly DeletedLife[]>,
): Life {
  const chain: [PastVersion, ...PastVersion[]] = [...life.chain];
  const joined = new Set<Life>();
  for (;;) {
    const first = chain.at(-1);
    if (first === undefined || first.previous !== undefined || isMeant(first.writer)) break;
    const earlier = deletedAt.get(first.path)?.find((each) => {
      const [last] = each.chain;
      return !joined.has(each) && haveSameText(last, first) && !isMeant(each.deleted.by);
    });
    if (earlier === undefined) break;
    joined.add(earlier);
    for (const version of earlier.chain) chain.push(version);
  }
  return { ...life, chain };
}

/** Plans for a file that is present. */
function* planPresent(context: UndoContext, life: Life): Generator<void> {
  const { past, draft } = context;
  const { path, chain } = life;
  const [newest] = chain;
  const before = yield* textBefore(context, life);
  const fromVersion = newest.id;
  if (before === 'nothing') {
    draft.deletes.set(path, { path, what: 'delete', fromVersion });
    return;
  }
  if ('reason' in before) {
    draft.left.set(path, { path, ...before });
    return;
  }
  const at = pathBefore(context, life);
  // A rename back that was cut off has left the file at both paths.
  const isAtBoth = at !== path && past.files.get(at)?.id === newest.id;
  if (isAtBoth) draft.deletes.set(path, { path, what: 'delete', fromVersion });
  else if (at !== path) draft.renames.set(path, { path, what: 'rename', fromVersion, to: at });
  if (before !== newest)
    draft.writes.set(at, { path: at, what: 'replace', fromVersion, toVersion: before.id });
}

/** Plans for a file whose delete is to be undone. */
function* planDeleted(context: UndoContext, life: DeletedLife): Generator<void> {
  const { past, draft, force } = context;
  const { writes, deletes, left } = draft;
  const before = yield* textBefore(context, life);
  if (before === 'nothing') return;
  if ('reason' in before) {
    left.set(life.path, { path: life.path, ...before });
    return;
  }
  const path = pathBefore(context, life);
  const planned = writes.get(path) ?? deletes.get(path);
  const now = draft.renames.has(path) ? undefined : past.versions.get(past.files.get(path)?.id ?? '');
  const chain = now === undefined ? [] : [now, ...past.ancestors(now.id)];
  if (hasSame(chain, before)) {
    // The delete was undone before, perhaps on behalf of the same actor, perhaps over another file at the path.
    deletes.delete(path);
    if (left.get(path)?.reason === 'built_on' && hasSame(chain.slice(0, 1), before)) left.delete(path);
    return;
  }
  const toVersion = before.id;
  if (now !== undefined && (force || planned?.what === 'delete')) {
    deletes.delete(path);
    writes.set(path, { path, what: 'replace', fromVersion: now.id, toVersion });
  } else if (now === undefined && planned === undefined)
    writes.set(path, { path, what: 'create', toVersion });
  else {
    const coming = planned?.toVersion === undefined ? [] : [planned.toVersion];
    const later = now === undefined ? coming : chain.map(({ id }) => id);
    left.set(path, { path, reason: 'built_on', version: life.deleted.id, later });
  }
}

/** Finds the version whose text the file should have, in steps: its newest one where the actor has no deed to undo. */
function* textBefore(context: UndoContext, { chain, path }: Life): Generator<void, Before> {
  const { isMeant, force, draft } = context;
  const [newest] = chain;
  let before: Before = newest;
  /** The ids and the texts of the versions that the walk has passed. */
  const [ids, texts] = [new Set<VersionId>(), new Set<string | undefined>()];
  const hasCome = ({ id, textHash }: PastVersion): boolean => ids.has(id) || texts.has(textHash);
  for (let start = 0; start < chain.length; ) {
    let end = start;
    while (isMeant(chain[end]?.writer)) end++;
    const version = chain[start];
    const found = end > start ? beforeThat(chain, end - 1) : undefined;
    if (version !== undefined && found !== undefined && !(isVersion(found) && hasCome(found))) {
      if (start === 0 || force) before = found;
      else if (!draft.left.has(path))
        leaveBuiltOn(draft, { path, version: version.id, later: chain.slice(0, start).map(({ id }) => id) });
    }
    const next = Math.max(end, start + 1);
    for (const { id, textHash } of chain.slice(start, next)) {
      yield;
      ids.add(id);
      if (textHash !== undefined) texts.add(textHash);
    }
    start = next;
  }
  const isSame = isVersion(before) && haveSameText(newest, before);
  return isSame ? newest : before;
}

function beforeThat(chain: readonly PastVersion[], index: number): Before {
  const [base, previous] = [chain[index + 1], chain[index]?.previous];
  if (base?.text === 'redacted') return { reason: 'redacted', version: base.id };
  if (base !== undefined) return base;
  return previous === undefined ? 'nothing' : { reason: 'expired', version: previous };
}

function isVersion(before: Before): before is PastVersion {
  return before !== 'nothing' && !('reason' in before);
}

function hasSame(chain: readonly PastVersion[], text: PastVersion): boolean {
  return chain.some((version) => haveSameText(version, text));
}

/** Finds the path that the file should have: its own where the actor renamed nothing. */
function pathBefore({ isMeant, force, draft }: UndoContext, { chain, renames, path }: Life): MemoryPath {
  const last = renames.findLastIndex(({ by }) => isMeant(by));
  let first = last;
  while (first > 0 && (force || isMeant(renames[first - 1]?.by))) first--;
  while (first < last && !isMeant(renames[first]?.by)) first++;
  const rename = renames[first];
  if (rename === undefined || rename.from === path) return path;
  if (force) return rename.from;
  const since = chain.slice(
    0,
    chain.findIndex(({ id }) => id === rename.id),
  );
  const later = since.filter(({ writer }) => !isMeant(writer)).map(({ id }) => id);
  if (last === renames.length - 1 && later.length === 0) return rename.from;
  leaveBuiltOn(draft, { path, version: rename.id, later });
  return path;
}

/** Leaves a file that others have built on. The first finding about a file counts. */
function leaveBuiltOn(
  { left }: PlanDraft,
  { path, version, later }: Required<Pick<LeftFile, 'path' | 'version' | 'later'>>,
): void {
  if (!left.has(path)) left.set(path, { path, reason: 'built_on', version, later });
}
