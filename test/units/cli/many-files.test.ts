import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as filesystem from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCp } from '../../../src/cli/files/cp.ts';
import { runExport } from '../../../src/cli/files/export.ts';
import { runGrep } from '../../../src/cli/files/grep.ts';
import { runImport } from '../../../src/cli/files/import.ts';
import { runDu, runLs, runTree } from '../../../src/cli/files/list.ts';
import { runMv } from '../../../src/cli/files/mv.ts';
import { runPut } from '../../../src/cli/files/put.ts';
import { runRm } from '../../../src/cli/files/rm.ts';
import { runCheckpoint } from '../../../src/cli/history/checkpoint.ts';
import { runTurnHistory } from '../../../src/cli/history/switch.ts';
import { runRestoreAt } from '../../../src/cli/history/undo-and-restore-at.ts';
import { runVerify } from '../../../src/cli/history/verify.ts';
import { runExpire } from '../../../src/cli/keys/expire.ts';
import { runMigrate, runRotate, runStatus } from '../../../src/cli/keys/keys.ts';
import { runEncodeName } from '../../../src/cli/keys/names.ts';
import type { Action, Flags } from '../../../src/cli/run/invocation.ts';
import type { Report } from '../../../src/cli/show/report.ts';
import { hasCode } from '../../../src/errors.ts';
import { invocationOf } from '../../stage/invocation.ts';
import { type Around, countCalls, recordInto, type StoreCall } from '../../stage/store-wrappers.ts';

const wire = vi.hoisted(() => ({ around: undefined as Around | undefined, isGuarding: false }));
vi.mock('../../../src/store/open-store.ts', async (load) => {
  const { aroundStores } = await import('../../stage/store-wrappers.ts');
  return aroundStores(await load<typeof import('../../../src/store/open-store.ts')>(), wire);
});
vi.mock('node:fs/promises', async (load) => {
  const real = await load<typeof filesystem>();
  return { ...real, mkdir: vi.fn(real.mkdir), realpath: vi.fn(real.realpath) };
});

const FILES = 60;
const names = Array.from(
  { length: FILES },
  (_, index) => `${index % 3}/${String(index).padStart(2, '0')}.md`,
);
const textOf = (name: string): string => `text of ${name}\n`;
const BOUND = 32;
/** The keyring and the register of renames. */
const OPENING = 2;

let folder: string;
let from: string;
let flags: Flags;
let calls: StoreCall[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-many-'));
  from = join(folder, 'in');
  for (const name of names) {
    mkdirSync(join(from, name, '..'), { recursive: true });
    writeFileSync(join(from, name), textOf(name));
  }
  const rootKeyFile = join(folder, 'root.key');
  writeFileSync(rootKeyFile, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
  flags = { store: `sqlite:${join(folder, 'store.sqlite')}`, tenant: 'acme', rootKeyFile };
  calls = [];
  wire.around = recordInto(calls);
});
afterEach(() => {
  wire.around = undefined;
  rmSync(folder, { recursive: true });
});

async function said(action: Action) {
  const { invocation, shown, complaints } = invocationOf({ flags });
  calls.length = 0;
  const code = await action(invocation);
  return { code, text: shown.join(''), complaints, calls: countCalls(calls) };
}

const importAll = (options = {}) => said((run) => runImport({ from, path: '/memories' }, options, run));
const exportTo = (to: string, options = {}) =>
  said((run) => runExport({ path: '/memories', to }, options, run));
const grep = (pattern: string) => said((run) => runGrep({ pattern, path: '/memories' }, {}, run));

/** Answers the most requests of a verb that were under way at once. */
async function mostAtOnce(verb: StoreCall['verb'], work: () => Promise<unknown>): Promise<number> {
  let [running, most] = [0, 0];
  wire.around = async (call, proceed) => {
    if (call.verb !== verb) return proceed();
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 20));
    try {
      return await proceed();
    } finally {
      running--;
    }
  };
  await work();
  return most;
}

describe('verbs on many files', { timeout: 120_000 }, () => {
  it('import, grep, export, its page and cp -r have as many requests under way as a verification', async () => {
    expect(await mostAtOnce('put', importAll)).toBe(BOUND);
    expect(await mostAtOnce('get', () => grep('text'))).toBe(BOUND);
    expect(await mostAtOnce('get', () => exportTo(join(folder, 'out')))).toBe(BOUND);
    expect(await mostAtOnce('get', () => exportTo(join(folder, 'out.html'), { html: true }))).toBe(BOUND);
    const copy = () =>
      said((run) => runCp({ from: '/memories/0', to: '/memories/copy' }, { recursive: true }, run));
    expect(await mostAtOnce('put', copy)).toBe(FILES / 3);
  });

  it('grep tells what it finds in the order of the paths, whichever answer comes first', async () => {
    await importAll();
    let gets = 0;
    wire.around = async (call, proceed) => {
      // The later it is asked for the sooner it comes.
      if (call.verb === 'get') await new Promise((resolve) => setTimeout(resolve, Math.max(0, 40 - gets++)));
      return proceed();
    };
    const { text } = await grep('text');
    const lines = [...names].sort().map((name) => `/memories/${name}:1:text of ${name}\n`);
    expect(text).toBe(lines.join(''));
  });

  it('grep tells what it found before a file that the store keeps from it, and ends there', async () => {
    await importAll();
    let gets = 0;
    wire.around = (call, proceed) => {
      if (call.verb === 'get' && ++gets === OPENING + 10)
        return Promise.reject(new Error('of the tenth file'));
      return proceed();
    };
    const { invocation, shown } = invocationOf({ flags });
    await expect(runGrep({ pattern: 'text', path: '/memories' }, {}, invocation)).rejects.toThrow(
      'of the tenth file',
    );
    expect(shown).toHaveLength(9);
  });

  it('import of new files sends a listing, and for each what a create takes', async () => {
    await said((run) => runPut('/memories/first.md', { text: 'x' }, run));
    // A put, and a look below the path and at the directory above it.
    expect((await importAll()).calls).toEqual({
      get: OPENING,
      list: 1 + FILES,
      put: FILES,
      head: FILES,
    });
  });

  it('import of what is there reads each file, and writes nothing', async () => {
    await importAll();
    const again = await importAll();
    expect(again.text).toBe(`ok    0 files written to /memories, ${FILES} there already\n`);
    expect(again.calls).toEqual({ get: OPENING + FILES, list: 1 });
  });

  it('import of files of another size sends nothing for them, unless they are to be replaced', async () => {
    await importAll();
    for (const name of names) writeFileSync(join(from, name), 'longer than it was before, by some words\n');
    const refused = await importAll();
    expect(refused).toMatchObject({ code: 1, calls: { get: OPENING, list: 1 } });
    expect(refused.text).toContain(`FAIL  ${from}/${names[0]} differs from /memories/${names[0]}; --force`);
    const replaced = await importAll({ force: true });
    expect(replaced).toMatchObject({ code: 0, calls: { get: OPENING, put: FILES } });
  });

  it('import of one file into a large memory lists a page of it, no more, and finds its place all the same', async () => {
    const many = join(folder, 'many');
    mkdirSync(many);
    for (let i = 0; i < 1_050; i++) writeFileSync(join(many, `${i}`), 'x');
    await said((run) => runImport({ from: many, path: '/memories' }, {}, run));
    for (const name of readdirSync(many)) if (name !== '1049') rmSync(join(many, name));
    const again = await said((run) => runImport({ from: many, path: '/memories' }, {}, run));
    expect(again.text).toBe('ok    0 files written to /memories, 1 there already\n');
    expect(again.calls['list']).toBe(1);
  });

  it('export reads what is there to compare it, and nothing that differs in size or would not be written', async () => {
    await importAll();
    const out = join(folder, 'out');
    await exportTo(out);
    const again = await exportTo(out);
    expect(again.text).toBe(`ok    0 files written to ${out}, ${FILES} there already\n`);
    expect(again.calls).toEqual({ get: OPENING + FILES, list: 1 });
    for (const name of names) writeFileSync(join(out, name), 'x');
    const refused = await exportTo(out);
    expect(refused.calls).toEqual({ get: OPENING, list: 1 });
    expect(refused.text).toContain(`FAIL  0 files written to ${out}, ${FILES} left\n`);
    expect(await exportTo(out, { force: true })).toMatchObject({ code: 0, calls: { get: OPENING + FILES } });
    expect(readFileSync(join(out, names[5] ?? ''), 'utf8')).toBe(textOf(names[5] ?? ''));
  });

  it('export makes each folder once', async () => {
    await importAll();
    vi.mocked(filesystem.mkdir).mockClear();
    vi.mocked(filesystem.realpath).mockClear();
    await exportTo(join(folder, 'out'));
    // That of the export, and three below it.
    expect(vi.mocked(filesystem.mkdir)).toHaveBeenCalledTimes(4);
    // These, and a look at each of the three before.
    expect(vi.mocked(filesystem.realpath)).toHaveBeenCalledTimes(7);
  });

  it('export writes two names that a file system may take for one in their order', async () => {
    for (const [path, text] of [
      ['/memories/A.md', 'upper'],
      ['/memories/a.md', 'lower'],
    ] as const)
      await said((run) => runPut(path, { text }, run));
    const out = join(folder, 'out');
    let gets = 0;
    let there: readonly string[] = [];
    wire.around = (call, proceed) => {
      if (call.verb === 'get' && ++gets === OPENING + 2) there = readdirSync(out);
      return proceed();
    };
    expect((await exportTo(out)).code).toBe(0);
    // When the second is asked for the first is written.
    expect(there).toEqual(['A.md']);
    expect(readdirSync(out)).toHaveLength(2);
  });

  it('rm -r deletes all files of a directory by one request', async () => {
    await importAll();
    const { calls: sent } = await said((run) => runRm(['/memories/0'], { recursive: true }, run));
    expect(sent['delete']).toBe(1);
    expect(sent['put']).toBeUndefined();
  });

  it.each<readonly [string, Action]>([
    ['import', (run) => runImport({ from, path: '/memories/again' }, {}, run)],
    ['export', (run) => runExport({ path: '/memories', to: join(folder, 'out') }, {}, run)],
    [
      'export --html',
      (run) => runExport({ path: '/memories', to: join(folder, 'o.html') }, { html: true }, run),
    ],
    ['grep', (run) => runGrep({ pattern: 'text', path: '/memories' }, {}, run)],
    ['cp -r', (run) => runCp({ from: '/memories/0', to: '/memories/copy' }, { recursive: true }, run)],
    ['mv', (run) => runMv({ from: '/memories/0', to: '/memories/moved' }, run)],
    ['rm -r', (run) => runRm(['/memories/0'], { recursive: true }, run)],
    ['ls', (run) => runLs('/memories', {}, run)],
    ['du', (run) => runDu('/memories', run)],
    ['tree', (run) => runTree('/memories', run)],
    ['verify', (run) => runVerify({}, run)],
    ['expire', (run) => runExpire({ after: 30, dryRun: true }, run)],
    ['keys status', (run) => runStatus(run)],
    ['keys rotate', (run) => runRotate({}, run)],
    ['keys migrate', (run) => runMigrate({}, run)],
    ['keys encode-name', (run) => runEncodeName('/memories/0/00.md', run)],
    ['checkpoint', (run) => runCheckpoint({}, run)],
    [
      'restore-at',
      (run) =>
        runRestoreAt(new Date(Date.now() - 172_800_000).toISOString(), { yes: true, partial: true }, run),
    ],
  ])('%s sends no request of which a screen would not tell after a second', async (_, verb) => {
    await said((run) => runTurnHistory('on', run));
    await importAll();
    const { invocation } = invocationOf({ flags });
    let underWay = 0;
    const during: Report['during'] = async (__, work) => {
      underWay++;
      try {
        return await work();
      } finally {
        underWay--;
      }
    };
    let requests = 0;
    const untold: StoreCall[] = [];
    wire.around = (call, proceed) => {
      requests++;
      if (underWay === 0) untold.push(call);
      return proceed();
    };
    const report = { ...invocation.report, during };
    await verb({ ...invocation, report }).catch((error: unknown) => {
      if (!hasCode(error, 'not_found')) throw error;
    });
    expect(requests).toBeGreaterThan(0);
    expect(untold).toEqual([]);
  });

  it('rm -r tells how far it is file by file where a delete of each takes a request', async () => {
    await importAll();
    const { invocation } = invocationOf({ flags });
    const told: unknown[] = [];
    const report = { ...invocation.report, progress: (fields: object) => void told.push(fields) };
    wire.isGuarding = true;
    try {
      await runRm(['/memories/0'], { recursive: true }, { ...invocation, report });
    } finally {
      wire.isGuarding = false;
    }
    const total = FILES / 3;
    expect(told.slice(0, total)).toEqual(
      Array.from({ length: total }, (_, index) => ({ done: index + 1, total })),
    );
  });
});
