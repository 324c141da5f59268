import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundle, MOST_BYTES, WORKER_ENTRY } from '../infra/bundle.ts';

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

/** The budgets of size and start, and what a warm tenant takes. The process ends with 1 when a budget is missed. */
export async function start(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sealed-memory-start-'));
  try {
    const bytes = await bundle({ entry: WORKER_ENTRY, folder: join(folder, 'worker') });
    tell(`size of the worker's bundle: ${Math.ceil(bytes / 1_000)} KB`, {
      value: bytes / 1_000,
      budget: MOST_BYTES / 1_000,
    });
    const entry = join(folder, 'empty.mjs');
    await writeFile(entry, 'export const handler = async () => {};\n');
    await bundle({ entry, folder: join(folder, 'empty') });
    measureStarts([
      { name: 'empty handler', file: join(folder, 'empty', 'index.mjs') },
      { name: 'library with S3', file: await deployed(folder, LOADING), budget: 3.4 },
      { name: 'worker', file: join(folder, 'worker', 'index.mjs'), budget: 4.2 },
      { name: 'memory opened on memory:', file: await library(folder, 'memory:'), budget: 3.4 },
      { name: 'memory opened on s3:', file: await deployed(folder, opening('s3://bucket')) },
    ]);
    console.log(`  ${run('--expose-gc', WARM_TENANTS).trim()}`);
  } finally {
    await rm(folder, { recursive: true });
  }
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

/**
 * Starts them in turns, each round in another order, and tells the median of each one's quicker half as a ratio to the
 * first one's: what else the machine does only ever makes a start slower.
 */
function measureStarts(contestants: readonly Contestant[]): void {
  const times = new Map(contestants.map(({ file }) => [file, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round++) {
    const first = round % contestants.length;
    for (const { file } of [...contestants.slice(first), ...contestants.slice(0, first)]) {
      const started = performance.now();
      run(file);
      // The first round brings the files into memory.
      if (round > 0) times.get(file)?.push(performance.now() - started);
    }
  }
  const quick = contestants.map(({ file }) => quickMedian(times.get(file) ?? []));
  contestants.forEach(({ name, budget }, index) => {
    const value = (quick[index] ?? Number.NaN) / (quick[0] ?? Number.NaN);
    const shown = `${name.padEnd(34)} ${value.toFixed(2).padStart(8)}   (${quick[index]?.toFixed(0)} ms)`;
    tell(`start of process           ${shown}`, { value, budget });
  });
}

function quickMedian(times: readonly number[]): number {
  const sorted = times.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 4)] ?? Number.NaN;
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

function tell(
  line: string,
  { value, budget }: { readonly value: number; readonly budget: number | undefined },
): void {
  const isMissed = budget !== undefined && value > budget;
  const verdict = budget && `   budget ${budget.toFixed(2)}: ${isMissed ? 'MISSED' : 'kept'}`;
  console.log(`  ${line}${verdict ?? ''}`);
  if (isMissed) process.exitCode = 1;
}
