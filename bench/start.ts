import { spawnSync } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundle, MOST_BYTES, WORKER_ENTRY } from '../infra/bundle.ts';
import { type Lab, temporaryFolder } from './lab.ts';
import { inTurns } from './rounds.ts';

interface Contestant {
  readonly name: string;
  readonly file: string;
  /** The most that its start may take, as a ratio to the empty handler's; absent: told for information. */
  readonly budget?: number;
}

const ROUNDS = 41;
const LIBRARY = fileURLToPath(new URL('../src/index.ts', import.meta.url));
const WARM_TENANTS = fileURLToPath(new URL('warm-tenants.ts', import.meta.url));
const OPTIONS = "tenant: 'bench', rootKey: new Uint8Array(32)";

/** What a handler file does that has the library in it, before its first invocation. */
const LOADING = `export { openMemory } from ${JSON.stringify(LIBRARY)};\n`;

/** The budgets of size and start, and what a warm tenant takes. */
export async function start(lab: Lab): Promise<void> {
  const folder = await temporaryFolder(lab);
  const bytes = await bundle({ entry: WORKER_ENTRY, folder: join(folder, 'worker') });
  const [size, most] = [bytes, MOST_BYTES].map((each) => Math.ceil(each / 1_000));
  lab.fact(`the worker's bundle has ${size} KB, at most ${most}`, bytes <= MOST_BYTES ? 'met' : 'missed');
  const entry = join(folder, 'empty.mjs');
  await writeFile(entry, 'export const handler = async () => {};\n');
  await bundle({ entry, folder: join(folder, 'empty') });
  await measureStarts(lab, [
    { name: 'empty handler', file: join(folder, 'empty', 'index.mjs') },
    { name: 'library with S3', file: await deployed(folder, LOADING), budget: 3.4 },
    { name: 'worker', file: join(folder, 'worker', 'index.mjs'), budget: 4.2 },
    { name: 'memory opened on memory:', file: await library(folder, 'memory:'), budget: 3.4 },
    { name: 'memory opened on s3:', file: await deployed(folder, opening('s3://bucket')) },
  ]);
  lab.fact(run('--expose-gc', WARM_TENANTS).trim());
}

/** A program bundled as the worker is: in one file, S3 included. */
async function deployed(folder: string, program: string): Promise<string> {
  const home = await mkdtemp(join(folder, 'deployed-'));
  const entry = join(home, 'main.ts');
  await writeFile(entry, program);
  await bundle({ entry, folder: home });
  return join(home, 'index.mjs');
}

function opening(store: string): string {
  return `import { openMemory } from ${JSON.stringify(LIBRARY)};
const memory = await openMemory({ store: '${store}', ${OPTIONS} });
await memory.close();`;
}

/** A program that opens a memory, bundled as a host's own bundler does it: what is not needed stays in other files. */
async function library(folder: string, store: string): Promise<string> {
  const outdir = join(folder, store.replace(/\W/g, ''));
  await build({
    stdin: {
      contents: opening(store),
      resolveDir: folder,
      sourcefile: 'main.ts',
    },
    outdir,
    entryNames: 'main',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    banner: {
      js: "import{createRequire as __r}from'node:module';const require=__r(import.meta.url);",
    },
    logLevel: 'warning',
  });
  return join(outdir, 'main.mjs');
}

/** Starts them in turns, each round in another order. */
async function measureStarts(lab: Lab, contestants: readonly Contestant[]): Promise<void> {
  const files = new Map(contestants.map(({ name, file }) => [name, file]));
  const rounds = await inTurns([...files.keys()], 1 + (lab.isQuick ? 5 : ROUNDS), async (name) => {
    const started = performance.now();
    run(files.get(name) ?? '');
    return { wall: performance.now() - started };
  });
  lab.compare({
    work: 'start of a process',
    reference: contestants[0]?.name ?? '',
    time: 'wall',
    // The first round brings the files into memory.
    rounds: rounds.slice(1),
    goals: Object.fromEntries(
      contestants.flatMap(({ name, budget }) => (budget === undefined ? [] : [[name, budget]])),
    ),
  });
}

/** Standard output of a Node process that must end well. */
function run(...args: readonly string[]): string {
  const { status, stdout } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], AWS_REGION: 'us-east-1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`${args.at(-1)} ended with ${status}`);
  return stdout;
}
