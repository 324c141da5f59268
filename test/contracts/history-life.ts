import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Finding } from '../../src/admin/findings.ts';
import type { HistoryEntry, WrittenEntry } from '../../src/history/past/entries.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import type { TenantAdmin } from '../../src/open/tenant-admin.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import type { RawStore } from './sealed-store.ts';

const DAY_MS = 86_400_000;
const [PLAN, DIRECTORY] = ['/memories/plan.md', '/memories/projects'];

/**
 * The place where tenants that keep history lie, for processes and for an attacker who may write there without a key.
 */
export interface HistoryLifeSite {
  /** How a process opens a tenant; `laterMs` of the server's time have passed. */
  options(laterMs?: number): Omit<MemoryOptions, 'tenant'>;
  readonly raw: RawStore;
  /** Reads the bodies that the store itself keeps of all that ever lay under a key; absent where it keeps none. */
  readonly kept?: (key: string) => Promise<readonly Uint8Array[]>;
}

/**
 * Describes what a tenant's history is worth on a store, from the first version to the last checkpoint; the same on
 * every store.
 */
export function describeHistoryLife(title: string, site: () => HistoryLifeSite): void {
  describe(`the history of a tenant on ${title}`, () => {
    let tenants = 0;
    const start = (name: string): Life => startLife(site(), `${name}-${++tenants}`);

    it('has every version that was replaced, by each of its names, with who wrote it', async () => {
      await using life = start('versions');
      const [ann, importer] = [await life.memory('ann'), await life.memory('mail import')];
      const path = '/memories/archive/plan.md';
      // Files that came to one path and left it in one millisecond have no order.
      const deeds = [
        () => ann.files.write(PLAN, 'one'),
        () => importer.files.write(PLAN, 'two'),
        () => ann.files.append(PLAN, ' and more'),
        () => ann.files.rename(PLAN, `${DIRECTORY}/plan.md`),
        () => importer.files.rename(DIRECTORY, '/memories/archive'),
        () => importer.files.write(path, 'four'),
        () => ann.files.remove(path),
        () => ann.files.write(path, 'five'),
      ];
      for (const deed of deeds) {
        await deed();
        await momentBetween();
      }

      const { history } = ann;
      // An earlier name knows of the file until it left that name.
      const told = [
        'renamed projects/plan.md to archive/plan.md by mail import',
        'renamed plan.md to projects/plan.md by ann',
        'written archive/plan.md "two and more" by ann, replaced',
        'written plan.md "two" by mail import, replaced',
        'written plan.md "one" by ann, replaced',
      ];
      expect(await tellAll(ann, await history.list(PLAN))).toEqual(told);
      const here = await tellAll(ann, await history.list(path));
      expect(here).toEqual([
        'written archive/plan.md "five" by ann, current',
        'deleted archive/plan.md by ann',
        'written archive/plan.md "four" by mail import, deleted',
        ...told,
      ]);
      expect(await tellAll(ann, await history.list())).toEqual(here);
      expect((await (await life.admin()).verify()).findings).toEqual([]);
    });

    it('brings texts, moments and what an actor did back, as new versions', async () => {
      await using life = start('back');
      const [ann, importer] = [await life.memory('ann'), await life.memory('mail import')];
      await ann.files.write(PLAN, 'one');
      await ann.files.write(`${DIRECTORY}/a`, 'a');
      await ann.files.write(`${DIRECTORY}/b`, 'b');
      const moment = await momentBetween();
      await importer.files.append(PLAN, ', forged');
      await importer.files.remove(`${DIRECTORY}/a`);
      await importer.files.rename(DIRECTORY, '/memories/moved');
      await importer.files.write('/memories/new', 'new');
      const before = { [PLAN]: 'one', [`${DIRECTORY}/a`]: 'a', [`${DIRECTORY}/b`]: 'b' };
      const after = { [PLAN]: 'one, forged', '/memories/moved/b': 'b', '/memories/new': 'new' };
      expect(await textsOf(ann)).toEqual(after);

      const done = await ann.history.restoreAt(moment);
      expect(done).toMatchObject({ outcome: 'written', left: [] });
      expect(done.changes.map(({ what }) => what).sort()).toEqual([
        ...['create', 'create', 'delete', 'delete', 'replace'],
      ]);
      expect(await textsOf(ann)).toEqual(before);
      expect(await ann.history.restoreAt(moment)).toMatchObject({ changes: [], left: [] });
      // That is taken back as well, and done once more.
      await importer.history.undo({ writer: 'ann' });
      expect((await textsOf(ann))[PLAN]).toBe('one, forged');
      await ann.history.restoreAt(moment);
      expect(await textsOf(ann)).toEqual(before);

      await importer.files.append(PLAN, ', forged');
      const [, genuine] = (await ann.history.list(PLAN)).filter(isWritten);
      if (genuine === undefined) expect.unreachable('nothing is kept');
      expect(await ann.history.restore(genuine)).toMatchObject({ restored: true });
      expect(await textsOf(ann)).toEqual(before);
      expect((await (await life.admin()).verify()).findings).toEqual([]);
    });

    it('loses a text to a redaction and old versions to the expiry run, and nothing else', async () => {
      await using life = start('forgotten');
      const ann = await life.memory('ann');
      await ann.files.write(PLAN, 'a secret');
      await ann.files.write(PLAN, 'clean');
      await ann.files.append(PLAN, ' and long');
      await ann.files.rename(PLAN, '/memories/kept.md');
      const path = '/memories/kept.md';
      const oldest = (await ann.history.list(path)).filter(isWritten).at(-1);
      if (oldest === undefined) expect.unreachable('nothing is kept');
      const admin = await life.admin();
      expect(await admin.history.redact(oldest)).toMatchObject({ records: 1 });
      await expect(ann.history.read(oldest)).rejects.toMatchObject({ details: { reason: 'redacted' } });
      expect(await tellAll(ann, await ann.history.list(path))).toEqual([
        'renamed plan.md to kept.md by ann',
        'written kept.md "clean and long" by ann, current',
        'written plan.md "clean" by ann, replaced',
        'written plan.md without its text by ann, replaced',
      ]);
      expect((await admin.verify()).findings).toEqual([]);

      const early = await life.admin(29 * DAY_MS);
      expect(await early.expire({ historyDays: 30 })).toMatchObject({ history: 0 });
      const late = await life.admin(31 * DAY_MS);
      expect(await late.expire({ historyDays: 30 })).toMatchObject({ history: 3, deleted: 0 });
      expect(await textsOf(ann)).toEqual({ [path]: 'clean and long' });
      expect(await tellAll(ann, await ann.history.list(path))).toEqual([
        'written kept.md "clean and long" by ann, current',
      ]);
      expect((await admin.verify()).findings).toEqual([]);
    });

    it('names what was put back, dropped and brought back since a checkpoint, until the history begins anew', async () => {
      await using life = start('evidence');
      const [ann, admin] = [await life.memory('ann'), await life.admin()];
      const { raw, kept } = site();
      for (const name of ['back', 'dropped', 'brought', 'same'])
        await ann.files.append(`/memories/${name}`, 'one');
      for (const name of ['back', 'dropped', 'brought', 'same'])
        await ann.files.append(`/memories/${name}`, ' two');
      const keys = new Map<string, string>();
      for (const name of ['back', 'dropped', 'brought'])
        keys.set(name, await admin.encodeName(`/memories/${name}`));
      const keyOf = (name: string): string => keys.get(name) ?? expect.unreachable('no such file');
      const then = new Map<string, Uint8Array>();
      for (const key of keys.values()) then.set(key, await raw.read(key));
      const versionsThen = await versionsOf(ann);
      const { line } = await admin.checkpoint();

      // The second of two versions says that the first was replaced, and not only about to be replaced.
      await ann.files.append('/memories/back', ' three');
      const versionsSince = await versionsOf(ann);
      await ann.files.append('/memories/back', ' four');
      await ann.files.remove('/memories/brought');
      const since = async (of = line): Promise<readonly Finding[]> =>
        (await (await life.admin()).verify({ since: of })).findings;
      expect(await since()).toEqual([]);

      // Nothing of it takes a key.
      for (const name of ['back', 'brought']) {
        const key = keyOf(name);
        const body = then.get(key) ?? expect.unreachable('there was no such object');
        const older = kept === undefined ? [body] : await kept(key);
        const found = older.find((each) => Buffer.from(each).equals(body));
        await raw.write(key, found ?? expect.unreachable('the store has not kept it'));
      }
      await raw.remove(keyOf('dropped'));
      const told = (await since()).flatMap((finding) => (finding.kind === 'since' ? [finding] : []));
      const named = told.map(({ state, path, expected, found }) => ({
        state,
        path,
        expected: expected?.version,
        found: found?.version,
      }));
      expect(named.sort((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
        {
          state: 'older',
          path: '/memories/back',
          // The newest one that is still to be had.
          expected: versionsSince['/memories/back'],
          found: versionsThen['/memories/back'],
        },
        {
          state: 'older',
          path: '/memories/brought',
          expected: undefined,
          found: versionsThen['/memories/brought'],
        },
        {
          state: 'gone',
          path: '/memories/dropped',
          expected: versionsThen['/memories/dropped'],
          found: undefined,
        },
      ]);

      const refused = await (await life.admin()).checkpoint({ since: line });
      expect([refused.line, refused.findings.length]).toEqual([undefined, told.length]);
      await (await life.admin()).switchHistory('anew');
      const anew = await (await life.admin()).checkpoint();
      expect(await since(String(anew.line))).toEqual([]);
    });
  });
}

interface Life extends AsyncDisposable {
  /** One more process, which has seen nothing. */
  memory(actor: string): Promise<Memory>;
  admin(laterMs?: number): Promise<TenantAdmin>;
}

function startLife(site: HistoryLifeSite, tenant: string): Life {
  const opened: AsyncDisposable[] = [];
  const keep = <T extends AsyncDisposable>(each: T): T => {
    opened.push(each);
    return each;
  };
  const options = (laterMs?: number): MemoryOptions => ({
    ...site.options(laterMs),
    tenant,
    history: { days: 30 },
  });
  return {
    memory: async (actor) => keep(await openMemory({ ...options(), actor })),
    admin: async (laterMs) => keep(await openAdmin({ ...options(laterMs), actor: 'operator' })),
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each[Symbol.asyncDispose]();
    },
  };
}

function isWritten(entry: HistoryEntry): entry is WrittenEntry {
  return entry.kind === 'written';
}

/** A moment between what was done before and what is done after: all of it by this clock. */
async function momentBetween(): Promise<Date> {
  const tick = async (): Promise<void> => {
    for (const now = Date.now(); Date.now() === now; ) await sleep(1);
  };
  await tick();
  const moment = new Date();
  await tick();
  return moment;
}

async function tellAll({ history }: Memory, entries: readonly HistoryEntry[]): Promise<readonly string[]> {
  const told: string[] = [];
  for (const entry of entries) {
    const by = `by ${entry.writer}`;
    const path = entry.path.slice('/memories/'.length);
    if (!isWritten(entry)) {
      const to = entry.to === undefined ? '' : ` to ${entry.to.slice('/memories/'.length)}`;
      told.push(`${entry.kind} ${path}${to} ${by}`);
      continue;
    }
    const isKept = entry.text === 'kept';
    const text = isKept ? `"${(await history.read(entry)).text()}"` : 'without its text';
    told.push(`written ${path} ${text} ${by}, ${entry.end}`);
  }
  return told;
}

async function textsOf({ files }: Memory): Promise<Readonly<Record<string, string | undefined>>> {
  const texts: Record<string, string | undefined> = {};
  for await (const { path } of files.list('/memories', { recursive: true }))
    texts[path] = (await files.read(path))?.text();
  return texts;
}

/** The version of each file, as the history names it. */
async function versionsOf({ history }: Memory): Promise<Readonly<Record<string, string>>> {
  const current = (await history.list()).filter((entry) => isWritten(entry) && entry.end === 'current');
  return Object.fromEntries(current.map(({ path, version }) => [path, version]));
}
