import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { builtinsAtFirstUse, plainImports } from './bundled-imports.ts';

/** The worker's bundle, where `infra/app.ts` looks for it. */
export const WORKER_BUNDLE: string = fileURLToPath(new URL('../dist-lambda/worker', import.meta.url));

export const WORKER_ENTRY: string = fileURLToPath(new URL('worker/main.ts', import.meta.url));

/** CommonJS parts of the SDKs call `require`, which modules do not have. */
const REQUIRE =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";

/** How the AWS SDK finds credentials in a function. */
const CREDENTIALS = fileURLToPath(new URL('worker/function-credentials.ts', import.meta.url));

/** The budget of the worker's bundle, which Lambda reads at every cold start. */
export const MOST_BYTES = 1_450_000;

/** Writes one minified module, `index.mjs`, into a folder and gives its size in bytes. */
export async function bundle({
  entry,
  folder,
}: {
  readonly entry: string;
  readonly folder: string;
}): Promise<number> {
  const outfile = join(folder, 'index.mjs');
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    alias: { '@aws-sdk/credential-provider-node': CREDENTIALS },
    plugins: [builtinsAtFirstUse, plainImports],
    banner: { js: REQUIRE },
    legalComments: 'none',
    logLevel: 'warning',
  });
  return (await stat(outfile)).size;
}

if (import.meta.main) {
  const bytes = await bundle({ entry: WORKER_ENTRY, folder: WORKER_BUNDLE });
  console.log(`dist-lambda/worker/index.mjs: ${Math.ceil(bytes / 1_000)} KB`);
  if (bytes > MOST_BYTES) {
    console.error(`That is more than ${MOST_BYTES / 1_000} KB, the budget of the bundle.`);
    process.exitCode = 1;
  }
}
