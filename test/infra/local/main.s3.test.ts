import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findCommand } from '../../../infra/local/programs/find-program.ts';
import { firstOrAll, THOROUGH } from '../../runner/thorough.ts';
import { putNpx } from '../../stage/programs.ts';
import { localPieces } from '../local-pieces.ts';

const MAIN = fileURLToPath(new URL('../../../infra/local/main.ts', import.meta.url));

// Asked for once here, so that a run without them says so, and CI fails.
const pieces = await localPieces();
await pieces?.[Symbol.asyncDispose]();

/** Processes that were started with the folder in their environment. */
function processesIn(folder: string): readonly string[] {
  return readdirSync('/proc').filter((id) => {
    if (!/^\d+$/.test(id)) return false;
    try {
      return readFileSync(`/proc/${id}/environ`, 'latin1').includes(folder);
    } catch {
      return false;
    }
  });
}

function runCloud(arguments_: readonly string[], folder: string) {
  const { ANTHROPIC_API_KEY: _, ...env } = process.env;
  return spawn(process.execPath, [MAIN, ...arguments_], { env: { ...env, TMPDIR: folder } });
}

/** A guard may end, and remove its folder, a moment after the program. */
async function expectNothingLeft(folder: string): Promise<void> {
  await expect.poll(() => processesIn(folder), { timeout: 5_000 }).toEqual([]);
  const left = async () =>
    (await readdir(folder, { recursive: true })).filter((path) => path.startsWith('sealed-memory'));
  await expect.poll(left, { timeout: 5_000 }).toEqual([]);
}

describe.skipIf(pieces === undefined)('npm run cloud', { timeout: 180_000 }, () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cloud-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  function expectTour(shown: string): void {
    for (const tenant of ['acme', 'globex', 'initech']) {
      expect(shown).toContain(`── Tenant ${tenant} `);
      expect(shown).toMatch(new RegExp(`^ +\\d+ {2}…[0-9a-f]{8} {2}local/keyrings/${tenant}$`, 'm'));
    }
    expect(shown.match(/^receipts: done, done; sealed answers: 2$/gm)).toHaveLength(3);
    expect(shown.match(/^checked: /gm)).toHaveLength(3);
    expect(shown).not.toContain('NOT TRUE');
  }

  it.each(firstOrAll([3_000, 0]))(
    'stops all it started when it is interrupted while it starts, %d ms in',
    async (milliseconds) => {
      const child = runCloud(['--stay'], folder);
      const told = text(child.stderr);
      await expect.poll(() => processesIn(folder).length, { timeout: 30_000 }).toBeGreaterThan(1);
      await sleep(milliseconds);
      child.kill('SIGINT');
      // As npm does, which passes on what the terminal has sent already.
      await sleep(50);
      child.kill('SIGINT');
      expect(await once(child, 'exit')).toEqual([130, null]);
      expect((await told).match(/^cloud: stopping what was started/gm)).toHaveLength(1);
      await expectNothingLeft(folder);
    },
  );

  it('names all that is missing before it begins anything', async () => {
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH: join(folder, 'bin'), HOME: folder, TMPDIR: folder },
    });
    const told = text(child.stderr);
    expect(await text(child.stdout)).toBe('');
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(1);
    expect(await told).toMatch(
      /^cloud: no MinIO: .*; aws-lambda-ric cannot be built: apt-get install cmake .*; no python3 [^\n]*\n$/,
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it('goes on with --stay, with commands that run as they are printed, until Ctrl-C', async () => {
    const child = runCloud(['--stay'], folder);
    onTestFinished(() => void child.kill());
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
    });
    await expect.poll(() => shown, { timeout: 120_000 }).toMatch(/Going on until Ctrl-C[\s\S]*grep ''\n/);
    expect(child.exitCode).toBeNull();
    expectTour(shown);
    const printed = shown.split(/Going on until Ctrl-C.*\n/)[1] ?? '';
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    putNpx(bin);
    const env = { PATH: `${bin}:${process.env['PATH']}`, HOME: folder };
    const type = () => promisify(execFile)('sh', ['-e', '-c', printed], { env });
    expect(printed).toContain('curl ');
    // CI installs it.
    const hasCurl = (await findCommand(process.env, 'curl')) !== undefined || process.env['CI'] === 'true';
    if (hasCurl) await expectAnswers(type);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
    await expectNothingLeft(folder);
  });

  async function expectAnswers(type: () => Promise<{ readonly stdout: string; readonly stderr: string }>) {
    let typed = await type();
    // A turn that takes longer than its answer is waited for; sent again it is answered from the store.
    while (!typed.stdout.includes('my-first')) typed = await type();
    // A busy machine is told meanwhile how far a verb has come.
    expect(typed.stderr.replaceAll(/^sealed-memory: \d+ of \d+ files\n/gm, '')).toBe('');
    expect(typed.stdout).toMatch(/<MessageId>[\s\S]*my-first[\s\S]*Kestrel[\s\S]*<\/ReceiveMessageResponse>/);
    expect(typed.stdout).toContain('Answer in one sentence.');
    expect(typed.stdout).toMatch(/\n\/memories\n[\s\S]*\.md:1:[^\n]*Kestrel/);
  }

  // The usual run takes the tour once, with --stay.
  if (!THOROUGH) return;

  it('shows conversations, receipts and ciphertext of three tenants, and ends', async () => {
    const child = runCloud([], folder);
    const output = text(child.stdout);
    expect(await once(child, 'exit')).toEqual([0, null]);
    expectTour(await output);
    await expectNothingLeft(folder);
  });

  it('leaves nothing behind when its terminal is closed', async () => {
    const command = `'${process.execPath}' '${MAIN}' --stay`;
    const { ANTHROPIC_API_KEY: _, ...env } = process.env;
    // The terminal is closed with the process that holds it.
    const terminal = spawn('script', ['-q', '-c', command, '/dev/null'], { env: { ...env, TMPDIR: folder } });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    let shown = '';
    terminal.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
    });
    await expect.poll(() => shown, { timeout: 120_000 }).toContain('Tenant acme');
    expect(processesIn(folder).length).toBeGreaterThan(3);
    terminal.kill('SIGKILL');
    await expect.poll(() => processesIn(folder), { timeout: 30_000 }).toEqual([]);
    await expectNothingLeft(folder);
  });
});

it('says what it does when asked for help', async () => {
  const child = spawn(process.execPath, [MAIN, '--help']);
  expect(await text(child.stdout)).toContain('--stay');
  expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
});
