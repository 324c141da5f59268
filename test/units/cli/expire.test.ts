import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { expiryLines } from '../../../src/cli/show/operate-lines.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { CLI_MEMORY_ENV, type CliRun, runCli } from '../../support/cli.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const ROOT_KEY = CLI_MEMORY_ENV['SEALED_MEMORY_ROOT_KEY'] ?? '';
const NOTHING = { files: 0, deleted: 0, marked: 0, records: 0, sessions: 0, busy: false, tombstones: 0 };

let folder: string;
let file: string;
let env: Record<string, string>;
let count = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-expire-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  file = join(folder, `${count++}.sqlite`);
  env = {
    ...CLI_MEMORY_ENV,
    SEALED_MEMORY_STORE: `sqlite:${file}`,
    SEALED_MEMORY_EXPIRE_AFTER_DAYS: '30',
  };
  await create('/memories/old.md', 40 * DAY);
  await create('/memories/new.md', 0);
});
afterEach(() => vi.unstubAllEnvs());

/** Something that was written, or done, so long ago. */
async function create(path: string, ageMs: number): Promise<void> {
  await using store = openSqliteObjectStore({ path: file, clock: () => Date.now() - ageMs });
  await using memory = await openMemory({ store, tenant: 'acme', rootKey: ROOT_KEY });
  const result = await memory.execute({ command: 'create', path, file_text: 'x' });
  expect(result).toMatchObject({ isError: false });
}

async function markedAgo(ageMs: number): Promise<void> {
  await using store = openSqliteObjectStore({ path: file, clock: () => Date.now() - ageMs });
  await using admin = await openAdmin({ store, tenant: 'acme', rootKey: ROOT_KEY, expireAfterDays: 30 });
  await admin.expire();
}

const run = (...args: readonly string[]): Promise<CliRun> => runCli(['expire', '--json', ...args], { env });
const lastLine = ({ stdout }: CliRun): unknown => JSON.parse(stdout.trim().split('\n').at(-1) ?? '');

describe('sealed-memory expire', () => {
  it('marks what was not used, and deletes it in a later run, in JSON lines', async () => {
    const first = await run();
    expect(first.code).toBe(0);
    expect(lastLine(first)).toEqual({ event: 'done', dryRun: false, ...NOTHING, files: 2, marked: 1 });
    await markedAgo(2 * HOUR);
    expect(lastLine(await run())).toMatchObject({ event: 'done', files: 2, deleted: 0, marked: 1 });
  });

  it('deletes what a run of more than an hour ago marked', async () => {
    await markedAgo(2 * HOUR);
    expect(lastLine(await run('--dry-run'))).toMatchObject({ dryRun: true, deleted: 1, files: 2 });
    expect(lastLine(await run())).toMatchObject({ dryRun: false, deleted: 1, files: 2 });
    expect(lastLine(await run())).toMatchObject({ deleted: 0, files: 1 });
  });

  it('refuses a tenant that a mount names, and spares one that it says does not expire', async () => {
    await markedAgo(2 * HOUR);
    const refused = await run('--mount', '/memories/handbook=acme:ro');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('":expires=false" in --mount');
    expect(lastLine(refused)).toMatchObject({ event: 'failed', code: 'misconfigured' });
    env['SEALED_MEMORY_MOUNTS'] = '/memories/handbook=acme:ro:expires=false';
    expect(lastLine(await run())).toMatchObject({ ...NOTHING, event: 'done' });
    env['SEALED_MEMORY_MOUNTS'] = '/memories/handbook=acme:expires=true';
    expect(lastLine(await run())).toMatchObject({ event: 'done', files: 2, deleted: 1 });
  });

  it.each([
    ['cat', '/memories/old.md'],
    ['grep', 'x'],
    ['cp', '/memories/old.md', '/memories/copy.md'],
    ['export', 'out'],
  ])('keeps a file that %s has read', async (...args) => {
    const out = args.map((each) => (each === 'out' ? join(folder, `out-${count}`) : each));
    expect((await runCli(out, { env })).code).toBe(0);
    await markedAgo(2 * HOUR);
    expect(lastLine(await run())).toMatchObject({ deleted: 0, marked: 0 });
  });

  it('takes other days than the configured ones', async () => {
    expect(lastLine(await run('--after', '50'))).toMatchObject({ files: 2, marked: 0 });
    expect(lastLine(await run('--after', '39', '--dry-run'))).toMatchObject({ files: 2, marked: 1 });
  });

  it('refuses to delete by days of its own where reads are not recorded, and to run without days', async () => {
    delete env['SEALED_MEMORY_EXPIRE_AFTER_DAYS'];
    const refused = await run('--after', '30');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('SEALED_MEMORY_EXPIRE_AFTER_DAYS is not set');
    expect(lastLine(refused)).toMatchObject({ event: 'failed', code: 'misconfigured' });
    expect(lastLine(await run('--after', '30', '--dry-run'))).toMatchObject({ marked: 1 });
    for (const args of [[], ['--dry-run']]) {
      const without = await run(...args);
      expect(without.code).toBe(2);
      expect(without.stderr).toContain('expire needs days: set SEALED_MEMORY_EXPIRE_AFTER_DAYS');
      expect(lastLine(without)).toMatchObject({ event: 'failed', code: 'misconfigured' });
    }
    env['SEALED_MEMORY_HISTORY_DAYS'] = '30';
    expect(lastLine(await run())).toMatchObject({ event: 'done', dryRun: false, ...NOTHING });
  });

  it.each([['0'], ['3651']])('refuses %s days', async (days) => {
    const refused = await run('--after', days);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('Give a whole number from 1 to 3650.');
  });

  it('refuses what is no number of days', async () => {
    expect((await run('--after', 'soon')).code).toBe(2);
  });
});

describe('expiryLines', () => {
  const report = {
    ...NOTHING,
    files: 7,
    deleted: 2,
    marked: 3,
    records: 4,
    sessions: 1,
    tombstones: 1,
    busy: true,
  };

  it('tell what was done, and what is left to do', () => {
    expect(expiryLines(report, { dryRun: false })).toEqual([
      'wait  a directory is being renamed, so no file was looked at — run it again',
      'to do 3 unused: a run at least an hour later deletes what is still unused',
      'ok    7 files looked at, 2 deleted',
      'ok    4 old access records, receipts, answers and conversations deleted',
      'ok    1 unused session deleted',
      'ok    1 tombstone of deletes that were cut off removed',
    ]);
  });

  it('tell of one as of one', () => {
    const one = { files: 1, deleted: 1, marked: 0, records: 1, sessions: 0, tombstones: 1, busy: false };
    expect(expiryLines({ ...report, ...one }, { dryRun: false })).toEqual([
      'ok    1 file looked at, 1 deleted',
      'ok    1 old access record, receipt, answer or conversation deleted',
      'ok    1 tombstone of deletes that were cut off removed',
    ]);
  });

  it('tell of a dry run what would be done', () => {
    const dry = { ...report, tombstones: 0, busy: false };
    expect(expiryLines(dry, { dryRun: true })).toEqual([
      'to do 3 unused: a run marks them, and one at least an hour later deletes what is still unused',
      'note  7 files looked at, 2 would be deleted',
      'note  4 old access records, receipts, answers and conversations would be deleted',
      'note  1 unused session would be deleted',
    ]);
  });
});
