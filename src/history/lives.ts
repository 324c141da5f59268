import type { MemoryPath } from '../language/path.ts';
import { chainOf } from './chain.ts';
import type { Move } from './moves.ts';
import { linkedMoves } from './tree-at.ts';
import type { Past, Version } from './versions.ts';

/** The life of one file, across its renames. */
export interface Life {
  /** The newest first. */
  readonly chain: readonly Version[];
  /** In their order, the delete left out. */
  readonly renames: readonly (Move & { readonly to: MemoryPath })[];
  /** Where it is, or was last. */
  readonly path: MemoryPath;
  /** Undefined: it is there. */
  readonly deleted: Move | undefined;
}

/** Every file that is there, and every one that was deleted. */
export function livesOf(past: Past): readonly Life[] {
  const lives: Life[] = [];
  for (const version of past.versions.values()) {
    if (past.successors.has(version.id)) continue;
    const chain = chainOf(past, version);
    const moves = [...chain].reverse().flatMap((each) => linkedMoves(past, each));
    const renames = moves.flatMap((move) => (move.to === undefined ? [] : [{ ...move, to: move.to }]));
    const [last, lastRename] = [moves.at(-1), renames.at(-1)];
    const isThere = version.text === 'current';
    if (isThere) {
      const isAtTarget = lastRename !== undefined && past.files.get(lastRename.to) === version.id;
      lives.push({ chain, renames, path: isAtTarget ? lastRename.to : version.path, deleted: undefined });
    } else if (last !== undefined && last.to === undefined) {
      lives.push({ chain, renames, path: last.from, deleted: last });
    }
  }
  return lives;
}
