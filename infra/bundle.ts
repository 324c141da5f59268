import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { type BundleReport, type BundleRequest, writeBundle } from '../src/cdk/worker-bundle.ts';
import { licensesOf } from './bundled-licenses.ts';

/**
 * The folder of the worker's bundle, where the packed construct (`src/cdk/packed-bundle.ts`) and `infra/app.ts` look
 * for it.
 */
export const WORKER_BUNDLE: string = fileURLToPath(new URL('../dist/lambda', import.meta.url));

export const WORKER_ENTRY: string = fileURLToPath(new URL('worker/main.ts', import.meta.url));

/** The module by which the AWS SDK finds credentials in a function. */
const CREDENTIALS = fileURLToPath(new URL('worker/function-credentials.ts', import.meta.url));

const NO_BROWSER = fileURLToPath(new URL('worker/no-browser.ts', import.meta.url));

const NO_DEBUG = fileURLToPath(new URL('worker/no-debug.ts', import.meta.url));

const NO_ENDPOINT_DISCOVERY = fileURLToPath(new URL('worker/no-endpoint-discovery.ts', import.meta.url));

const NO_EVENT_STREAMS = fileURLToPath(new URL('worker/no-event-streams.ts', import.meta.url));

const NO_AGENT_TOOLSET = fileURLToPath(new URL('worker/no-agent-toolset.ts', import.meta.url));

const NO_CREDENTIAL_CHAIN = fileURLToPath(new URL('worker/no-credential-chain.ts', import.meta.url));

/** Leaves out what the Anthropic SDK has for a machine of its own: an agent's tools, and logins in files. */
const withoutOwnMachine: Plugin = {
  name: 'without a machine of its own',
  setup({ onResolve }) {
    onResolve({ filter: /\/agent-toolset\/node\.mjs$/ }, () => ({ path: NO_AGENT_TOOLSET }));
    onResolve({ filter: /\/credential-chain\.mjs$/ }, () => ({ path: NO_CREDENTIAL_CHAIN }));
  },
};

/** Leaves of a client's `package.json` the version, which the AWS SDK tells the service. */
const versionsAlone: Plugin = {
  name: 'versions alone',
  setup({ onLoad }) {
    onLoad({ filter: /\/@aws-sdk\/[^/]+\/package\.json$/ }, async ({ path }) => {
      const { version } = JSON.parse(await readFile(path, 'utf8'));
      return { contents: JSON.stringify({ version }), loader: 'json' };
    });
  },
};

/** The most bytes that a function loads before its first invocation. */
export const MOST_EAGER_BYTES = 750_000;

/** Writes a bundle as `writeBundle` does, without what no function of the deployment needs. */
export function bundle(request: Pick<BundleRequest, 'entry' | 'folder'>): Promise<BundleReport> {
  const alias = {
    '@aws-sdk/credential-provider-node': CREDENTIALS,
    '@aws-sdk/middleware-endpoint-discovery': NO_ENDPOINT_DISCOVERY,
    '@smithy/core/event-streams': NO_EVENT_STREAMS,
    bowser: NO_BROWSER,
    debug: NO_DEBUG,
  };
  return writeBundle({
    ...request,
    build: (options) =>
      build({ ...options, plugins: [...(options.plugins ?? []), withoutOwnMachine, versionsAlone] }),
    alias,
  });
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
