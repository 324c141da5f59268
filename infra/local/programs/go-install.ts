import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { cacheDirectory, type Environment, type FoundProgram, findCommand } from './find-program.ts';
import { cachedProgram, type GoProgram } from './pinned.ts';

const LONGEST_BUILD_MS = 20 * 60_000;
const PROGRESS_EVERY_MS = 15_000;

/**
 * Builds the pinned version into the cache folder, and reports its progress. Never throws: a build that cannot be made
 * gives its reason in one line.
 */
export async function goInstall(
  env: Environment,
  program: GoProgram,
  say: (line: string) => void,
): Promise<FoundProgram | { readonly reason: string }> {
  const { title } = program;
  const go = await findCommand(env, 'go');
  if (!go) return { reason: `no Go to build ${title} with` };
  const installed = await goVersion(go);
  const [major, minor] = program.minimumGo;
  if (!installed || installed[0] < major || (installed[0] === major && installed[1] < minor)) {
    return { reason: `building ${title} needs Go ${major}.${minor} or newer` };
  }
  try {
    const directory = cacheDirectory(env);
    await mkdir(directory, { recursive: true });
    const scratch = await mkdtemp(join(directory, 'build-'));
    try {
      say(
        `building ${title} ${program.version} with Go, once, ${program.buildTime}; it is kept in ${directory}`,
      );
      await build(go, { ...env, GOBIN: scratch, CGO_ENABLED: '0' }, program, say);
      const path = cachedProgram(directory, program);
      await rename(join(scratch, program.installedAs ?? program.command), path);
      return { path, version: program.version, how: 'built by go install' };
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { reason: `building ${title} failed: ${message.split('\n')[0]}` };
  }
}

async function build(
  go: string,
  env: Environment,
  program: GoProgram,
  say: (line: string) => void,
): Promise<void> {
  const started = Date.now();
  const arguments_ = ['install', '-v', `${program.packagePath}@${program.moduleVersion}`];
  const child = spawn(go, arguments_, {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LONGEST_BUILD_MS,
  });
  let lines = 0;
  let lastLine = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines += 1;
    lastLine = line;
  });
  const progress = setInterval(() => {
    const seconds = Math.round((Date.now() - started) / 1000);
    say(`building ${program.title}: ${seconds} s, ${lines} steps, now ${lastLine}`);
  }, PROGRESS_EVERY_MS);
  const kill = () => child.kill();
  process.once('exit', kill);
  try {
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(lastLine || `go install ended with ${code}`);
  } finally {
    process.off('exit', kill);
    clearInterval(progress);
  }
}

async function goVersion(go: string): Promise<readonly [number, number] | undefined> {
  try {
    const { stdout } = await promisify(execFile)(go, ['version'], { timeout: 30_000 });
    const match = /go(\d+)\.(\d+)/.exec(stdout);
    return match ? [Number(match[1]), Number(match[2])] : undefined;
  } catch {
    return undefined;
  }
}
