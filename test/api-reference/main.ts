import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { installLocked } from '../runner/locked-packages.ts';
import { installHostPackages } from '../units/hosts/install.ts';
import { arrangePages, type MadePage } from './arrange.ts';
import { readExamples } from './examples.ts';

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The folder of the reference. */
export const API_PAGES: string = join(ROOT, 'docs/api');

const HEAD = `# API reference

Made from the code by \`npm run write api\`: every entry point, every export, with what its docstring promises.
The exports of an entry point stand by the tasks that they are for, each with an example that uses it or what it belongs
to. The examples are in \`examples/api\`; a test runs those that need no cloud, and the types of all are checked.
`;

/** Writes the reference, one page for each entry point, into `folder`, which is emptied before. */
export async function writeApiPages(folder: string): Promise<void> {
  await installHostPackages();
  const modules = await installLocked(FOLDER);
  const options = {
    plugin: [join(modules, 'typedoc-plugin-markdown/dist/index.js')],
    entryPoints: modulesOf().map(([, module]) => join(ROOT, `src/${module}.ts`)),
    tsconfig: join(FOLDER, 'tsconfig.json'),
    basePath: join(ROOT, 'src'),
    out: folder,
    name: manifest.name,
    readme: 'none',
    router: 'module',
    skipErrorChecking: true,
    disableSources: true,
    excludeExternals: true,
    excludeInternal: true,
    excludePrivate: true,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    useCodeBlocks: true,
    expandObjects: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    typeAliasPropertiesFormat: 'table',
    logLevel: 'Error',
  };
  const file = join(modules, `.options-${process.pid}.json`);
  await writeFile(file, JSON.stringify(options));
  try {
    await promisify(execFile)(process.execPath, [join(modules, 'typedoc/bin/typedoc'), '--options', file], {
      cwd: ROOT,
    });
  } finally {
    await rm(file);
  }
  await arrange(folder);
}

/** Orders the pages by task and names each by its entry point: the generator names it by its module. */
async function arrange(folder: string): Promise<void> {
  const pages = await pagesBelow(folder);
  const made = Object.entries(entryPages()).map(([subpath, page]): MadePage => {
    const text = pages[page];
    if (text === undefined) throw new Error(`there is no page of ${subpath}`);
    return { subpath, title: subpath.replace(/^\./, manifest.name), page, text };
  });
  for (const [page, text] of Object.entries(arrangePages(made, readExamples()))) {
    await writeFile(join(folder, page), text);
  }
  const rows = made.map(({ title, page }) => `- [${title}](${page})`);
  await writeFile(join(folder, 'README.md'), `${HEAD}\n${rows.join('\n')}\n`);
}

/** Reads a page of the reference as it is kept. */
export function readPage(page: string): string {
  return readFileSync(join(API_PAGES, page), 'utf8');
}

/** The page of each entry point, by its subpath. */
export function entryPages(): Readonly<Record<string, string>> {
  const pages = modulesOf().map(([subpath, module]) => [
    subpath,
    `${module.replace(/(?<=.)\/index$/, '')}.md`,
  ]);
  return Object.fromEntries(pages);
}

/** The module of src that each entry point is made from, without its ending. */
function modulesOf(): readonly (readonly [subpath: string, module: string])[] {
  return Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    if (typeof target === 'string') return [];
    return [[subpath, target.types.replace('./dist/', '').replace(/\.d\.ts$/, '')] as const];
  });
}

/** The pages below a folder, by their names. */
export async function pagesBelow(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.md')).sort();
  const pages = names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(pages));
}

if (import.meta.main) await writeApiPages(API_PAGES);
