import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleCli } from '../../../infra/bundle-cli.ts';
import { CLI_MEMORY_ENV } from '../../stage/cli.ts';
import { PROGRAM_ENV } from '../../stage/programs.ts';

const SLOW = 60_000;
/** Longer than the program needs to see that it is alone, and to end. */
const ENDING_MS = 8_000;

/** The program of the folder, never one that is fetched. */
const LOCAL = ['--no-install', 'sealed-memory'];

const SERVERS: Readonly<Record<string, readonly string[]>> = {
  open: ['--json', 'open', '--no-browser'],
  'mcp --http': ['--json', 'mcp', '--http', '0'],
  mcp: ['mcp'],
};

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

describe('a server that npx has started', { timeout: SLOW }, () => {
  let folder: string;
  const groups = new Set<number>();
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-npx-'));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    await bundleCli(join(folder, 'cli'));
    const programs = join(folder, 'project/node_modules/.bin');
    mkdirSync(programs, { recursive: true });
    symlinkSync('../../../cli/main.cjs', join(programs, 'sealed-memory'));
    writeFileSync(join(folder, 'project/package.json'), '{ "private": true }');
  }, SLOW);
  afterAll(() => {
    // Ends the processes that a failed test has left: each npx leads a group of its own.
    for (const group of groups) {
      try {
        process.kill(-group, 'SIGKILL');
      } catch {}
    }
    rmSync(folder, { recursive: true, force: true });
  }, SLOW);

  async function start(args: readonly string[]): Promise<ChildProcessWithoutNullStreams> {
    const child = spawn('npx', [...LOCAL, ...args], {
      cwd: join(folder, 'project'),
      env: { ...PROGRAM_ENV, ...CLI_MEMORY_ENV, HOME: folder, npm_config_update_notifier: 'false' },
      detached: true,
    });
    groups.add(Number(child.pid));
    child.stderr.resume();
    if (args.includes('mcp') && !args.includes('--http'))
      child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
    // Its address, or its first answer.
    await once(createInterface(child.stdout), 'line');
    return child;
  }

  /** Whoever holds the other end of its output is gone by then: npx, its shell and the server. */
  async function isGone(child: ChildProcessWithoutNullStreams): Promise<boolean> {
    const late = AbortSignal.timeout(ENDING_MS);
    return once(child, 'close', { signal: late }).then(
      () => true,
      () => false,
    );
  }

  const TABLE = Object.keys(SERVERS).flatMap((server) =>
    (['SIGTERM', 'SIGHUP', 'SIGKILL'] as const).map((signal) => [server, signal] as const),
  );
  it.concurrent.each(TABLE)('%s: ends when npx alone meets %s', async (server, signal) => {
    const child = await start(SERVERS[server] ?? []);
    child.kill(signal);
    expect(await isGone(child)).toBe(true);
  });

  const ENDS = Object.keys(SERVERS).flatMap((server) =>
    (['SIGINT', 'SIGHUP'] as const).map((signal) => [server, signal] as const),
  );
  it.concurrent.each(ENDS)('%s: ends when a terminal gives all of them %s', async (server, signal) => {
    const child = await start(SERVERS[server] ?? []);
    process.kill(-Number(child.pid), signal);
    expect(await isGone(child)).toBe(true);
  });

  it('mcp: ends when its host closes standard input', async () => {
    const child = await start(['mcp']);
    child.stdin.end();
    expect(await isGone(child)).toBe(true);
    expect(child.exitCode).toBe(0);
  });
});
