import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheDirectory, type Environment, findCommand } from '../programs/find-program.ts';
import type { InstallOptions } from '../programs/install-options.ts';

/** AWS's own client of the Runtime API, which calls a function's handler in Lambda too. */
const PACKAGE = 'aws-lambda-ric';
const VERSION = '4.0.2';
const INSTALL_WITHIN_MS = 15 * 60_000;

/** The commands that its build calls, each with the Debian package that brings it. */
const BUILD_TOOLS: readonly (readonly [command: string, debianPackage: string])[] = [
  ['cmake', 'cmake'],
  ['g++', 'g++'],
  ['make', 'make'],
  ['autoconf', 'autoconf'],
  ['automake', 'automake'],
  ['libtoolize', 'libtool'],
  ['xz', 'xz-utils'],
  ['python3', 'python3'],
];

/**
 * Finds the script that starts AWS's runtime client, in the cache folder, where it is built once. Never throws: one
 * line tells a missing piece.
 */
export async function findRuntimeClient(
  env: Environment,
  options: InstallOptions,
): Promise<{ readonly script: string } | { readonly reason: string }> {
  const cache = cacheDirectory(env);
  const place = placeIn(cache);
  const script = scriptIn(cache);
  if (await exists(script)) return { script };
  if (!options.mayInstall) {
    return {
      reason: `${PACKAGE} is not installed; \`npm run cloud\` builds it, once, in two to four minutes`,
    };
  }
  const reason = await whyNoRuntimeClient(env);
  if (reason !== undefined) return { reason };
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, 'build-'));
  try {
    options.say(`building ${PACKAGE} ${VERSION} from npm, once, two to four minutes; it is kept in ${place}`);
    await install(scratch, env, options.signal);
    await rename(scratch, place).catch(async (error: unknown) => {
      if (!(await exists(script))) throw error;
    });
    return { script };
  } catch (error) {
    return { reason: `building ${PACKAGE} failed: ${lastLine(error)}` };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Tells why the client is missing and cannot be built here, before any build; undefined when it can. */
export async function whyNoRuntimeClient(env: Environment): Promise<string | undefined> {
  if (await exists(scriptIn(cacheDirectory(env)))) return undefined;
  const missing = await missingPackages(env);
  return missing.length === 0
    ? undefined
    : `${PACKAGE} cannot be built: apt-get install ${missing.join(' ')}`;
}

async function missingPackages(env: Environment): Promise<readonly string[]> {
  const found = await Promise.all(
    BUILD_TOOLS.map(async ([command, debianPackage]) =>
      (await findCommand(env, command)) === undefined ? [debianPackage] : [],
    ),
  );
  return found.flat();
}

/** Installs the client. The build has processes of its own, which end with it. */
async function install(scratch: string, env: Environment, signal: AbortSignal | undefined): Promise<void> {
  const allowScripts = { [PACKAGE]: true };
  await writeFile(join(scratch, 'package.json'), JSON.stringify({ private: true, allowScripts }));
  const headers = await nodeHeaders();
  const child = spawn(
    'npm',
    ['install', '--prefix', scratch, '--no-audit', '--no-fund', '--loglevel=error', `${PACKAGE}@${VERSION}`],
    {
      cwd: scratch,
      env: { ...env, ...(headers !== undefined && { npm_config_nodedir: headers }) },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-2_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const kill = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  };
  const limit = AbortSignal.any([AbortSignal.timeout(INSTALL_WITHIN_MS), ...(signal ? [signal] : [])]);
  process.once('exit', kill);
  limit.addEventListener('abort', kill);
  try {
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(output.trim() || `npm install ended with ${code}`);
  } finally {
    process.off('exit', kill);
    limit.removeEventListener('abort', kill);
  }
}

/**
 * Finds the headers of Node: those of any version serve, as the addon keeps to Node-API. Undefined: the build fetches
 * them from nodejs.org.
 */
async function nodeHeaders(): Promise<string | undefined> {
  for (const place of [dirname(dirname(process.execPath)), '/usr/local', '/usr']) {
    if (await exists(join(place, 'include', 'node', 'node_api.h'))) return place;
  }
  return undefined;
}

function placeIn(cache: string): string {
  return join(cache, `${PACKAGE}-${VERSION}`);
}

function scriptIn(cache: string): string {
  return join(placeIn(cache), 'node_modules', PACKAGE, 'index.mjs');
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function lastLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.trim().split('\n').at(-1) ?? '';
}
