import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { createTombstone } from '../../../../src/format/tombstone.ts';
import { anythingBelow, findClash } from '../../../../src/tree/staying/clashes.ts';
import { countCalls } from '../../../stage/store-wrappers.ts';
import {
  at,
  createSite,
  describeOnBothKinds,
  type StoreKind,
  type TestClient,
  TRIED_KINDS,
} from '../../../stage/test-tree.ts';

const SEEDS = 150;

describeOnBothKinds('the look for clashes', (newSite) => {
  it('asks one LIST and one HEAD for each ancestor that is not known to be a directory', async () => {
    const client = await (await newSite()).client();
    const work = await client.open();
    client.calls.length = 0;
    expect(await findClash(work, at('/memories/a/b/c/d'), [at('/memories/a')])).toBeUndefined();
    expect(countCalls(client.calls)).toEqual({ list: 1, head: 2 });
  });

  it('waits for a young file above to go', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await other.create('/memories/a', 'above');
    const work = await client.open();
    const looking = findClash(work, at('/memories/a/b'));
    await site.time.pause(1_500);
    await other.remove('/memories/a');
    expect(await looking).toBeUndefined();
  });

  it('waits for no file that is known to stay: an own one, and one that was edited', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/own', 'above');
    await other.create('/memories/edited', 'above');
    await other.append('/memories/edited', '+');
    await other.create('/memories/d/renamed', 'above');
    await client.rename('/memories/d', '/memories/e');
    await other.create('/memories/file', 'above');
    await client.rename('/memories/file', '/memories/elsewhere');
    const work = await client.open();
    const started = site.time.clock();
    for (const [path, calls] of [
      ['/memories/own/b', { list: 1, head: 1 }],
      ['/memories/edited/b', { list: 1, head: 1, get: 1 }],
      ['/memories/e/renamed/b', { list: 1, head: 2 }],
      ['/memories/elsewhere/b', { list: 1, head: 1 }],
    ] as const) {
      client.calls.length = 0;
      expect(await findClash(work, at(path))).toBe('file_above');
      expect(countCalls(client.calls)).toEqual(calls);
    }
    expect(site.time.clock()).toBe(started);
  });

  it('takes a young file above for lasting after 3 s', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await other.create('/memories/a', 'above');
    const work = await client.open();
    const started = site.time.clock();
    expect(await findClash(work, at('/memories/a/b'))).toBe('file_above');
    expect(site.time.clock() - started).toBeGreaterThanOrEqual(3_000);
    expect(site.time.clock() - started).toBeLessThan(3_500);
  });

  it('takes a file above that is older than 3 s for lasting at once', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', 'above');
    await site.time.pause(3_001);
    const work = await client.open();
    client.calls.length = 0;
    expect(await findClash(work, at('/memories/a/b'))).toBe('file_above');
    expect(countCalls(client.calls)).toEqual({ list: 1, head: 1 });
  });

  it('finds something below whatever its age', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b', 'below');
    expect(await findClash(await client.open(), at('/memories/a'))).toBe('directory_at_path');
    expect(await findClash(await client.open(), at('/memories/aa'))).toBeUndefined();
  });
});

describe('what lies below a directory on an unguarded store', () => {
  it('is found behind tombstones, and tombstones alone are nothing', async () => {
    const site = await createSite('unguarded');
    const client = await site.client();
    await client.create('/memories/a/b', 'below');
    const work = await client.open();
    const [listed] = (await client.tree.list(at('/memories/a'))).files;
    const directory = listed?.key.slice(0, listed.key.lastIndexOf('/') + 1);
    for (let i = 0; i < 5; i++) {
      const key = `${directory}-${i}` as ObjectKey;
      await site.base.put(key, createTombstone(site.time.randomBytes), { mode: 'create' });
    }
    expect(await anythingBelow(work, at('/memories/a'))).toBe(true);
    await client.remove('/memories/a/b');
    expect(await anythingBelow(work, at('/memories/a'))).toBe(false);
  });
});

/** Requests of each creator take up to 2 × 40 ms; the orders in which they meet are the seeds'. */
describe.each(TRIED_KINDS)('creators of a path and of one below it, at once, on a(n) %s store', (kind) => {
  it('leave exactly one of the two places', { timeout: 60_000 }, async () => {
    const winners = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { results, left } = await race(kind, seed, ['/memories/a', '/memories/a/b']);
      const won = results.filter((each) => each.outcome === 'created').map(({ path }) => path);
      expect({ seed, won }).toEqual({ seed, won: left });
      expect({ seed, places: left.length }).toEqual({ seed, places: 1 });
      winners.add(left.join());
    }
    expect(winners.size).toBe(2);
  });

  it('of three on one branch leave at least one, and never a file above a file', {
    timeout: 60_000,
  }, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { results, left } = await race(kind, seed, ['/memories/a', '/memories/a/b', '/memories/a/b/c']);
      const won = results.filter((each) => each.outcome === 'created').map(({ path }) => path);
      expect({ seed, won }).toEqual({ seed, won: left });
      expect({ seed, places: left.length }).toEqual({ seed, places: 1 });
    }
  });

  it('of one path leave exactly one', { timeout: 60_000 }, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { results } = await race(kind, seed, ['/memories/a', '/memories/a', '/memories/a']);
      expect({ seed, outcomes: results.map((each) => each.outcome).sort() }).toEqual({
        seed,
        outcomes: ['already_exists', 'already_exists', 'created'],
      });
    }
  });
});

interface RaceResult {
  readonly path: string;
  readonly outcome: string;
}

/** One creator for each path, each a process of its own, and what lies there once all have ended. */
async function race(
  kind: StoreKind,
  seed: number,
  paths: readonly string[],
): Promise<{ readonly results: readonly RaceResult[]; readonly left: readonly string[] }> {
  const site = await createSite(kind, seed);
  const setUp = await site.client();
  await setUp.open();
  const creators = await Promise.all(paths.map(() => site.client({ delayMs: 40 })));
  await Promise.all(creators.map((creator) => creator.open()));
  const results = await Promise.all(paths.map((path, i) => outcomeOf(creators[i], path, i)));
  const left = await setUp.paths();
  await site.base[Symbol.asyncDispose]();
  return { results, left };
}

async function outcomeOf(client: TestClient | undefined, path: string, i: number): Promise<RaceResult> {
  try {
    await client?.create(path, `creator ${i}`);
    return { path, outcome: 'created' };
  } catch (error) {
    return { path, outcome: (error as { readonly code: string }).code };
  }
}
