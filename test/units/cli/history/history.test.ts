import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { turnActor } from '../../../../src/turns/turn-trace.ts';
import { CLI_MEMORY_ENV, type CliRun, runCli, startCli } from '../../../stage/cli.ts';

let folder: string;
let env: Record<string, string>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-history-'));
  env = {
    ...CLI_MEMORY_ENV,
    SEALED_MEMORY_STORE: `sqlite:${join(folder, 'memory.sqlite')}`,
    SEALED_MEMORY_ACTOR: 'ann',
  };
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { env });
it('log ends quietly where its reader goes away', { timeout: 60_000 }, async () => {
  await run('tenant', 'history', 'on');
  await run('put', '/memories/read.md', '--text', 'one');
  const child = startCli(['log'], { env });
  child.stdout.destroy();
  const [stderr, [code]] = await Promise.all([textOf(child.stderr), once(child, 'close')]);
  expect([stderr, code]).toEqual(['', 0]);
});

describe('sealed-memory restore-at and undo', { timeout: 120_000 }, () => {
  const here = (...args: readonly string[]): Promise<CliRun> => run('--tenant', 'taken-back', ...args);
  const text = async (path: string): Promise<string> => (await here('cat', path)).stdout;

  it.each([
    ['short', 't-1'],
    ['long', 'x'.repeat(300)],
  ])('take back a turn by its id alone: a %s one', async (_, turn) => {
    const path = `/memories/turns-${turn.length}.md`;
    await here('tenant', 'history', 'on');
    for (const id of [turn, `${turn}0`]) {
      const worker = {
        env: { ...env, SEALED_MEMORY_TENANT: 'taken-back', SEALED_MEMORY_ACTOR: turnActor(id) },
      };
      await runCli(['put', id === turn ? path : `${path}.other`, '--text', 'poison'], worker);
    }
    const undone = await here('undo', '--turn', turn, '--yes');
    expect(undone.stdout).toContain('ok    1 change written');
    expect(await here('cat', path)).toMatchObject({ code: 1 });
    expect(await text(`${path}.other`)).toBe('poison');
  });
});
