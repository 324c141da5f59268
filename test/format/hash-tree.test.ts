import { beforeAll, describe, expect, it } from 'vitest';
import { toBase64url } from '../../src/format/encoding.ts';
import {
  createHashTree,
  hashLeaf,
  hashRoot,
  pathToRoot,
  rootFromPath,
  saltOf,
} from '../../src/format/hash-tree.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import { bytes } from '../support/test-tree.ts';

const SECRET = new Uint8Array(32).fill(3);

beforeAll(loadSodium);

function leavesOf(count: number): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, index) => hashLeaf(saltOf(SECRET, index), bytes(`leaf ${index}`)));
}

function rootOf(leaves: readonly Uint8Array[]): string {
  const tree = createHashTree();
  for (const leaf of leaves) tree.add(leaf);
  return toBase64url(tree.root());
}

/** The definition of RFC 6962, as it stands there. */
function plainRoot(leaves: readonly Uint8Array[]): string {
  if (leaves.length <= 1) return rootOf(leaves);
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  const halves = [leaves.slice(0, split), leaves.slice(split)].map((half) =>
    Uint8Array.from(Buffer.from(plainRoot(half), 'base64url')),
  );
  return rootOf(halves);
}

describe('the tree of a checkpoint', () => {
  it('is that of RFC 6962 for every count of leaves', () => {
    for (let count = 0; count <= 40; count++)
      expect(rootOf(leavesOf(count))).toBe(plainRoot(leavesOf(count)));
  });

  it('has another root for another leaf, order or count', () => {
    const leaves = leavesOf(7);
    const swapped = leaves.with(2, leaves[3] ?? SECRET).with(3, leaves[2] ?? SECRET);
    const roots = [
      leaves,
      swapped,
      leaves.slice(1),
      leaves.slice(0, 6),
      [...leaves, SECRET],
      leavesOf(0),
    ].map(rootOf);
    expect(new Set(roots).size).toBe(roots.length);
  });

  it('keeps leaves, nodes and roots apart, and the same leaf at two places', () => {
    const [salt, other] = [saltOf(SECRET, 0), saltOf(SECRET, 1)];
    const [left, right] = [hashLeaf(salt, bytes('a')), hashLeaf(other, bytes('a'))];
    const both = new Uint8Array(64);
    both.set(left);
    both.set(right, 32);
    const all = [left, right, hashLeaf(salt, both), hashRoot(salt, both), hashRoot(salt, bytes('a'))].map(
      toBase64url,
    );
    expect(new Set([...all, rootOf([left, right])]).size).toBe(6);
  });

  it('leads every leaf to the root by its path, and no other', () => {
    for (const count of [1, 2, 3, 4, 5, 8, 13, 31]) {
      const leaves = leavesOf(count);
      for (const [index, leaf] of leaves.entries()) {
        const path = pathToRoot(leaves, index);
        const lead = (
          to: Partial<{ index: number; count: number; path: readonly Uint8Array[] }> = {},
        ): string => toBase64url(rootFromPath(leaf, { index, count, path, ...to }) ?? new Uint8Array());
        expect(lead()).toBe(rootOf(leaves));
        expect(lead({ path: [...path, leaf] })).toBe('');
        expect(lead({ index: count })).toBe('');
        if (count > 1) expect(lead({ path: path.with(0, SECRET) })).not.toBe(rootOf(leaves));
        if (count > 1) expect(lead({ index: (index + 1) % count })).not.toBe(rootOf(leaves));
      }
    }
  });
});
