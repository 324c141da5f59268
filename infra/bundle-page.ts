import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';

const CLIENT = fileURLToPath(new URL('../src/page/client', import.meta.url));

/** The most bytes that the page loads in all. */
export const MOST_PAGE_BYTES = 250_000;

/**
 * Writes the files of the page, and tells their inputs: a script that starts it, the app that this one loads, what both
 * need, what the app loads later, and one style sheet.
 */
export async function bundlePage(folder: string): Promise<Metafile> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const { metafile } = await build({
    entryPoints: ['page.ts', 'app.tsx', 'page.css'].map((name) => join(CLIENT, name)),
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    outdir: folder,
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'browser',
    target: ['chrome120', 'firefox121', 'safari17.2'],
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  await copyFile(join(CLIENT, 'icon.svg'), join(folder, 'icon.svg'));
  const html = await readFile(join(CLIENT, 'index.html'), 'utf8');
  const preloads = appScripts(metafile).map((name) => `  <link rel="modulepreload" href="/${name}">\n  `);
  await writeFile(join(folder, 'index.html'), html.replace('</head>', `${preloads.join('')}</head>`));
  return metafile;
}

/** Names the app, and the scripts that it does not run without: the browser fetches them beside the first one. */
function appScripts({ outputs }: Metafile): readonly string[] {
  const app = Object.keys(outputs).find((path) => basename(path) === 'app.js');
  if (app === undefined) throw new Error('The bundle has no app.js.');
  const needed = (outputs[app]?.imports ?? []).filter(({ kind }) => kind === 'import-statement');
  return [app, ...needed.map(({ path }) => path)].map((path) => basename(path));
}
