import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startGuarded } from '../../../infra/local/programs/guarded-process.ts';

const GUARDED_PROCESS = new URL('../../../infra/local/programs/guarded-process.ts', import.meta.url);

/** A server that answers 200 with its folder's name. */
const SERVER = `
  const [address, directory] = process.argv.slice(1);
  const [host, port] = address.split(':');
  require('node:http').createServer((_, response) => response.end(directory)).listen(Number(port), host);
`;

async function isUp(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  );
}

describe('startGuarded', () => {
  let scratch: string;

  beforeEach(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'guarded-process-'));
    vi.stubEnv('TMPDIR', scratch);
  });

  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(scratch, { recursive: true });
  });

  it('stops the server and removes its folder', async () => {
    const guarded = await startGuarded({
      program: process.execPath,
      arguments: ({ address, directory }) => ['-e', SERVER, address, directory],
      env: {},
      healthPath: '/',
    });
    expect(await isUp(guarded.url)).toBe(true);
    expect(await readdir(scratch)).toHaveLength(1);
    await guarded.stop();
    expect(await isUp(guarded.url)).toBe(false);
    expect(await readdir(scratch)).toEqual([]);
  });

  it('kills the server at once, and starts another at its address', async () => {
    const options = {
      program: process.execPath,
      arguments: ({ address, directory }: { readonly address: string; readonly directory: string }) => [
        '-e',
        SERVER,
        address,
        directory,
      ],
      env: {},
      healthPath: '/',
    };
    const first = await startGuarded(options);
    await first.kill();
    expect(await isUp(first.url)).toBe(false);
    expect(await readdir(scratch)).toEqual([]);
    const second = await startGuarded({ ...options, address: new URL(first.url).host });
    expect(second.url).toBe(first.url);
    await second.stop();
  });

  it('says what a server wrote that did not start', async () => {
    const failing = startGuarded({
      program: process.execPath,
      arguments: () => ['-e', 'console.error("no such disk"); process.exit(1)'],
      env: {},
      healthPath: '/',
    });
    await expect(failing).rejects.toThrow('it did not start: no such disk');
    expect(await readdir(scratch)).toEqual([]);
  });

  it('removes the folder of a server that its starter kills as it ends itself', async () => {
    const starter = await runStarter(
      'process.stdin.once("data", () => (void guarded.kill(), process.exit()))',
    );
    starter.stdin.write('end');
    await once(starter, 'exit');
    await vi.waitFor(async () => expect(await readdir(scratch)).toEqual(['starter.ts']), { timeout: 10_000 });
  });

  it.each(['SIGINT', 'SIGKILL'] as const)(
    'lets no server outlive its starter ended by %s',
    async (signal) => {
      const starter = await runStarter('setInterval(() => {}, 1000)');
      starter.kill(signal);
      await vi.waitFor(async () => expect(await isUp(starter.url)).toBe(false), { timeout: 10_000 });
      await vi.waitFor(async () => expect(await readdir(scratch)).toEqual(['starter.ts']), {
        timeout: 10_000,
      });
    },
  );

  it('leaves no folder though its starter ends as soon as there is one', async () => {
    const starter = await spawnStarter(
      `while (readdirSync(${JSON.stringify(scratch)}).length === 1) await setImmediate();
       process.exit()`,
    );
    await once(starter, 'exit');
    await vi.waitFor(async () => expect(await readdir(scratch)).toEqual(['starter.ts']), { timeout: 10_000 });
  });

  it('holds its starter up no longer than it runs', async () => {
    const starter = await runStarter(
      'process.stdin.once("data", async () => (await guarded.stop(), process.stdin.destroy()))',
    );
    starter.stdin.write('stop');
    await once(starter, 'exit', { signal: AbortSignal.timeout(4_000) });
  });

  /** A process that begins to start the server, in the promise `starting`, and then runs `rest`. */
  async function spawnStarter(rest: string) {
    const script = join(scratch, 'starter.ts');
    await writeFile(
      script,
      `import { readdirSync } from 'node:fs';
       import { setImmediate } from 'node:timers/promises';
       import { startGuarded } from ${JSON.stringify(GUARDED_PROCESS.href)};
       const starting = startGuarded({
         program: process.execPath,
         arguments: ({ address, directory }) => ['-e', ${JSON.stringify(SERVER)}, address, directory],
         env: {},
         healthPath: '/',
       });
       ${rest};`,
    );
    const starter = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void starter.kill('SIGKILL'));
    return starter;
  }

  /** A process that has started the server as `guarded` and then runs `rest`. */
  async function runStarter(rest: string) {
    const starter = await spawnStarter(
      `const guarded = await starting;
       console.log(guarded.url);
       ${rest}`,
    );
    const [chunk] = await once(starter.stdout, 'data');
    const url = String(chunk).trim();
    expect(await isUp(url)).toBe(true);
    return Object.assign(starter, { url });
  }
});
