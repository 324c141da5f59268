import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../infra/local/programs/find-program.ts';
import { readCall, refuseCall } from '../../infra/local/terminal/program-call.ts';

const USAGE = 'npm run prove runtimes [-- bun|deno]';

// Runs the contracts on memory: and sqlite: in Bun and in Deno, with Vitest. Their programs
// come from npm, once, into the cache folder. Fails where one of them cannot be had: what did not run has not passed.

interface Runtime {
  /** The name that `process.versions` gives it. */
  readonly name: 'bun' | 'deno';
  readonly version: string;
  /** The package of npm, for Linux on x64. */
  readonly package: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly vitestArgs: readonly string[];
}

const RUNTIMES: readonly Runtime[] = [
  {
    name: 'bun',
    version: '1.4.5',
    // For processors without AVX2 as well.
    package: '@oven/bun-linux-x64-baseline',
    program: 'bin/bun',
    args: [],
    // The processes that Vitest would fork need a call that Bun does not have.
    vitestArgs: ['--pool', 'threads'],
  },
  {
    name: 'deno',
    version: '2.9.6',
    package: '@deno/linux-x64-glibc',
    program: 'deno',
    args: ['run', '--allow-all', '--no-lock'],
    vitestArgs: [],
  },
];

const SUITES = [
  'test/runtimes',
  'test/units/store/sqlite/sqlite-store.test.ts',
  'test/units/store/s3/connection.test.ts',
  'test/units/store/sqlite/errors.test.ts',
  'test/units/keys/env-root-key.test.ts',
  'test/units/tool/memory-tool.library.test.ts',
  'test/units/tool/files.test.ts',
  'test/units/sessions/sessions.test.ts',
  'test/units/hosts/claude-agent-sdk.test.ts',
  'test/end-to-end/sealed-store.test.ts',
];

async function install({ name, version, package: wanted, program }: Runtime): Promise<string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`${name} NOT RUN: only its program for Linux on x64 is pinned here`);
  }
  const cache = cacheDirectory(process.env);
  const place = join(cache, `runtime-${name}-${version}`);
  if (!existsSync(place)) {
    await mkdir(cache, { recursive: true });
    const scratch = await mkdtemp(join(cache, `runtime-${name}-unfinished-`));
    try {
      const options = [
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--loglevel=error',
        '--prefix',
        scratch,
      ];
      await promisify(execFile)('npm', ['install', ...options, `${wanted}@${version}`]);
      await rename(scratch, place).catch((error: unknown) => {
        // Another run was faster.
        if (!existsSync(place)) throw error;
      });
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
  return join(place, 'node_modules', wanted, program);
}

async function runSuites(runtime: Runtime): Promise<boolean> {
  const program = await install(runtime);
  console.log(`\nThe contracts in ${runtime.name} ${runtime.version}`);
  const summary = process.env['TEST_SUMMARY_FILE'];
  // A test that is fast in Node may take Deno seconds.
  const patience = ['--test-timeout', '120000', '--hook-timeout', '120000'];
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit*', ...patience];
  const child = spawn(program, [...runtime.args, ...vitest, ...runtime.vitestArgs, ...SUITES], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      TEST_RUNTIME: `${runtime.name} ${runtime.version}`,
      TEST_THOROUGH: '',
      ...(summary && { TEST_SUMMARY_FILE: summary.replace(/(\.json)?$/, `-${runtime.name}.json`) }),
    },
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0;
}

const { positionals } = readCall(USAGE, { allowPositionals: true });
const [only, ...more] = positionals;
if (more.length > 0 || (only !== undefined && !RUNTIMES.some(({ name }) => name === only))) {
  refuseCall(USAGE, `There is no runtime "${positionals.join(' ')}"`);
}
for (const runtime of RUNTIMES) {
  if (only !== undefined && runtime.name !== only) continue;
  if (!(await runSuites(runtime))) process.exitCode = 1;
}
