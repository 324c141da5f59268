import { expect, it } from 'vitest';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { millisecondsOf } from '../../src/format/wrap.ts';
import { createStamps, MOST_SKEW_MS, SAME_TIME_MS } from '../../src/stamps.ts';
import { readFile } from '../../src/tree/read-file.ts';
import { at, describeOnBothKinds, type TestSite } from '../stage/test-tree.ts';

const HOUR = 3_600_000;

/** A process beside a store that tells a date before each of its commands: so far from the process's own time. */
async function openBeside(site: TestSite, tell: () => number | undefined) {
  const { clock } = site.time;
  const stamps = createStamps({ clock, monotonic: clock });
  const client = await site.client({ keepsHistory: true, stamps });
  const observe = (): void => {
    const ms = tell();
    if (ms !== undefined) stamps.observe(clock() + ms);
  };
  client.intercept(async (_, proceed) => {
    const answer = await proceed();
    observe();
    return answer;
  });
  observe();
  return client;
}

/** Milliseconds since the epoch of the version that lies at a path, and of its binding. */
async function timesAt(site: TestSite, path: string) {
  const file = await readFile(await (await site.client()).open(), at(path));
  return file === undefined ? [] : [file.mtime, millisecondsOf(file.bound)];
}

describeOnBothKinds('the date that a store tells', (open) => {
  it.each<readonly [string, () => number | undefined]>([
    ['none', () => undefined],
    ['a minute behind', () => -SAME_TIME_MS],
    ['47 hours behind', () => -47 * HOUR],
    ['47 hours ahead', () => 47 * HOUR],
    ['another one in each answer', jumping([0, 47 * HOUR, -47 * HOUR, 3 * HOUR, -SAME_TIME_MS])],
  ])('leads no time further away than 48 hours, and no command astray: %s', async (_, tell) => {
    const site = await open();
    const client = await openBeside(site, tell);
    const began = site.time.clock();
    await client.create('/memories/d/a', 'a');
    await client.append('/memories/d/a', 'b');
    await client.rename('/memories/d/a', '/memories/d/b');
    await client.rename('/memories/d', '/memories/e');
    for (const time of await timesAt(site, '/memories/e/b')) {
      expect(time).toBeGreaterThanOrEqual(began - MOST_SKEW_MS);
      expect(time).toBeLessThanOrEqual(site.time.clock() + MOST_SKEW_MS);
    }
    const other = await site.client();
    await other.append('/memories/e/b', 'c');
    expect(await client.text('/memories/e/b')).toBe('abc');
    await client.remove('/memories/e/b');
    expect((await verifyTree(other.tenant)).findings).toEqual([]);
  });

  it.each<readonly [string, number]>([
    ['1970', Number.NEGATIVE_INFINITY],
    ['49 hours behind', -49 * HOUR],
    ['49 hours ahead', 49 * HOUR],
    ['9999', Number.POSITIVE_INFINITY],
  ])('lets nothing be written that is further away, and everything be read: %s', async (_, ms) => {
    const site = await open();
    const before = await site.client({ keepsHistory: true });
    await before.create('/memories/a', 'a');
    const far =
      ms === Number.NEGATIVE_INFINITY
        ? -site.time.clock()
        : Math.min(ms, 253_402_300_799_000 - site.time.clock());
    const client = await openBeside(site, () => far);
    const refused = expect.objectContaining({ code: 'misconfigured' });
    expect(await client.text('/memories/a')).toBe('a');
    await expect(client.create('/memories/b', 'b')).rejects.toThrow(refused);
    await expect(client.append('/memories/a', 'b')).rejects.toThrow(refused);
    await expect(client.rename('/memories/a', '/memories/c')).rejects.toThrow(refused);
    await expect(client.remove('/memories/a')).rejects.toThrow(refused);
    expect(await before.paths()).toEqual(['/memories/a']);
    expect(await before.text('/memories/a')).toBe('a');
  });
});

function jumping(dates: readonly number[]): () => number | undefined {
  let next = 0;
  return () => dates[next++ % dates.length];
}
