import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { TenantAdmin } from '../../src/open/tenant-admin.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { type Bill, RENEWAL_MS } from './request-bill.ts';

/** One process of a tenant, and its operator; their requests are counted together. */
interface MeteredProcess {
  readonly memory: Memory;
  readonly admin: TenantAdmin;
}

export interface HistoryMetering {
  /** As in `Metering`. */
  readonly guarded: boolean;
  readonly probes: boolean;
  /** How many files the directory holds. */
  readonly many: number;
  /** True where the bucket keeps older versions, in which the text that `redact` removes may lie. */
  readonly versions: boolean;
  /** One more process of a tenant that keeps history, or does not. */
  open(history: 'on' | 'off', tenant?: string): Promise<MeteredProcess>;
  /** The requests of all processes since the last call. */
  bill(): Bill;
}

/** A tenant with two processes: what the other one writes is not held by the own. */
interface Metered extends MeteredProcess {
  readonly other: Memory;
}

/** Records that both processes of a tenant leave when they are opened: what they delete, and that they did. */
const OPENING = 4;
const FIVE = ['/memories/a', '/memories/b', '/memories/c', '/memories/d', '/memories/e'] as const;
const DIRECTORY = '/memories/many';

/**
 * Describes what history costs, counted request by request ("What it costs" in docs/history.md): every deed is done in
 * a tenant that keeps history and in one that does not, which tells what the deed costs anyway.
 */
export function describeHistoryBill(title: string, start: () => Promise<HistoryMetering>): void {
  describe(`the requests of history on ${title}`, { timeout: 240_000 }, () => {
    let metering: HistoryMetering;
    let [on, off]: readonly Metered[] = [];

    beforeAll(async () => {
      metering = await start();
      const open = async (history: 'on' | 'off'): Promise<Metered> => {
        const own = await metering.open(history);
        const { memory: other } = await metering.open(history);
        for (const memory of [other, own.memory]) {
          await memory.files.write('/memories/first', 'text', { mode: 'replace' });
          await memory.files.remove('/memories/first');
        }
        return { ...own, other };
      };
      [on, off] = [await open('on'), await open('off')];
    }, 240_000);

    const bill = async (deed: () => Promise<unknown>): Promise<Bill> => {
      metering.bill();
      await deed();
      return metering.bill();
    };
    /** Answers what the deed costs with and without history, each after the same preparation. */
    const bills = async (
      prepare: (tenant: Metered) => Promise<unknown>,
      deed: (tenant: Metered) => Promise<unknown>,
    ): Promise<{ readonly on: Bill; readonly off: Bill }> => {
      const measure = async (tenant: Metered | undefined): Promise<Bill> => {
        if (tenant === undefined) expect.unreachable('the tenant was not opened');
        await prepare(tenant);
        return bill(() => deed(tenant));
      };
      return { off: await measure(off), on: await measure(on) };
    };
    const openPair = async (tenant: string): Promise<Metered> => {
      const own = await metering.open('on', tenant);
      const { memory: other } = await metering.open('on', tenant);
      for (const memory of [other, own.memory]) {
        await memory.files.write('/memories/first', 'text', { mode: 'replace' });
        await memory.files.remove('/memories/first');
      }
      return { ...own, other };
    };
    const kept = (): Metered => on ?? expect.unreachable('the tenant was not opened');
    const burials = (files: number): Bill => (metering.guarded ? {} : { put: files });
    const write = async ({ files }: Memory, path: string, text = 'text'): Promise<void> => {
      await files.write(path, text);
    };
    const listAll = async ({ files }: Memory): Promise<void> => {
      for await (const entry of files.list()) expect(entry.type).toBe('file');
    };
    const edit = async ({ files }: Memory, path: string): Promise<void> => {
      await files.append(path, ' more');
    };
    /** Two versions, neither of which the own process holds. */
    const grow = async ({ other }: Metered, path: string): Promise<void> => {
      await write(other, path);
      await edit(other, path);
    };
    const fill = async ({ other }: Metered): Promise<void> => {
      const names = Array.from({ length: metering.many }, (_, n) => `${DIRECTORY}/${n % 5}/${n}`);
      for (let at = 0; at < names.length; at += 25)
        await Promise.all(names.slice(at, at + 25).map((path) => write(other, path)));
    };

    it('create, read and list: nothing', async () => {
      const nothing = async (): Promise<void> => {};
      const mode = 'create' as const;
      const created = await bills(nothing, ({ memory }) =>
        memory.files.write('/memories/a', 'text', { mode }),
      );
      expect(created).toEqual({ off: { put: 1, list: 1 }, on: { put: 1, list: 1 } });
      const read = await bills(nothing, ({ memory }) => memory.files.read('/memories/a'));
      expect(read).toEqual({ off: { get: 1 }, on: { get: 1 } });
      const listed = await bills(nothing, ({ memory }) => listAll(memory));
      expect(listed).toEqual({ off: { list: 1 }, on: { list: 1 } });
    });

    it('an edit: a PUT', async () => {
      const prepare = ({ memory }: Metered) => write(memory, '/memories/held');
      const held = await bills(prepare, ({ memory }) => edit(memory, '/memories/held'));
      expect(held).toEqual({ off: { put: 1 }, on: { put: 2 } });
      const read = await bills(
        (tenant) => grow(tenant, '/memories/read'),
        ({ memory }) => edit(memory, '/memories/read'),
      );
      expect(read).toEqual({ off: { get: 1, put: 1 }, on: { get: 1, put: 2 } });
    });

    it('an overwrite: a PUT, and a GET instead of a HEAD where the process does not hold the file', async () => {
      const prepare = ({ memory }: Metered) => write(memory, '/memories/over');
      const held = await bills(prepare, ({ memory }) => write(memory, '/memories/over', 'held'));
      expect(held).toEqual({ off: { put: 1 }, on: { put: 2 } });
      const looked = await bills(
        (tenant) => grow(tenant, '/memories/looked'),
        ({ memory }) => write(memory, '/memories/looked', 'new'),
      );
      // A HEAD does not tell that the file is older than its young object, so without history a LIST makes sure.
      expect(looked).toEqual({ off: { head: 1, list: 1, put: 1 }, on: { get: 1, put: 2 } });
      const named = await bills(
        (tenant) => grow(tenant, '/memories/named'),
        async ({ memory }) => {
          const found = await memory.files.stat('/memories/named');
          metering.bill();
          const mode = { ifUnchanged: found?.type === 'file' ? found.version : '' };
          await memory.files.write('/memories/named', 'new', { mode });
        },
      );
      expect(named).toEqual({ off: { head: 1, list: 1, put: 1 }, on: { get: 1, put: 2 } });
    });

    it('the delete of a file: a GET and two PUTs', async () => {
      const deleted = await bills(
        (tenant) => grow(tenant, '/memories/gone'),
        ({ memory }) => memory.files.remove('/memories/gone'),
      );
      const off = { list: 1, delete: 1 };
      expect(deleted).toEqual({
        off: plus(off, burials(1)),
        on: plus(off, burials(1), { get: 1, put: 2 }),
      });
    });

    it('the rename of a file: a PUT', async () => {
      const renamed = await bills(
        (tenant) => grow(tenant, '/memories/from'),
        ({ memory }) => memory.files.rename('/memories/from', '/memories/to'),
      );
      const off = plus({ get: 1, put: 1, delete: 1, list: 1 }, burials(1));
      expect(renamed).toEqual({ off, on: plus(off, { put: 1 }) });
    });

    it('the rename and the delete of a directory: a PUT; a PUT, and a GET and a PUT for each file', async () => {
      const { many } = metering;
      const [renewals, renamed] = await timed(() =>
        bills(fill, ({ memory }) => memory.files.rename(DIRECTORY, '/memories/renamed')),
      );
      const pages = Math.ceil(many / 1_000);
      expect({ ...renamed.on, put: 0 }).toEqual({ ...renamed.off, put: 0 });
      const ofRegister = (put = 0): number => put - many - (burials(many).put ?? 0);
      expect(ofRegister(renamed.on.put)).toBeGreaterThanOrEqual(4);
      expect(ofRegister(renamed.on.put)).toBeLessThanOrEqual(4 + renewals);
      expect(ofRegister(renamed.off.put)).toBeLessThanOrEqual(3 + renewals);
      const deleted = await bills(
        async () => {},
        ({ memory }) => memory.files.remove('/memories/renamed'),
      );
      const off = plus({ get: 1, list: pages, delete: pages }, burials(many));
      expect(deleted).toEqual({ off, on: plus(off, { get: many, put: many + 1 }) });
    });

    it('the first write of a process on behalf of an actor: a PUT', async () => {
      const { files } = kept().memory;
      await files.write('/memories/acted', 'text');
      const asked = { actor: 'turn 1' };
      expect(await bill(() => files.append('/memories/acted', ' more', asked))).toEqual({ put: 3 });
      expect(await bill(() => files.append('/memories/acted', ' more', asked))).toEqual({ put: 2 });
      const off = await metering.open('off');
      await off.memory.files.write('/memories/acted', 'text');
      expect(await bill(() => off.memory.files.append('/memories/acted', ' more', asked))).toEqual({
        put: 1,
      });
    });

    it('list: of a path three LISTs and a GET for each version, rename and actor; of all a GET for each file and record', async () => {
      const { memory, other } = await openPair('looked-up');
      const { history } = memory;
      const by = { actor: 'ann' };
      await other.files.write('/memories/a', 'one', by);
      await other.files.append('/memories/a', ' two', by);
      await other.files.append('/memories/a', ' three', by);
      await other.files.write('/memories/b', 'one', by);
      expect(await bill(() => history.list('/memories/a'))).toEqual({ list: 3, get: 3 + 1 });
      expect(await bill(() => history.list())).toEqual({ list: 3, get: 4 + OPENING + 1 });
      await other.files.rename('/memories/b', '/memories/c', by);
      expect(await bill(() => history.list('/memories/a'))).toEqual({ list: 3, get: 3 + 1 + 1 });
      // If the file was at another path before, the list looks through that path as well.
      await other.files.rename('/memories/a', '/memories/z', by);
      expect(await bill(() => history.list('/memories/z'))).toEqual({ list: 4, get: 3 + 1 + 2 + 1 });
    });

    it('read and restore: as list of a path without the actors, then a GET, the write and a GET', async () => {
      const { memory, other } = await openPair('restored');
      const { history, files } = memory;
      await other.files.write('/memories/a', 'one');
      await other.files.append('/memories/a', ' two');
      const [current, before] = await history.list('/memories/a');
      if (current === undefined || before === undefined) expect.unreachable('nothing is kept');
      expect(await bill(() => history.read(before))).toEqual({ list: 2, get: 2 + 1 });
      expect(await bill(() => history.restore(before))).toEqual({ list: 2, get: 2 + 1 + 1 + 1, put: 2 });
      expect((await files.read('/memories/a'))?.text()).toBe('one');
    });

    it('restoreAt: as list without the actors; for each file a GET, the GET of the text, the write and a GET', async () => {
      const { memory, other } = await openPair('taken-back');
      const { history } = memory;
      await other.files.write('/memories/changed', 'one');
      await other.files.write('/memories/gone', 'one');
      await tick();
      const moment = new Date();
      await tick();
      await other.files.append('/memories/changed', ' two');
      await other.files.write('/memories/new', 'one');
      await other.files.remove('/memories/gone');
      const plan = await bill(() => history.restoreAt(moment, { dryRun: true }));
      expect(plan).toEqual({ list: 2, get: 2 + 3 + OPENING });
      const restore = (below: string): Promise<Bill> => bill(() => history.restoreAt(moment, { below }));
      expect(await restore('/memories/changed')).toEqual(plus(plan, { get: 3, put: 2 }));
      // One record more each time, and of what is deleted two, and a file less.
      const deleting = plus({ get: 1, list: 1, delete: 1, put: 2 }, burials(1));
      expect(await restore('/memories/new')).toEqual(plus(plan, { get: 1 }, { get: 1 }, deleting));
      expect(await restore('/memories/gone')).toEqual(plus(plan, { get: 2 }, { get: 2, put: 1, list: 1 }));
    });

    it('undo: the same', async () => {
      const { memory, other } = await openPair('undone');
      const { history } = memory;
      const by = { actor: 'mallory' };
      await other.files.write('/memories/changed', 'one');
      await other.files.append('/memories/changed', ' two', by);
      await other.files.append('/memories/from', 'one');
      await other.files.append('/memories/from', ' two');
      await other.files.rename('/memories/from', '/memories/to', by);
      const plan = await bill(() => history.undo({ writer: 'mallory', dryRun: true }));
      expect(plan).toEqual({ list: 2, get: 2 + 3 + OPENING });
      const replacing = { get: 3, put: 2 };
      // The file has come there within a minute, so one LIST makes sure that it stays.
      const renaming = plus({ get: 2, put: 2, list: 1 + 1, delete: 1 }, burials(1));
      const undone = await bill(() => history.undo({ writer: 'mallory' }));
      expect(undone).toEqual(plus(plan, replacing, renaming));
      expect((await memory.files.read('/memories/changed'))?.text()).toBe('one');
      expect((await memory.files.read('/memories/from'))?.text()).toBe('one two');
    });

    it('redact: as list of a path without the actors, four looks at files and three at records; a GET of the version and each file of its size, and a PUT', async () => {
      const { memory, other } = await openPair('redacted');
      const { history } = memory;
      await other.files.write('/memories/a', 'secret');
      await other.files.append('/memories/a', ' more');
      await other.files.write('/memories/b', 'public');
      const version = (await history.list('/memories/a')).at(-1);
      if (version === undefined) expect.unreachable('nothing is kept');
      // The versions, the record, and the file of its size.
      const whole = { list: 2 + 4 + 3, get: 2 + 1 + 1, put: 1 };
      // Two looks at what the bucket keeps of files, of records, and of the version's own record, whose older version
      // goes last. Of the four older versions two may hold the text.
      const older = metering.versions ? { versions: 6, get: 1, delete: 2 } : {};
      expect(await bill(() => history.redact(version))).toEqual(plus(whole, older));
      await expect(history.read(version)).rejects.toMatchObject({ code: 'not_found' });
    });

    it('a checkpoint: three LISTs, a GET for each file that changed, and two records; verify since one: its two records more', async () => {
      const { admin, other } = await openPair('held-to');
      const { files } = other;
      for (const name of FIVE) await files.write(name, 'one');
      for (const name of FIVE) await files.append(name, ' two');
      await admin.verify();
      const lines: string[] = [];
      const checkpoint = async (): Promise<unknown> => lines.push(String((await admin.checkpoint()).line));
      // The part that was just written is read for the second listing; two tell since when the history is kept.
      expect(await bill(checkpoint)).toEqual({
        list: 3,
        get: FIVE.length + 1 + 2,
        put: 2 + (metering.probes ? 2 : 0),
        ...(metering.probes && { delete: 1 }),
      });
      expect(await bill(checkpoint)).toEqual({ list: 3, get: 2 + 1 + 2, put: 2 });
      await files.append(FIVE[0], ' three');
      expect(await bill(checkpoint)).toEqual({ list: 3, get: 2 + 1 + 1 + 2, put: 2 });
      const records = FIVE.length + 1 + OPENING;
      const verify = await bill(() => admin.verify());
      // The register as well.
      expect(verify).toEqual({ list: 1, get: FIVE.length + records + 2 * lines.length + 1 });
      const [since = ''] = lines;
      // Two requests read the checkpoint; two tell since when the history is kept: the keyring, and the note of what
      // has expired.
      const compared = { get: 2 + 2 };
      expect(await bill(() => admin.verify({ since }))).toEqual(plus(verify, compared));
    });
  });
}

/** The clock shows another millisecond from now on. */
async function tick(): Promise<void> {
  for (const now = Date.now(); Date.now() === now; ) await sleep(1);
}

function plus(...bills: readonly Bill[]): Bill {
  const sum: Record<string, number> = {};
  for (const bill of bills)
    for (const [verb, count] of Object.entries(bill)) sum[verb] = (sum[verb] ?? 0) + count;
  return sum;
}

/** How often a lease may have been renewed meanwhile. */
async function timed<T>(run: () => Promise<T>): Promise<readonly [number, T]> {
  const begun = performance.now();
  const answer = await run();
  return [(performance.now() - begun) / RENEWAL_MS, answer];
}
