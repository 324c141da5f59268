import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { isNotRun } from '../runner/not-run.ts';
import { firstOrAll } from '../runner/thorough.ts';

const SCRIPT = fileURLToPath(new URL('./full-disk.ts', import.meta.url));
const SLOW = 120_000;

/**
 * Programs that start others in a place where file systems may be mounted; no other process sees these, or has to end
 * them.
 */
const MOUNTING = [
  ['unshare', '-rm'],
  ['sudo', '-n', 'unshare', '-m'],
].find(([program = '', ...options]) => spawnSync(program, [...options, 'true']).status === 0);
const NO_DISK = { reason: 'neither user namespaces nor sudo: no disk can be mounted' };
const isMissing = isNotRun('A memory on a full disk', MOUNTING ?? NO_DISK);

describe.skipIf(isMissing)('a memory on a disk without a byte of room', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-full-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const runOn = (size: string, part: string, history: 'on' | 'off'): unknown => {
    if (MOUNTING === undefined) throw new Error(NO_DISK.reason);
    const [program = '', ...options] = MOUNTING;
    const mount = 'mount -t tmpfs -o size="$0" tmpfs "$1" && exec "$2" "$3" "$1" "$4" "$5"';
    const run = spawnSync(
      program,
      [...options, 'sh', '-c', mount, size, folder, process.execPath, SCRIPT, part, history],
      { encoding: 'utf8' },
    );
    expect(run.stderr).toBe('');
    return JSON.parse(run.stdout);
  };
  const VERBS = {
    refused: 'unavailable',
    single: 'done',
    large: ['done', 'done'],
    lost: 0,
    all: 'done',
    after: 0,
    taken: 0,
    room: 'done',
    whole: true,
  };

  it.each(firstOrAll(['5m', '8m']))(
    'of %s lets files be deleted, and others take their place',
    { timeout: SLOW },
    (size) => {
      const others = { again: 'done', edited: 'done', anew: 'done', hasGrown: false };
      expect(runOn(size, 'verbs', 'off')).toEqual({ ...VERBS, ...others });
    },
  );

  it.each(firstOrAll(['5m', '8m']))(
    'of %s lets files be deleted into the history out of the reserve, which is whole before anything else grows',
    { timeout: SLOW },
    (size) => {
      const others = { again: 'unavailable', edited: 'unavailable', anew: 'unavailable', hasGrown: true };
      expect(runOn(size, 'verbs', 'on')).toEqual({ ...VERBS, ...others, unkept: 0, untold: 0 });
    },
  );

  it.each(firstOrAll(['on', 'off'] as const))(
    'lets every file be deleted by itself, with history %s',
    { timeout: SLOW },
    (history) => {
      const { files, codes, taken } = runOn('8m', 'deletes', history) as Deletes;
      expect(files).toBeGreaterThan(100);
      expect(codes).toEqual({ done: files });
      expect(taken).toBe(0);
    },
  );

  it('lets files be deleted on behalf of actors who are named nowhere yet, and texts be redacted', {
    timeout: SLOW,
  }, () => {
    expect(runOn('8m', 'actors', 'on')).toEqual({ deleted: { done: 20 }, named: 20, redacted: 'done' });
  });

  it.each(firstOrAll(['on', 'off'] as const))(
    'lets files expire, with history %s',
    { timeout: SLOW },
    (history) => {
      const { files, marked, deleted, records = 0, findings } = runOn('5m', 'expires', history) as Expiry;
      expect(files).toBeGreaterThan(60);
      expect([marked, deleted, findings]).toEqual([files, files, []]);
      expect(records > files).toBe(history === 'on');
    },
  );

  it('lets the history expire once what is in reserve is used up, and files be deleted again', {
    timeout: SLOW,
  }, () => {
    const { files, first, records, again } = runOn('5m', 'forgets', 'on') as Forgetting;
    expect(first).toBeGreaterThan(300);
    expect(files).toBeGreaterThan(first + 100);
    expect([records, again]).toEqual([2 * first, 100]);
  });

  it.each(firstOrAll(['on', 'off'] as const))(
    'and three processes that write leaves the reserve whole, but for what records of the history take: %s',
    { timeout: SLOW },
    (history) => {
      const { files, writers, whole, reserve, grown, taken } = runOn('8m', 'writers', history) as Writers;
      expect(writers.map(({ code }) => code)).toEqual([0, 0, 0]);
      expect(writers.flatMap(({ deleted }) => Object.keys(deleted))).toEqual(['done', 'done', 'done']);
      expect(writers.reduce((sum, { deleted }) => sum + (deleted['done'] ?? 0), 0)).toBe(files);
      expect(reserve).toBe(whole - grown);
      expect(taken).toBe(0);
      expect(grown > 0).toBe(history === 'on');
    },
  );
});

interface Deletes {
  readonly files: number;
  readonly codes: Readonly<Record<string, number>>;
  /** The bytes by which the file and the reserve have grown together. */
  readonly taken: number;
}

interface Expiry extends Pick<Deletes, 'files'> {
  readonly marked: number;
  readonly deleted: number;
  readonly records?: number;
  readonly findings: readonly unknown[];
}

interface Forgetting extends Pick<Deletes, 'files'> {
  readonly first: number;
  readonly records: number;
  readonly again: number;
}

interface Writers extends Pick<Deletes, 'files' | 'taken'> {
  readonly writers: readonly {
    readonly code: number;
    readonly deleted: Readonly<Record<string, number>>;
  }[];
  readonly whole: number;
  readonly reserve: number;
  readonly grown: number;
}
