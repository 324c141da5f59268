import { concat, domain, NO_BYTES, u64 } from './encoding.ts';
import { hash } from './sodium.ts';

/*
 * The hash tree of a checkpoint (docs/format.md, "Checkpoints"): that of RFC 6962 over salted leaves. The salts hide the
 * leaves from who has the root, and from who has the proof of another leaf.
 */

const HASH_BYTES = 32;
const LEAF = domain('checkpoint-leaf');
const NODE = domain('checkpoint-node');
const SALT = domain('checkpoint-salt');
const ROOT = domain('checkpoint');

/** The salt of the leaf with that number, from 0; what lies above the leaves has that of their count. */
export function saltOf(secret: Uint8Array, index: number): Uint8Array {
  return hash(HASH_BYTES, secret, concat(SALT, u64(index)));
}

export function hashLeaf(salt: Uint8Array, leaf: Uint8Array): Uint8Array {
  return hash(HASH_BYTES, salt, concat(LEAF, leaf));
}

/** What a checkpoint's line shows: binds all that the checkpoint says, the tree's own root among it. */
export function hashRoot(salt: Uint8Array, facts: Uint8Array): Uint8Array {
  return hash(HASH_BYTES, salt, concat(ROOT, facts));
}

function hashNode(left: Uint8Array, right: Uint8Array): Uint8Array {
  return hash(HASH_BYTES, NO_BYTES, concat(NODE, left, right));
}

/** Takes the hashes of the leaves in their order, and keeps as many as the tree is high. */
export interface HashTree {
  add(leaf: Uint8Array): void;
  /** Of the leaves so far. */
  root(): Uint8Array;
}

export function createHashTree(): HashTree {
  /** Of the whole subtrees so far, the largest first, and how many leaves each has. */
  const subtrees: { readonly leaves: number; readonly hash: Uint8Array }[] = [];
  return {
    add(leaf) {
      let last = { leaves: 1, hash: leaf };
      for (let before = subtrees.at(-1); before?.leaves === last.leaves; before = subtrees.at(-1)) {
        subtrees.pop();
        last = { leaves: 2 * last.leaves, hash: hashNode(before.hash, last.hash) };
      }
      subtrees.push(last);
    },
    root() {
      const last = subtrees.at(-1);
      if (last === undefined) return hash(HASH_BYTES, NO_BYTES, NODE);
      return subtrees.slice(0, -1).reduceRight((right, { hash: left }) => hashNode(left, right), last.hash);
    },
  };
}

/** The hashes beside the way from a leaf to the root, from below. */
export function pathToRoot(leaves: readonly Uint8Array[], index: number): readonly Uint8Array[] {
  if (leaves.length <= 1) return [];
  const split = largestPowerBelow(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...pathToRoot(left, index), rootOf(right)]
    : [...pathToRoot(right, index - split), rootOf(left)];
}

/** The root that a leaf and the hashes beside its way lead to; undefined where their number is another one. */
export function rootFromPath(
  leaf: Uint8Array,
  {
    index,
    count,
    path,
  }: { readonly index: number; readonly count: number; readonly path: readonly Uint8Array[] },
): Uint8Array | undefined {
  if (index >= count) return undefined;
  const turns = turnsOf(index, count);
  if (turns.length !== path.length) return undefined;
  return path.reduce(
    (below, beside, step) => (turns[step] === 'left' ? hashNode(below, beside) : hashNode(beside, below)),
    leaf,
  );
}

/** On which side the way from a leaf to the root runs, from below. */
function turnsOf(index: number, count: number): readonly ('left' | 'right')[] {
  if (count <= 1) return [];
  const split = largestPowerBelow(count);
  return index < split
    ? [...turnsOf(index, split), 'left']
    : [...turnsOf(index - split, count - split), 'right'];
}

function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  const tree = createHashTree();
  for (const leaf of leaves) tree.add(leaf);
  return tree.root();
}

/** Of a count above 1. */
function largestPowerBelow(count: number): number {
  return 2 ** (31 - Math.clz32(count - 1));
}
