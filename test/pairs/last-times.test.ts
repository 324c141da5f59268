import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { timeWords } from '../../src/page/client/parts/words.ts';
import { openTenantView } from '../../src/page/server/tenant-view.ts';
import { openPlace } from '../commands/place.ts';
import { type KeptMemory, openKeptMemory } from '../stage/kept-memory.ts';

/** The last time that the format allows; no date is so late. */
const LAST = Number.MAX_SAFE_INTEGER;
const SHOWN = '+275760-09-13T00:00:00';
const A = '/memories/a';

let kept: KeptMemory;
let version: string;

beforeAll(async () => {
  // A process whose clock stands there writes a keyring, files and records.
  const clock = vi.spyOn(Date, 'now').mockReturnValue(LAST);
  kept = await openKeptMemory();
  const { files, history } = kept.memory;
  for (const text of ['one', 'two']) await files.write(A, text, { actor: 'ann' });
  await files.write('/memories/b', 'b', { actor: 'ann' });
  await files.remove('/memories/b');
  version = (await history.list(A)).at(-1)?.version ?? '';
  clock.mockRestore();
});

afterAll(() => kept.remove());

/** One command, at another time. */
async function run(args: readonly string[]) {
  using place = openPlace();
  const { store, tenant, rootKeyFile } = kept.flags;
  const line = [...args, '--store', store, '--tenant', tenant, '--root-key-file', rootKeyFile];
  const { code, stdout, stderr } = await place.sealedMemory(line, { input: new Uint8Array(), settings: {} });
  return { code, stdout: Buffer.from(stdout).toString(), stderr };
}

const COMMANDS: readonly (readonly [string, readonly string[], string])[] = [
  ['log', ['log', '--json'], SHOWN],
  ['log of a file', ['log', A], SHOWN],
  ['keys status', ['keys', 'status'], SHOWN],
  ['keys status as JSON', ['keys', 'status', '--json'], String(LAST)],
  ['tenant history', ['tenant', 'history', '--json'], SHOWN],
  ['ls', ['ls', '-l', '/memories'], SHOWN],
  ['stat', ['stat', A], SHOWN],
  ['trace', ['trace', A, '--json'], SHOWN],
  ['checkpoint', ['checkpoint'], ''],
];

describe('what was written at the last time that the format allows', () => {
  it.each(COMMANDS)('is told by %s', async (_, args, told) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stderr, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining(told) });
  });

  it('is named by verify as ahead of the time now', async () => {
    const { code, stdout } = await run(['verify']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}\/memories\/a was written \d+ hours ahead of the time now/m);
  });

  it('is told by restore-at, which withholds what lay there before, and by show', async () => {
    const planned = await run(['restore-at', '2026-01-01T00:00:00Z', '--dry-run', '--json']);
    const [last = ''] = planned.stdout.trim().split('\n').slice(-1);
    expect(JSON.parse(last)).toMatchObject({
      left: 1,
      begins: expect.stringContaining(SHOWN),
    });
    expect(await run(['show', A, `v${version}`])).toMatchObject({ code: 0, stdout: 'one' });
  });

  it.each(['+275760-09-13T00:00:00Z', '9999-12-31T23:59:59Z'])('is no time to restore: %s', async (time) => {
    const { code, stdout } = await run(['restore-at', time, '--dry-run', '--json']);
    expect(code).not.toBe(0);
    expect(JSON.parse(stdout.trim())).toMatchObject({ code: 'misconfigured' });
  });

  it('is told by an export', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-last-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const page = join(folder, 'page.html');
    expect(await run(['export', '--html', page])).toMatchObject({ code: 0 });
    expect(readFileSync(page, 'utf8')).toContain(SHOWN);
    expect(await run(['export', join(folder, 'out')])).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'out', 'a'), 'utf8')).toBe('two');
  });

  it('is told by the page', async () => {
    const { store, tenant, rootKeyFile } = kept.flags;
    const rootKey = readFileSync(rootKeyFile, 'utf8');
    await using view = await openTenantView({ store, tenant, rootKey }, { lineOf: () => '' });
    const asking = { signal: new AbortController().signal, send: async () => {} };
    const reading = await view.questions['versions']?.({ path: A }, asking);
    expect(reading).toMatchObject({ entries: [{ time: 8.64e15 }, { time: 8.64e15 }] });
    expect(timeWords(LAST)).toBe(`${SHOWN.replace('T', ' ')} UTC`);
  });
});
