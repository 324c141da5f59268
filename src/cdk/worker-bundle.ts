import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { BuildOptions, BuildResult, Metafile, Plugin } from 'esbuild';
import { builtinsAtFirstUse } from './bundled-imports.ts';

/** The `require` that CommonJS parts of the SDKs call, and that modules lack. */
const REQUIRE =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";

/** Optional peers that only some deployments use. */
const PEERS_OF_SOME = /^(@aws-sdk\/client-dynamodb|@secretlint\/.*)$/;

/** Leaves those outside that the caller's project lacks: what needs one says what to install when it is used. */
const absentPeersOutside: Plugin = {
  name: 'absent peers outside',
  setup({ onResolve, resolve }) {
    onResolve({ filter: PEERS_OF_SOME }, async ({ path, pluginData, ...request }) => {
      if (pluginData === PEERS_OF_SOME) return undefined;
      const { kind, importer, resolveDir } = request;
      const { errors } = await resolve(path, { kind, importer, resolveDir, pluginData: PEERS_OF_SOME });
      return errors.length > 0 ? { path, external: true } : undefined;
    });
  },
};

/** The sizes and the sources of a bundle. */
export interface BundleReport {
  /** The bytes loaded at the start: `index.mjs` and its imports. */
  readonly eager: number;
  /** All bytes, with those that are loaded at their first use. */
  readonly total: number;
  /** The files from which the bundle was made. */
  readonly inputs: readonly string[];
}

export interface BundleRequest {
  readonly entry: string;
  readonly folder: string;
  /** The `build` of esbuild. */
  readonly build: (
    options: BuildOptions & { readonly metafile: true; readonly write: false },
  ) => Promise<BuildResult<{ metafile: true; write: false }>>;
  /** Modules in the place of others. */
  readonly alias?: Record<string, string>;
}

/**
 * Writes minified modules into a folder: `index.mjs`, and beside it the modules that it loads, each part behind an
 * `import()` in files of its own. Modules that an earlier bundle left there are removed.
 */
export async function writeBundle({
  entry,
  folder,
  build,
  alias = {},
}: BundleRequest): Promise<BundleReport> {
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
    alias,
    plugins: [builtinsAtFirstUse, absentPeersOutside],
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
