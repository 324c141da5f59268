import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { createHistory, type History } from '../../../../src/history/history.ts';
import type { HistoryEntry } from '../../../../src/history/past/entries.ts';
import { drawsOf } from '../../../runner/draws.ts';
import { openSite, type TestClient } from '../../../stage/test-tree.ts';

const RUNS = 6;
const DEEDS = 40;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Deeds at few paths, by processes whose clocks differ by minutes: every path gets several files and several names. */
async function live(
  name: string,
  pauseMs = 30_000,
): Promise<{ readonly history: History; readonly paths: ReadonlySet<string> }> {
  const draw = drawsOf(`pages of a history ${name}`);
  const below = (count: number): number => Math.floor(draw() * count);
  const one = <T>(of: readonly T[]): T => of[below(of.length)] as T;
  const site = await openSite();
  const clocks = [0, -12, 9].map((minutes) => () => Math.floor(site.time.clock()) + minutes * MINUTE_MS);
  const clients: TestClient[] = [];
  for (const clock of clocks) clients.push(await site.client({ keepsHistory: true, clock }));
  const paths = new Set<string>();
  for (let deed = 0; deed < DEEDS; deed++) {
    await site.time.pause(1 + below(3) * pauseMs);
    const client = one(clients);
    const [path, other] = [0, 1].map(() => `/memories/${one(['d/', 'e/', ''])}${one(['a', 'b'])}`) as [
      string,
      string,
    ];
    for (const each of [path, other]) paths.add(each);
    const deeds = [
      () => client.create(path, `created ${below(3)}`),
      () => client.append(path, `, ${deed}`),
      () => client.append(path, `, ${deed}`),
      () => client.append(path, `, ${deed}`),
      () => client.rename(path, other),
      () => client.rename('/memories/d', '/memories/e'),
      () => client.rename('/memories/e', '/memories/d'),
      () => client.remove(path),
    ];
    await one(deeds)().catch((error: unknown) => {
      if (!(error instanceof MemoryError)) throw error;
    });
  }
  const [client] = clients;
  if (client === undefined) throw new Error('there is no process');
  return { history: createHistory(client.tenant, client.tree), paths };
}

/** An entry without what a page may not know. */
function known(entry: HistoryEntry): HistoryEntry {
  if (entry.kind !== 'written') return entry;
  const { sameTextAs: _, ...rest } = entry;
  return rest;
}

describe('the past of a file', () => {
  it.each(Array.from({ length: RUNS }, (_, run) => run))('is the same page by page, run %i', async (run) => {
    const { history, paths } = await live(String(run));
    for (const path of paths) {
      const whole = (await history.list(path)).map(known);
      for (const limit of [1, 2, 5]) {
        const pages: HistoryEntry[] = [];
        for (let before: HistoryEntry | undefined; pages.length < whole.length; before = pages.at(-1)) {
          const page = await history.list(path, { limit, ...(before && { before }) });
          expect(page.length, `${path} by ${limit}`).toBeGreaterThan(0);
          pages.push(...page.map(known));
        }
        expect(pages, `${path} by ${limit}`).toEqual(whole);
      }
    }
  });

  it('tells on a page of a file that had left the path long before it was deleted elsewhere', async () => {
    const site = await openSite();
    const client = await site.client({ keepsHistory: true, clock: () => Math.floor(site.time.clock()) });
    const history = createHistory(client.tenant, client.tree);
    const [path, other] = ['/memories/a', '/memories/b'];
    const deeds = [
      () => client.create(path, 'one'),
      () => client.rename(path, other),
      () => client.create(path, 'two'),
      () => client.append(path, ', 1'),
      () => client.append(path, ', 2'),
      () => client.remove(other),
      () => client.append(path, ', 3'),
    ];
    for (const deed of deeds) {
      await deed();
      await site.time.pause(HOUR_MS);
    }
    const page = await history.list(path, { limit: 2 });
    expect(page.map(known)).toEqual((await history.list(path)).slice(0, 2).map(known));
    expect(page[1]).toMatchObject({ kind: 'deleted', path: other });
  });

  it.each(Array.from({ length: RUNS }, (_, run) => run))(
    'of all is the same page by page, run %i',
    async (run) => {
      const { history } = await live(String(run), run % 2 === 0 ? 30_000 : HOUR_MS);
      const whole = (await history.list()).map(known);
      for (const limit of [1, 3, 20]) {
        const pages: HistoryEntry[] = [];
        for (let before: HistoryEntry | undefined; pages.length < whole.length; before = pages.at(-1)) {
          const page = await history.list(undefined, { limit, ...(before && { before }) });
          expect(page.length, `by ${limit}`).toBeGreaterThan(0);
          pages.push(...page.map(known));
        }
        expect(pages, `by ${limit}`).toEqual(whole);
      }
    },
  );

  it.each(Array.from({ length: RUNS }, (_, run) => run))(
    'has every version read by its name, run %i',
    async (run) => {
      const { history, paths } = await live(String(run));
      for (const path of paths) {
        for (const entry of await history.list(path)) {
          const read = await history.read({ path, version: entry.version });
          expect(read.version).toBe(entry.version);
          const short = await history.read({ path, version: entry.version.slice(0, 6) });
          expect(short).toMatchObject({ path: read.path, version: read.version, bytes: read.bytes });
        }
      }
    },
  );
});
