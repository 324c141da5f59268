import { chmod, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { bundlePage } from './bundle-page.ts';
import { licensesOf } from './bundled-licenses.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = join(ROOT, 'src/cli');
const MAIN = join(SOURCES, 'main.ts');

/** Packages that stay outside: a user of the library installs them beside it. */
const EXTERNAL = [
  '@aws-sdk/*',
  '@smithy/*',
  '@anthropic-ai/sdk',
  '@modelcontextprotocol/server',
  '@opentelemetry/api',
  'libsodium-wrappers',
];

const COMMON: BuildOptions = {
  bundle: true,
  platform: 'node',
  external: EXTERNAL,
  minifySyntax: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
};

/**
 * Puts each verb into a module of its own, which the second build makes under the verb's name: a verb is loaded when it
 * runs.
 */
function verbsApart(verbs: Set<string>): Plugin {
  return {
    name: 'verbs apart',
    setup({ onResolve }) {
      onResolve({ filter: /^\..*\.ts$/ }, ({ path, kind, importer, resolveDir }) => {
        const verb = join(resolveDir, path);
        const isVerb = kind === 'dynamic-import' && importer !== MAIN && verb.startsWith(SOURCES);
        if (!isVerb) return undefined;
        verbs.add(verb);
        return { path: `./verbs/${basename(verb, '.ts')}.js`, external: true };
      });
    },
  };
}

/**
 * Writes the command line's program: `main.cjs`, all that `--help` needs, as one CommonJS file, which Node starts in
 * half the time of many modules; and the verbs as modules that share their common parts.
 */
export async function bundleCli(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const verbs = new Set<string>();
  const main = await build({
    ...COMMON,
    entryPoints: [MAIN],
    outfile: join(folder, 'main.cjs'),
    format: 'cjs',
    // An older Node must be able to read this file, to say that it is too old.
    target: 'node18',
    plugins: [verbsApart(verbs)],
    // A verb's file may say where it lies: that is of what it runs, and no part of this program.
    logOverride: { 'empty-import-meta': 'silent' },
  });
  const rest = await build({
    ...COMMON,
    entryPoints: [...verbs].sort(),
    outdir: join(folder, 'verbs'),
    entryNames: '[name]',
    format: 'esm',
    target: 'node22',
    splitting: true,
    banner: {
      // CommonJS packages call `require`, which modules lack.
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
  });
  const page = { metafile: await bundlePage(join(folder, 'page')) };
  const inputs = [main, rest, page].flatMap(({ metafile }) => Object.keys(metafile?.inputs ?? {}));
  await writeFile(join(folder, 'LICENSES.txt'), await licensesOf(inputs));
  await chmod(join(folder, 'main.cjs'), 0o755);
}

if (import.meta.main) await bundleCli(join(ROOT, 'dist/cli'));
