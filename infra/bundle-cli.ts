import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = join(ROOT, 'src/cli');

/** Stays outside: what a user of the library installs beside it. */
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

/** A verb is loaded when it runs: from the module that the second build makes of it. */
function verbsApart(verbs: Set<string>): Plugin {
  return {
    name: 'verbs apart',
    setup({ onResolve }) {
      onResolve({ filter: /^\.\/verbs\/.*\.ts$/ }, ({ path, kind }) => {
        if (kind !== 'dynamic-import') return undefined;
        verbs.add(join(SOURCES, path));
        return { path: path.replace(/\.ts$/, '.js'), external: true };
      });
    },
  };
}

/**
 * Writes the command line's program: `main.cjs`, all that `--help` needs, as one CommonJS file, which Node starts in half
 * the time of many modules; and the verbs as modules that share what they have in common.
 */
export async function bundleCli(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const verbs = new Set<string>();
  const main = await build({
    ...COMMON,
    entryPoints: [join(SOURCES, 'main.ts')],
    outfile: join(folder, 'main.cjs'),
    format: 'cjs',
    // An older Node must be able to read it, to say that it is too old.
    target: 'node18',
    plugins: [verbsApart(verbs)],
  });
  const rest = await build({
    ...COMMON,
    entryPoints: [...verbs].sort(),
    outdir: join(folder, 'verbs'),
    format: 'esm',
    target: 'node22',
    splitting: true,
    banner: {
      // CommonJS packages call `require`, which modules do not have.
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
  });
  const inputs = [main, rest].flatMap(({ metafile }) => Object.keys(metafile?.inputs ?? {}));
  await writeFile(join(folder, 'LICENSES.txt'), await licensesOf(inputs));
  await chmod(join(folder, 'main.cjs'), 0o755);
}

/** The licences of the packages whose code is in the bundles. */
async function licensesOf(inputs: readonly string[]): Promise<string> {
  const folders = new Set(
    inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []),
  );
  const texts = [...folders].sort().map(async (folder) => {
    const { name, version } = JSON.parse(await readFile(join(ROOT, folder, 'package.json'), 'utf8'));
    return `${name} ${version}\n\n${await licenseIn(join(ROOT, folder))}`;
  });
  return `${(await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n`)}`;
}

async function licenseIn(folder: string): Promise<string> {
  const name = (await readdir(folder)).find((file) => /^licen[cs]e/i.test(file));
  if (name !== undefined) return readFile(join(folder, name), 'utf8');
  const { license, repository } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  if (license === undefined) throw new Error(`${folder} names no licence, so it cannot be bundled.`);
  return `${license}; ${repository?.url ?? repository}\n`;
}

if (import.meta.main) await bundleCli(join(ROOT, 'dist/cli'));
