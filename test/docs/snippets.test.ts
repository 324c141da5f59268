import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sourcesOfEntryPoints } from '../runner/entry-points.ts';
import { installHostPackages } from '../units/hosts/install.ts';
import { blocksOf, PAGES } from './pages.ts';

/** A block without imports goes on with the module that the block before it began. */
function modulesOf(page: string): readonly string[] {
  const modules: string[] = [];
  for (const { text } of blocksOf(page, 'ts')) {
    const isContinuation = !/^import /m.test(text) && modules.length > 0;
    if (isContinuation) modules.push(`${modules.pop()}\n${text}`);
    else modules.push(text);
  }
  return modules;
}

describe('the TypeScript of the pages', () => {
  let folder: string;
  beforeAll(async () => {
    await installHostPackages();
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-snippets-'));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  it('compiles, each page in itself', { timeout: 300_000 }, () => {
    const named = PAGES.flatMap((page) =>
      modulesOf(page).map((text, index) => ({ name: `${page.replaceAll('/', '-')}-${index + 1}.ts`, text })),
    );
    expect(named.length).toBeGreaterThan(4);
    for (const { name, text } of named) writeFileSync(join(folder, name), `${text}\nexport {};\n`);
    const compilerOptions = {
      paths: Object.fromEntries(sourcesOfEntryPoints().map(([name, source]) => [name, [source]])),
      rootDir: '/',
      noEmit: true,
      isolatedDeclarations: false,
      declaration: false,
      sourceMap: false,
      // A page names what its reader goes on with, and a reader's project need not be as strict as this one.
      noUnusedLocals: false,
      noPropertyAccessFromIndexSignature: false,
    };
    const config = {
      extends: resolve('tsconfig.json'),
      compilerOptions: { ...compilerOptions, typeRoots: [resolve('node_modules/@types')] },
      files: named.map(({ name }) => name),
    };
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    expect(complaintsOf(folder)).toBe('');
  });
});

function complaintsOf(folder: string): string {
  try {
    execFileSync(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', folder], {
      encoding: 'utf8',
    });
    return '';
  } catch (error) {
    return String((error as { readonly stdout?: unknown }).stdout);
  }
}
