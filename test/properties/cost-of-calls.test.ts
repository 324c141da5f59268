import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import type { TenantAdmin } from '../../src/open/tenant-admin.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { roundsDuring, watchProcessor } from '../stage/measures.ts';
import { silentLogger } from '../stage/silent-logger.ts';

/*
 * Every call takes time in proportion to what it is given and what it goes through: lines, versions, files. What goes
 * through the text of a call itself is in cost-by-size.test.ts.
 */

const KIB_64 = 65_536;
const KEY = { projectKey: 'project', sessionId: 'session' };
const AT = '/memories/a';

interface Site {
  readonly memory: Memory;
  readonly admin: TenantAdmin;
  readonly folder: string;
}

interface Call {
  /** How many there are at first. */
  readonly of: number;
  /** Stores what lies there before the run. */
  readonly fill?: (site: Site, count: number) => Promise<unknown>;
  readonly run: (site: Site, count: number, filled: unknown) => Promise<unknown>;
}

async function times(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let index = 0; index < count; index += 1) await work(index);
}

const named = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => JSON.stringify({ uuid: `${index}`, text: 'x'.repeat(40) }));
const unnamed = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => JSON.stringify({ index, text: 'x'.repeat(40) }));
const files: Call['fill'] = ({ memory }, count) =>
  times(count, (index) => memory.files.write(`/memories/d/${index}`, `text ${index}`));
const versions: Call['fill'] = ({ memory }, count) =>
  times(count, (index) => memory.files.write(AT, `text ${index}`, { actor: `${index % 2}` }));
const sameTexts: Call['fill'] = ({ memory }, count) =>
  times(count, (index) => memory.files.write(AT, `text ${index % 2}`));
const renames: Call['fill'] = async ({ memory }, count) => {
  const places = [AT, '/memories/b'] as const;
  await memory.files.write(AT, 'text');
  await times(count, (index) => memory.files.rename(places[index % 2] ?? AT, places[(index + 1) % 2] ?? AT));
};

const CALLS: Readonly<Record<string, Call>> = {
  'an append of lines at once': {
    of: 120_000,
    run: ({ memory }, count) => memory.sessions.append(KEY, named(count)),
  },
  'an append of lines without names': {
    of: 20_000,
    run: ({ memory }, count) => memory.sessions.append(KEY, unnamed(count)),
  },
  'appends of ten lines': {
    of: 1_000,
    run: ({ memory }, count) =>
      times(count / 10, (index) =>
        memory.sessions.append(KEY, [`{"uuid":"${index}","t":"${'x'.repeat(900)}"}`]),
      ),
  },
  'a load of lines': {
    of: 20_000,
    fill: ({ memory }, count) => memory.sessions.append(KEY, named(count)),
    run: ({ memory }) => memory.sessions.load(KEY),
  },
  'a view of the directory of files': {
    of: 200,
    fill: files,
    run: ({ memory }) => memory.execute({ command: 'view', path: '/memories' }),
  },
  'a rename of files': {
    of: 100,
    fill: files,
    run: ({ memory }) => memory.files.rename('/memories/d', '/memories/e'),
  },
  'a delete of files': { of: 100, fill: files, run: ({ memory }) => memory.files.remove('/memories/d') },
  'the history of versions': { of: 150, fill: versions, run: ({ memory }) => memory.history.list(AT) },
  'the whole history of versions': { of: 150, fill: versions, run: ({ memory }) => memory.history.list() },
  'the history of versions with the same text': {
    of: 150,
    fill: sameTexts,
    run: ({ memory }) => memory.history.list(),
  },
  'the history of renames': { of: 100, fill: renames, run: ({ memory }) => memory.history.list() },
  'a trace of versions': { of: 150, fill: versions, run: ({ memory }) => memory.history.trace({ path: AT }) },
  'a plan to undo versions': {
    of: 150,
    fill: versions,
    run: ({ memory }) => memory.history.undo({ writer: '1', dryRun: true, force: true }),
  },
  'a verification of versions': { of: 150, fill: versions, run: ({ admin }) => admin.verify() },
  'a checkpoint of files': { of: 150, fill: files, run: ({ admin }) => admin.checkpoint() },
  'a comparison of files with a checkpoint': {
    of: 100,
    async fill(site, count) {
      await files(site, count);
      const { line } = await site.admin.checkpoint();
      await files(site, count);
      return line;
    },
    run: ({ admin }, _, line) => admin.verify({ since: String(line) }),
  },
  'an export of files': {
    of: 100,
    fill: files,
    run: ({ admin, folder }) => admin.export({ to: join(folder, 'out') }),
  },
  'a migration of files': {
    of: 100,
    fill: files,
    run: ({ admin }) => admin.migrate({ reencrypt: true }),
  },
};

/** Runs a call on a tenant of its own, and answers what `watch` makes of it. */
async function onSite<T>(
  { fill, run }: Call,
  count: number,
  watch: (work: () => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'cost-of-calls-'));
  await using store: ObjectStore = openSqliteObjectStore({ path: ':memory:' });
  const given = { rootKey: Buffer.alloc(32, 7), tenant: 'acme', history: { days: 30 } };
  const options = { ...given, store, logger: silentLogger };
  await using memory = await openMemory(options);
  await using admin = await openAdmin(options);
  const site = { memory, admin, folder };
  try {
    const filled = await fill?.(site, count);
    return await watch(() => run(site, count, filled));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function timeOf(call: Call, count: number): Promise<number> {
  return onSite(call, count, async (work) => {
    const taken = watchProcessor();
    await work();
    return taken();
  });
}

/** Below this a ratio tells of the clock and of what runs beside. */
const TELLING_MS = 40;

describe.each(Object.entries(CALLS))('%s', (_, call) => {
  it('of twice as many takes three times as long at most', async () => {
    let count = call.of;
    let [once, twice] = [0, 0];
    // Another machine's noise passes; what grows with the square does not.
    for (let attempt = 0; attempt < 4; attempt += 1) {
      twice = await timeOf(call, 2 * count);
      if (twice <= TELLING_MS) return;
      once = await timeOf(call, count);
      if (twice <= 3 * once) return;
      twice = Math.min(twice, await timeOf(call, 2 * count));
      if (twice <= 3 * once) return;
      count *= 2;
    }
    expect(twice / once).toBeLessThanOrEqual(3);
  });
});

it('an append lets others run for each 64 KiB of its lines', async () => {
  const lines = named(40_000);
  const bytes = lines.reduce((sum, line) => sum + line.length + 1, 0);
  const call: Call = { of: 0, run: ({ memory }) => memory.sessions.append(KEY, lines) };
  const rounds = await onSite(call, 0, (work) => roundsDuring(work));
  expect(rounds).toBeGreaterThanOrEqual(Math.floor(bytes / KIB_64));
});
