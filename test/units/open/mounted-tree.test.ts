import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createOnce } from '../../../src/agent/once.ts';
import { MemoryError } from '../../../src/errors.ts';
import { MEMORY_ROOT } from '../../../src/language/path.ts';
import { createMountedTree } from '../../../src/open/mounted-tree.ts';
import type { Touch } from '../../../src/tree/touches.ts';
import type { Tree } from '../../../src/tree/tree.ts';
import { at, bytes, createSite, type TestClient, type TestSite } from '../../stage/test-tree.ts';

describe('a tree with another one mounted in it', () => {
  let site: TestSite;
  let own: TestClient;
  let other: TestClient;
  let tree: Tree;
  beforeEach(async () => {
    site = await createSite();
    [own, other] = [await site.client(), await site.client({ tenant: 'org' })];
    tree = createMountedTree(own.tree, [{ at: at('/memories/org'), tree: other.tree }]);
    await own.create('/memories/a', 'x');
    await other.create('/memories/b', 'x');
    await other.create('/memories/c', 'x');
  });
  afterEach(() => site.base[Symbol.asyncDispose]());

  it.each([
    [0, true],
    [1, true],
    [2, true],
    [3, false],
    [4, false],
  ])('lists at most %i files, and says that there are more: %s', async (maxFiles, truncated) => {
    const listing = await tree.list(MEMORY_ROOT, { maxFiles });
    expect(listing.files).toHaveLength(Math.min(maxFiles, 3));
    expect(listing.truncated).toBe(truncated);
  });

  it('has its mounts as directories that are always there and that hold what the other tree holds', () => {
    const always = ['/memories', '/memories/org', '/memories/a', '/memories/org/b', '/memories/organ'];
    expect(always.filter((path) => tree.isAlwaysDirectory(at(path)))).toEqual(['/memories', '/memories/org']);
  });

  it('tells of a call that may have been made whether it was, in the tree where it was to be made', async () => {
    const key = new Uint8Array(16).fill(9);
    const ask = (index: number, deed: Parameters<Tree['wasMade']>[0], seen: readonly string[] = []) =>
      tree.wasMade(deed, {
        once: createOnce({ key, index }, { since: site.time.clock(), seen: new Set(seen) }),
      });
    await tree.create(at('/memories/org/d'), bytes('x'), { once: createOnce({ key, index: 0 }, undefined) });
    await tree.rename(
      { from: at('/memories/org/c'), to: at('/memories/org/e') },
      { once: createOnce({ key, index: 1 }, undefined) },
    );
    expect(await ask(0, { kind: 'written', path: at('/memories/org/d') })).toBe(true);
    expect(await ask(0, { kind: 'written', path: at('/memories/d') })).toBeUndefined();
    const renamed = { kind: 'renamed', path: at('/memories/org/c') } as const;
    expect(await ask(1, { ...renamed, to: at('/memories/org/e') })).toBe(true);
    // A rename from one memory into another is refused, so it was never made.
    expect(await ask(1, { ...renamed, to: at('/memories/e') })).toBe(false);
  });

  it('tells its listener of each touch as the caller knows the path', async () => {
    const touches: Touch[] = [];
    const onTouch = (touch: Touch): void => void touches.push(touch);
    const read = (path: string) => tree.read(at(path), { onTouch });
    await read('/memories/a');
    await read('/memories/org/b');
    await tree.create(at('/memories/org/d'), bytes('x'), { onTouch });
    await tree.rename({ from: at('/memories/org/d'), to: at('/memories/org/e') }, { onTouch });
    await tree.remove(at('/memories/org/e'), { onTouch });
    await tree.read(at('/memories/org/c'));
    const version = expect.any(String);
    expect(touches).toEqual([
      { kind: 'read', path: '/memories/a', version },
      { kind: 'read', path: '/memories/org/b', version },
      { kind: 'written', path: '/memories/org/d', version },
      { kind: 'renamed', path: '/memories/org/d', to: '/memories/org/e' },
      { kind: 'deleted', path: '/memories/org/e' },
    ]);
  });

  it('tells below which mount a limit was met, and names the paths of a failure as the caller knows them', async () => {
    const failing = async (details: MemoryError['details'], code: 'limit_exceeded' | 'unavailable') => {
      const thrown = new MemoryError(code, 'no', { details, retry: 'later' });
      const refuses = createMountedTree({ ...own.tree, create: () => Promise.reject(thrown) }, [
        { at: at('/memories/org'), tree: { ...other.tree, create: () => Promise.reject(thrown) } },
      ]);
      const failures = ['/memories/org/x', '/memories/x'].map((path) =>
        refuses.create(at(path), bytes('x')).catch((error: MemoryError) => error.details),
      );
      return Promise.all(failures);
    };
    const full = { limit: 'files' };
    expect(await failing(full, 'limit_exceeded')).toEqual([{ ...full, below: '/memories/org' }, full]);
    expect(await failing(full, 'unavailable')).toEqual([full, full]);
    const deep = { rule: 'too_many_segments', max: 16 };
    expect(await failing(deep, 'unavailable')).toEqual([{ ...deep, below: '/memories/org' }, deep]);
    const left = { paths: ['/memories/b', '/memories/c'] };
    const outward = { paths: ['/memories/org/b', '/memories/org/c'] };
    expect(await failing(left, 'unavailable')).toEqual([outward, left]);
  });
});
