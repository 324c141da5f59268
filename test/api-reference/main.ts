import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { installLocked } from '../runner/locked-packages.ts';
import { installHostPackages } from '../units/hosts/install.ts';

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Where the reference is kept. */
export const API_PAGES: string = join(ROOT, 'docs/api');

const HEAD = `# API reference

Made from the code by \`npm run write api\`: every entry point, every export, with what its docstring promises.
`;

/** Writes the reference, one page for each entry point, into `folder`, which is emptied before. */
export async function writeApiPages(folder: string): Promise<void> {
  await installHostPackages();
  const modules = await installLocked(FOLDER);
  const modulesOf = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
    typeof target === 'string' ? [] : [[subpath, moduleOf(target.types)] as const],
  );
  const options = {
    plugin: [join(modules, 'typedoc-plugin-markdown/dist/index.js')],
    entryPoints: modulesOf.map(([, module]) => join(ROOT, `src/${module}.ts`)),
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
    groupOrder: ['Functions', 'Variables', 'Classes', '*'],
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
  await nameByEntryPoint(folder, modulesOf);
}

/** The reference names a page by the module it was made from; a reader imports the entry point. */
async function nameByEntryPoint(
  folder: string,
  modulesOf: readonly (readonly [subpath: string, module: string])[],
): Promise<void> {
  const rows: string[] = [];
  const pages = Object.keys(await pagesBelow(folder));
  for (const [subpath, module] of modulesOf) {
    const page = [`${module}.md`, `${module.replace(/\/index$/, '')}.md`].find((name) =>
      pages.includes(name),
    );
    if (page === undefined) throw new Error(`there is no page of ${subpath}`);
    const title = subpath.replace(/^\./, manifest.name);
    const text = await readFile(join(folder, page), 'utf8');
    await writeFile(join(folder, page), beginWith('openMemory', text.replace(/^# .*$/m, `# ${title}`)));
    rows.push(`- [${title}](${page})`);
  }
  await writeFile(join(folder, 'README.md'), `${HEAD}\n${rows.join('\n')}\n`);
}

/**
 * Puts the section of a function before those of the others: where a reader begins. A page without it stays as it is.
 */
export function beginWith(name: string, page: string): string {
  const head = '## Functions\n\n';
  const start = page.indexOf(head);
  const section = new RegExp(`### ${name}\\(\\)\\n[\\s\\S]*?\\n\\*\\*\\*\\n\\n`).exec(page.slice(start));
  if (start < 0 || section === null) return page;
  const without = page.replace(section[0], '');
  return `${without.slice(0, start)}${head}${section[0]}${without.slice(start + head.length)}`;
}

/** The module of src, without its ending, that a declaration file of dist was made from. */
function moduleOf(types: string): string {
  return types.replace('./dist/', '').replace(/\.d\.ts$/, '');
}

/** The pages below a folder, by their names. */
export async function pagesBelow(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.md')).sort();
  const pages = names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(pages));
}

if (import.meta.main) await writeApiPages(API_PAGES);
