import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { onceAWait, tellWaits } from '../../../../src/cli/run/waits.ts';
import { tellLongWait } from '../../../../src/waits.ts';
import { CLI_MEMORY_ENV, runCli, startCli } from '../../../stage/cli.ts';

const TIMEOUT = 30_000;

describe('long waits of the command line', { timeout: TIMEOUT }, () => {
  it('are told with a time of the clock and the seconds up to it, once however many wait for the same', () => {
    const notes: string[] = [];
    vi.spyOn(Date, 'now').mockReturnValue(Date.UTC(2026, 10, 17, 9, 30));
    onTestFinished(() => void vi.restoreAllMocks());
    const leftMs = 4_500;
    const end = tellWaits({ note: (line) => notes.push(line) });
    for (const _ of [1, 2, 3]) tellLongWait({ for: 'rename', leftMs });
    tellLongWait({ for: 'KMS', leftMs });
    end();
    tellLongWait({ for: 'lock', leftMs });
    expect(notes).toEqual([
      'waiting for another process, which renames a directory; until 09:30:04 UTC at most, 5 s',
      'waiting for AWS KMS, which has not answered yet; until 09:30:04 UTC at most, 5 s',
    ]);
  });

  it('are told again where a further one begins behind the end of the first', () => {
    const notes: string[] = [];
    let now = 0;
    const note = onceAWait({ note: (line) => notes.push(line) }, () => now);
    for (; now < 30_000; now += 5_000) note('lock', { until: now + 10_000, line: 'waiting' });
    note('rename', { until: now + 1_000, line: 'not for so short a time' });
    expect(notes).toEqual([
      'waiting; until 00:00:10 UTC at most, 10 s',
      'waiting; until 00:00:20 UTC at most, 10 s',
      'waiting; until 00:00:30 UTC at most, 10 s',
    ]);
  });

  it('are told without a terminal while another process holds the database, and not with --quiet', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-waits-'));
    const file = join(folder, 'memory.sqlite');
    const env = { ...CLI_MEMORY_ENV, SEALED_MEMORY_STORE: `sqlite:${file}` };
    try {
      expect(await runCli(['put', '/memories/a', '--text', 'a'], { env })).toMatchObject({
        code: 0,
        stderr: '',
      });
      for (const [flags, said] of [
        [[], true],
        [['--quiet'], false],
      ] as const) {
        const other = new DatabaseSync(file);
        other.exec('BEGIN IMMEDIATE');
        const child = startCli([...flags, 'put', '/memories/a', '--text', 'b'], { env });
        const errors = text(child.stderr);
        child.stdin.end();
        const ended = once(child, 'close');
        if (said) await once(createInterface(child.stderr), 'line');
        else await new Promise((resolve) => setTimeout(resolve, 3_000));
        other.exec('ROLLBACK');
        other.close();
        expect(await ended).toEqual([0, null]);
        const line =
          /^sealed-memory: waiting for another process, which holds the lock of the database file; until \d\d:\d\d:\d\d UTC at most, \d+ s\n$/;
        expect(await errors).toMatch(said ? line : /^$/);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
