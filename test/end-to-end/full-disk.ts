import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { TenantExpiry } from '../../src/admin/expiry/expire.ts';
import type { HistoryEntry } from '../../src/history/past/entries.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { DAY_MS } from '../../src/time.ts';
import { silentLogger } from '../stage/silent-logger.ts';

/**
 * Runs on a small file system that holds nothing else: fills it by creating files, takes the last byte of it, and does
 * what PART says. Prints what became of each step. Usage: `full-disk.ts FOLDER PART on|off [FROM]`; the last is for
 * processes that this one starts.
 */
const [folder = '', part = '', history = '', from] = process.argv.slice(2);
const file = join(folder, 'memory.db');
const rest = join(folder, 'rest');
const WRITERS = 3;
const { now } = Date;
const options = {
  store: `sqlite:${file}`,
  tenant: 'acme',
  rootKey: new Uint8Array(32).fill(5),
  logger: silentLogger,
};
const open = () => openMemory(options);

type Memory = Awaited<ReturnType<typeof open>>;
const codeOf = async (memory: Memory, input: unknown): Promise<string> => {
  const result = await memory.execute(input);
  return result.isError ? result.error.code : 'done';
};
const creating = (path: string, bytes: number) => ({ command: 'create', path, file_text: 'x'.repeat(bytes) });
const deleting = (path: string) => ({ command: 'delete', path });
const inserting = (path: string) => ({
  command: 'insert',
  path,
  insert_line: 0,
  insert_text: 'a line',
});
const LARGE = '/memories/large.md';
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
/** Answers the bytes that the file and the reserve beside it take together. */
const held = (): number => sizeOf(file) + sizeOf(`${file}-reserve`);

async function fill(memory: Memory, size = 20_000): Promise<readonly string[]> {
  const paths: string[] = [];
  for (let index = 0, bytes = size; bytes >= 1; index++) {
    const path = `/memories/many/${index}.md`;
    if ((await codeOf(memory, creating(path, bytes))) === 'done') paths.push(path);
    else bytes = Math.floor(bytes / 10);
  }
  return paths;
}

/** Until not even a byte can be written. */
function takeTheRest(): void {
  const taken = openSync(rest, 'a');
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) writeSync(taken, Buffer.alloc(size, 1));
    } catch {}
  }
  closeSync(taken);
}

async function readable(memory: Memory, paths: readonly string[]): Promise<number> {
  let found = 0;
  for (const path of paths) if ((await codeOf(memory, { command: 'view', path })) === 'done') found++;
  return found;
}

/** An expiry run as it were days later. */
async function expireLater(days: number): Promise<TenantExpiry> {
  Date.now = () => now() + days * DAY_MS;
  await using admin = await openAdmin({ ...options, expireAfterDays: 1 });
  return await admin.expire(history === 'on' ? { historyDays: 30 } : {});
}

async function tally(codes: AsyncIterable<string>): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for await (const code of codes) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

/** How many files the history has a text of, and of how many it tells that they were deleted. */
async function keptOf(): Promise<{ readonly texts: number; readonly ends: number }> {
  const entries = await (await open()).history.list();
  const isKept = (entry: HistoryEntry): boolean => entry.kind === 'written' && entry.end === 'deleted';
  const count = (those: (entry: HistoryEntry) => boolean): number =>
    new Set(entries.filter(those).map(({ path }) => path)).size;
  return { texts: count(isKept), ends: count(({ kind }) => kind === 'deleted') };
}

if (history === 'on') {
  await using admin = await openAdmin(options);
  await admin.switchHistory('on');
}
// More than the reserve, to be given back at the end.
writeFileSync(rest, Buffer.alloc(part === 'writer' ? 0 : 1_500_000, 1), { flag: 'a' });
const PARTS: Readonly<Record<string, () => Promise<unknown>>> = {
  /** Deletes, edits and creates. */
  async verbs() {
    const first = await open();
    const large = [await codeOf(first, creating(LARGE, 900_000))];
    const paths = await fill(first);
    takeTheRest();
    const [whole, before, size] = [sizeOf(`${file}-reserve`), held(), sizeOf(file)];
    const refused = await codeOf(first, creating('/memories/more.md', 20_000));
    await first.close();
    // Another process, as it were: what is needed to delete is no matter of what this one had before.
    const memory = await open();
    const [one = '', two = '', ...others] = paths;
    const single = await codeOf(memory, deleting(one));
    const again = await codeOf(memory, creating('/memories/again.md', 15_000));
    const edited = await codeOf(memory, inserting(two));
    large.push(await codeOf(memory, deleting(LARGE)));
    const kept = await readable(memory, [two, ...others]);
    const all = await codeOf(memory, deleting('/memories/many'));
    const after = await readable(memory, [two, ...others]);
    const anew = await codeOf(memory, creating('/memories/anew.md', 800_000));
    const versions = history === 'on' ? await keptOf() : undefined;
    const [grown, taken] = [sizeOf(file) - size, held() - before];
    rmSync(rest);
    const room = await codeOf(memory, creating('/memories/room.md', 20_000));
    await memory.close();
    return {
      refused,
      single,
      again,
      edited,
      large,
      lost: paths.length - 1 - kept,
      all,
      after,
      anew,
      hasGrown: grown > 0,
      taken,
      room,
      whole: sizeOf(`${file}-reserve`) === whole,
      ...(versions && {
        unkept: paths.length + 1 - versions.texts,
        untold: paths.length + 1 - versions.ends,
      }),
    };
  },

  /** Deletes every file, one by one. */
  async deletes() {
    const memory = await open();
    const paths = await fill(memory);
    takeTheRest();
    const before = held();
    const codes = await tally(
      (async function* () {
        for (const path of paths) yield codeOf(memory, deleting(path));
      })(),
    );
    await memory.close();
    return { files: paths.length, codes, reserve: sizeOf(`${file}-reserve`), taken: held() - before };
  },

  /**
   * Deletes files on behalf of actors that nobody has named, each beside a create, and redacts what the first one had.
   */
  async actors() {
    const memory = await open();
    const paths = (await fill(memory)).slice(0, 20);
    takeTheRest();
    const { files, history } = memory;
    const codes = async (run: Promise<unknown>): Promise<string> =>
      run.then(
        () => 'done',
        ({ code }) => code,
      );
    const deleted = await tally(
      (async function* () {
        for (const [index, path] of paths.entries()) {
          const actor = `actor ${index}`;
          void codes(files.write('/memories/more.md', 'x'.repeat(20_000), { actor }));
          yield codes(files.remove(path, { actor }));
        }
      })(),
    );
    const entries = await history.list();
    const named = entries.filter(({ kind, writer }) => kind === 'deleted' && writer?.startsWith('actor '));
    const [first = ''] = paths;
    const version = entries.find(({ kind, path }) => kind === 'written' && path === first)?.version ?? '';
    const redacted = await codes(history.redact({ path: first, version }, { actor: 'another' }));
    await memory.close();
    return { deleted, named: named.length, redacted };
  },

  /** Lets every file expire, and then what the history has of them. */
  async expires() {
    const memory = await open();
    const paths = await fill(memory);
    await memory.close();
    takeTheRest();
    const { marked } = await expireLater(2);
    const { deleted } = await expireLater(3);
    const records = (await expireLater(40)).history;
    await using admin = await openAdmin(options);
    const { findings } = await admin.verify();
    return { files: paths.length, marked, deleted, records, findings };
  },

  /** Deletes until what is in reserve is used up, lets the history of all that expire, and deletes again. */
  async forgets() {
    const memory = await open();
    const paths = await fill(memory, 1_200);
    takeTheRest();
    /** How many go until one is refused. */
    const remove = async (some: readonly string[]): Promise<number> => {
      let gone = 0;
      for (const path of some) {
        if ((await codeOf(memory, deleting(path))) !== 'done') break;
        gone++;
      }
      return gone;
    };
    const first = await remove(paths);
    const records = (await expireLater(40)).history;
    const again = await remove(paths.slice(first, first + 100));
    await memory.close();
    return { files: paths.length, first, records, again };
  },

  /** Three processes delete and create side by side, each its share of the files. */
  async writers() {
    const memory = await open();
    const paths = await fill(memory);
    await memory.close();
    takeTheRest();
    const [whole, before, size] = [sizeOf(`${file}-reserve`), held(), sizeOf(file)];
    const ends = Array.from({ length: WRITERS }, async (_, from) => {
      const child = spawn(
        process.execPath,
        [...process.argv.slice(1, 3), 'writer', 'as it is', String(from)],
        {
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      let printed = '';
      child.stdout.on('data', (text: Buffer) => (printed += text));
      const [code] = await once(child, 'close');
      return { code, ...JSON.parse(printed) };
    });
    const writers = await Promise.all(ends);
    return {
      files: paths.length,
      writers,
      whole,
      reserve: sizeOf(`${file}-reserve`),
      grown: sizeOf(file) - size,
      taken: held() - before,
    };
  },

  async writer() {
    const memory = await open();
    const paths: string[] = [];
    for await (const { path } of memory.files.list('/memories/many')) {
      if (Number(/\d+/.exec(path)) % WRITERS === Number(from)) paths.push(path);
    }
    const created: string[] = [];
    const deleted = await tally(
      (async function* () {
        for (const [index, path] of paths.entries()) {
          created.push(await codeOf(memory, creating(`/memories/new/${from}-${index}.md`, 30_000)));
          yield codeOf(memory, deleting(path));
        }
      })(),
    );
    await memory.close();
    return { deleted, created: [...new Set(created)] };
  },
};
console.log(JSON.stringify(await PARTS[part]?.()));
