import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';

const CLIENT = fileURLToPath(new URL('../src/page/client', import.meta.url));

/** The most bytes that the page loads in all. */
export const MOST_PAGE_BYTES = 250_000;

/** Writes the files of the page, one script and one style sheet, and tells their inputs. */
export async function bundlePage(folder: string): Promise<Metafile> {
  await mkdir(folder, { recursive: true });
  const { metafile } = await build({
    entryPoints: [join(CLIENT, 'page.tsx'), join(CLIENT, 'page.css')],
    entryNames: '[name]',
    outdir: folder,
    bundle: true,
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
  for (const name of ['index.html', 'icon.svg']) await copyFile(join(CLIENT, name), join(folder, name));
  return metafile;
}
