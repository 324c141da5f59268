import type { MemoryPath } from '../../language/path.ts';
import type { Leave, Past, PastVersion, VersionId } from './past.ts';

/** A leave by which a file came to another path. */
type LifeRename = Leave & { readonly to: MemoryPath };

/** The life of one file at one place, across the renames that led there. */
export interface Life {
  /** The versions of the file, the newest first. */
  readonly chain: readonly [PastVersion, ...PastVersion[]];
  /** The renames in the order in which they happened. */
  readonly renames: readonly LifeRename[];
  /** The path of the file, or the last one that it had. */
  readonly path: MemoryPath;
  /** The delete that ended the life; undefined while the file is there. */
  readonly deleted: Leave | undefined;
}

/** Finds the life of each file, of the deleted ones as well, in steps. A version at two paths has a life at each. */
export function* livesOf(past: Past): Generator<void, readonly Life[]> {
  const lives: Life[] = [];
  for (const { id, path } of past.files.values()) {
    yield;
    lives.push(...(yield* lifeAt(past, { id, path, deleted: undefined })));
  }
  for (const leave of past.leaves) {
    yield;
    const { id, from, to } = leave;
    if (to !== undefined || isBackSince(past, leave)) continue;
    lives.push(...(yield* lifeAt(past, { id, path: from, deleted: leave })));
  }
  return lives;
}

/**
 * Tells whether the version came back after the leave: it lies there, or left from there again. Another life has it
 * then.
 */
function isBackSince({ files, leavesOf }: Past, { id, from, bound }: Leave): boolean {
  const there = files.get(from);
  const isThere = there?.id === id && there.bound > bound;
  return isThere || leavesOf(id).some((later) => later.from === from && later.bound > bound);
}

/** Finds the life that ended, or goes on, with a version at a path; none where the facts of the version are unknown. */
function* lifeAt(
  past: Past,
  { id, path, deleted }: Pick<Life, 'path' | 'deleted'> & { readonly id: VersionId },
): Generator<void, readonly Life[]> {
  const version = past.versions.get(id);
  if (version === undefined) return [];
  const chain: Life['chain'] = [version, ...past.ancestors(id)];
  const renames: LifeRename[] = [];
  let at = path;
  for (const each of chain) {
    yield;
    renames.push(...routeTo(past, each.id, at));
    at = past.birthplace(each.id) ?? at;
  }
  return [{ chain, renames: renames.reverse(), path, deleted }];
}

/** Finds the renames that brought a version to a path, the last one first. */
function routeTo({ leavesOf }: Past, id: VersionId, path: MemoryPath): readonly LifeRename[] {
  const route: LifeRename[] = [];
  let at = path;
  for (const { to, ...leave } of leavesOf(id).toReversed()) {
    if (to !== at) continue;
    route.push({ ...leave, to });
    at = leave.from;
  }
  return route;
}
