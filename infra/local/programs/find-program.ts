import { execFile } from 'node:child_process';
import { access, constants, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { cachedProgram, type GoProgram } from './pinned.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface FoundProgram {
  readonly path: string;
  readonly version: string;
  readonly how: string;
}

/** Names the folder for programs built once: `TEST_CACHE_DIR`, or one per user, so that all checkouts share it. */
export function cacheDirectory(env: Environment): string {
  const named = env['TEST_CACHE_DIR'];
  if (named) return resolve(named);
  const base = env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(base, 'sealed-memory');
}

/** Finds the program on PATH, in `.cache/` of the checkout or in the cache folder, in this order. */
export async function findProgram(env: Environment, program: GoProgram): Promise<FoundProgram | undefined> {
  const onPath = await findCommand(env, program.command);
  if (onPath) return { path: onPath, version: await versionOf(onPath, program), how: 'binary on PATH' };
  for (const directory of [resolve('.cache'), cacheDirectory(env)]) {
    const path = cachedProgram(directory, program);
    if (await isExecutable(path)) return { path, version: program.version, how: 'built binary in the cache' };
  }
  return undefined;
}

/** Finds a command on PATH. */
export async function findCommand(env: Environment, command: string): Promise<string | undefined> {
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    if (!directory) continue;
    const path = join(directory, command);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/**
 * Tells the version of a program. One built by `go install` calls itself a development version; its build record knows
 * better.
 */
async function versionOf(path: string, program: GoProgram): Promise<string> {
  const told = await promisify(execFile)(path, ['--version'], { timeout: 10_000 }).then(
    ({ stdout }) => /RELEASE\.[\w-]+|\bv?\d+\.\d+\.\d+\b/.exec(stdout.split('Runtime:')[0] ?? '')?.[0],
    () => undefined,
  );
  if (told) return told;
  const bytes = await readFile(path);
  const mark = `mod\t${program.module}\t`;
  const start = bytes.indexOf(mark);
  if (start < 0) return 'of unknown version';
  const record = bytes.toString('latin1', start + mark.length, start + mark.length + 80);
  const version = /^[\w.+-]+/.exec(record)?.[0] ?? 'of unknown version';
  return version === program.moduleVersion ? program.version : version;
}
