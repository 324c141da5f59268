import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { builtinsAtFirstUse } from './bundled-imports.ts';
import { licensesOf } from './bundled-licenses.ts';

/**
 * The folder of the worker's bundle, where the packed construct (`src/cdk/packed-bundle.ts`) and `infra/app.ts` look
 * for it.
 */
export const WORKER_BUNDLE: string = fileURLToPath(new URL('../dist/lambda', import.meta.url));

export const WORKER_ENTRY: string = fileURLToPath(new URL('worker/main.ts', import.meta.url));

/** The `require` that CommonJS parts of the SDKs call, and that modules lack. */
const REQUIRE =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";

/** The module by which the AWS SDK finds credentials in a function. */
const CREDENTIALS = fileURLToPath(new URL('worker/function-credentials.ts', import.meta.url));

const NO_BROWSER = fileURLToPath(new URL('worker/no-browser.ts', import.meta.url));

const NO_DEBUG = fileURLToPath(new URL('worker/no-debug.ts', import.meta.url));

/** The most bytes that a function loads before its first invocation. */
export const MOST_EAGER_BYTES = 750_000;

interface BundleReport {
  /** The bytes loaded at the start: `index.mjs` and its imports. */
  readonly eager: number;
  /** All bytes, with those that are loaded at their first use. */
  readonly total: number;
  /** The files from which the bundle was made. */
  readonly inputs: readonly string[];
}

/**
 * Writes minified modules into a folder: `index.mjs`, and beside it the modules that it loads, each part behind an
 * `import()` in files of its own. Modules that an earlier bundle left there are removed.
 */
export async function bundle({
  entry,
  folder,
}: {
  readonly entry: string;
  readonly folder: string;
}): Promise<BundleReport> {
  await removeModules(folder);
  const { metafile, outputFiles } = await build({
    entryPoints: { index: entry },
    outdir: folder,
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    outExtension: { '.js': '.mjs' },
    chunkNames: 'part-[hash]',
    mainFields: ['module', 'main'],
    alias: { '@aws-sdk/credential-provider-node': CREDENTIALS, bowser: NO_BROWSER, debug: NO_DEBUG },
    plugins: [builtinsAtFirstUse],
    banner: { js: REQUIRE },
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    write: false,
  });
  await mkdir(folder, { recursive: true });
  const modules = outputFiles.map(({ path, text }) => [path, withoutIdleRequire(text)] as const);
  await Promise.all(modules.map(([path, text]) => writeFile(path, text)));
  const bytes = new Map(modules.map(([path, text]) => [basename(path), Buffer.byteLength(text)]));
  return { ...sizeOf(metafile.outputs, bytes), inputs: Object.keys(metafile.inputs) };
}

/**
 * Removes a `require` that the module does not use: most use none, and making one takes a start longer than reading the
 * module.
 */
function withoutIdleRequire(text: string): string {
  const rest = text.replace(REQUIRE, '');
  return /\brequire\b/.test(rest) ? text : rest;
}

async function removeModules(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const modules = names.filter((name) => name.endsWith('.mjs'));
  await Promise.all(modules.map((name) => rm(join(folder, name))));
}

function sizeOf(
  outputs: Metafile['outputs'],
  bytes: ReadonlyMap<string, number>,
): Pick<BundleReport, 'eager' | 'total'> {
  const eager = new Set(Object.keys(outputs).filter((path) => basename(path) === 'index.mjs'));
  for (const path of eager) {
    for (const imported of outputs[path]?.imports ?? []) {
      if (imported.kind === 'import-statement' && imported.path in outputs) eager.add(imported.path);
    }
  }
  const bytesOf = (paths: Iterable<string>): number =>
    [...paths].reduce((sum, path) => sum + (bytes.get(basename(path)) ?? 0), 0);
  return { eager: bytesOf(eager), total: bytesOf(Object.keys(outputs)) };
}

/** Writes the worker's bundle as the package carries it, with the licences of its parts. */
export async function bundleWorker(folder: string): Promise<BundleReport> {
  const report = await bundle({ entry: WORKER_ENTRY, folder });
  await writeFile(join(folder, 'LICENSES.txt'), await licensesOf(report.inputs));
  return report;
}

if (import.meta.main) {
  const { eager, total } = await bundleWorker(WORKER_BUNDLE);
  const [first, all] = [eager, total].map((bytes) => `${Math.ceil(bytes / 1_000)} KB`);
  console.log(`dist/lambda: ${all}, ${first} of it loaded at the start`);
  if (eager > MOST_EAGER_BYTES) {
    console.error(`That is more than ${MOST_EAGER_BYTES / 1_000} KB, the budget of the start.`);
    process.exitCode = 1;
  }
}
