import { describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { parseGivenPath } from '../../../src/language/path.ts';
import { meantPath, withMeant } from '../../../src/tool/meant-path.ts';
import type { Tree } from '../../../src/tree/tree.ts';

const NFD = parseGivenPath('/memories/e\u0301');
const NFC = parseGivenPath('/memories/\u00e9');
const { signal } = new AbortController();

/** A tree in which a path holds what the function answers. */
function treeOf(stat: () => Promise<unknown>) {
  const asked = vi.fn(stat);
  return { tree: { stat: asked } as unknown as Pick<Tree, 'stat'>, asked };
}

describe('the path that a caller means', () => {
  it('is one in NFC, for which nothing is asked', async () => {
    const { tree, asked } = treeOf(async () => undefined);
    expect(await meantPath(tree, NFC, { signal })).toBe(NFC);
    expect(await withMeant(tree, [NFC, NFC], { signal }, async (...paths) => paths)).toEqual([NFC, NFC]);
    expect(asked).not.toHaveBeenCalled();
  });

  it.each([
    ['a file', async () => ({ size: 1 })],
    ['a directory', async () => 'directory'],
    ['a damaged file', () => Promise.reject(new MemoryError('integrity', 'damaged'))],
  ])('is the one in another form where %s lies there', async (_, stat) => {
    const { tree, asked } = treeOf(stat);
    expect(await meantPath(tree, NFD, { signal })).toBe(NFD);
    expect(asked.mock.calls).toEqual([[NFD, { signal }]]);
  });

  it('is the one in NFC where nothing lies there', async () => {
    const { tree, asked } = treeOf(async () => undefined);
    expect(await withMeant(tree, [NFD, NFC], { signal }, async (...paths) => paths)).toEqual([NFC, NFC]);
    expect(asked.mock.calls).toEqual([[NFD, { signal }]]);
  });

  it('is unknown where the store fails', async () => {
    const { tree } = treeOf(() => Promise.reject(new MemoryError('unavailable', 'down')));
    await expect(withMeant(tree, [NFC, NFD], {}, async () => 'asked')).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
