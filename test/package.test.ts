import { execFile } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { growthBetween, keptSizes, packedSize } from '../bench/sizes.ts';
import { bundleWorker } from '../infra/bundle.ts';
import { bundleCli } from '../infra/bundle-cli.ts';
import manifest from '../package.json' with { type: 'json' };
import { blocksOf } from './docs/pages.ts';
import type { Template } from './infra/iam/template.ts';
import { installLocked } from './runner/locked-packages.ts';
import { linkModules } from './stage/programs.ts';
import { installHostPackages } from './units/hosts/install.ts';

const run = promisify(execFile);
const ENTRY_POINTS = Object.keys(manifest.exports)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => subpath.replace(/^\./, manifest.name));

describe('the package, packed', { timeout: 120_000 }, () => {
  let folder: string;
  let installed: string;
  let packed: ReturnType<typeof packedSize>;
  let tarball: string;
  beforeAll(async () => {
    await installHostPackages();
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-package-'));
    const source = join(folder, 'source');
    mkdirSync(source);
    const shipped = ['package.json', 'README.md', 'LICENSE', ...manifest.files].filter(
      (name) => name !== 'dist' && !name.startsWith('!'),
    );
    for (const name of shipped) cpSync(name, join(source, name), { recursive: true });
    cpSync('tsconfig.json', join(source, 'tsconfig.json'));
    symlinkSync(resolve('node_modules'), join(source, 'node_modules'));
    await run(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '--noCheck', '-p', source]);
    await bundleCli(join(source, 'dist/cli'));
    await bundleWorker(join(source, 'dist/lambda'));
    const { stdout } = await run(
      'npm',
      ['pack', '--ignore-scripts', '--json', '--pack-destination', folder],
      {
        cwd: source,
      },
    );
    packed = packedSize(stdout);
    tarball = join(folder, packed.filename);
    installed = join(folder, 'node_modules', manifest.name);
    mkdirSync(installed, { recursive: true });
    await run('tar', ['xzf', tarball, '-C', installed, '--strip-components=1']);
    linkModules(join(folder, 'node_modules'));
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true }), 120_000);

  const evaluate = (language: 'module' | 'commonjs', script: string) =>
    run(process.execPath, [`--input-type=${language}`, '--eval', script], { cwd: folder });

  it.each(ENTRY_POINTS)('gives %s to import and to require alike', async (name) => {
    const imported = await evaluate('module', `console.log(Object.keys(await import('${name}')).length)`);
    const required = await evaluate('commonjs', `console.log(Object.keys(require('${name}')).length)`);
    expect(Number(imported.stdout)).toBeGreaterThan(0);
    expect(Number(required.stdout)).toBeGreaterThan(0);
  });

  it('is all that an app of the CDK needs for a stack with a memory', async () => {
    const app = blocksOf('docs/deployment.md', 'ts').find(({ text }) => text.includes('sealed-memory/cdk'));
    writeFileSync(join(folder, 'app.mts'), app?.text ?? '');
    const env = { ...process.env, CDK_OUTDIR: join(folder, 'out') };
    await run(process.execPath, ['app.mts'], { cwd: folder, env });
    const template = JSON.parse(
      readFileSync(join(folder, 'out/Assistant.template.json'), 'utf8'),
    ) as Template;
    const functions = Object.values(template.Resources).filter(
      ({ Type }) => Type === 'AWS::Lambda::Function',
    );
    expect(functions.map(({ Properties }) => Properties['Handler']).sort()).toEqual([
      ...['index.expire', 'index.handler', 'index.invoke'],
    ]);
    const bundled = globSync('out/asset.*/index.mjs', { cwd: folder });
    expect(bundled).toHaveLength(1);
    expect(readFileSync(join(folder, bundled[0] ?? ''))).toEqual(
      readFileSync(join(installed, 'dist/lambda/index.mjs')),
    );
    expect(globSync('out/asset.*/LICENSES.txt', { cwd: folder })).toHaveLength(1);
  });

  it('lets npm share the packages of AWS, each release of which asks for a newer patch of the others', () => {
    const ranges = Object.entries(manifest.dependencies).filter(([name]) =>
      /^@(aws-sdk|smithy)\//.test(name),
    );
    expect(ranges.length).toBeGreaterThan(0);
    expect(ranges.filter(([, range]) => !range.startsWith('^'))).toEqual([]);
  });

  it('is no larger than the figures that are kept, or than they allow', async () => {
    const { file, unpacked } = packed;
    expect(growthBetween((await keptSizes()).packed, { file, unpacked })).toEqual([]);
  });

  it('has nothing that publint would change', async () => {
    const { messages } = await publint({ pkgDir: installed, pack: false });
    expect(messages).toEqual([]);
  });

  it('has types that every resolution of Node and of bundlers finds', async () => {
    const { checkPackage, createPackageFromTarballData } = await loadTypeJudge();
    const checked = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
    expect(checked.types).toMatchObject({ kind: 'included' });
    const { problems } = checked;
    const told = problems
      .filter(({ resolutionKind }) => resolutionKind !== 'node10')
      // Every Node that the package runs on lets CommonJS require the modules of its subpaths; the test above does.
      .filter(({ kind }) => kind !== 'CJSResolvesToESM');
    expect(told).toEqual([]);
    expect(
      problems.filter(({ entrypoint, resolutionKind }) => entrypoint === '.' && resolutionKind !== 'node10'),
    ).toEqual([]);
  });

  it('carries the source of every line, and no test', () => {
    const maps = globSync('dist/**/*.js.map', { cwd: installed }).filter(
      (map) => !map.startsWith('dist/cli/'),
    );
    expect(maps.length).toBeGreaterThan(100);
    for (const map of maps) {
      const { sources } = JSON.parse(readFileSync(join(installed, map), 'utf8')) as {
        readonly sources: readonly string[];
      };
      const found = sources.filter((source) => globSync(join(installed, dirname(map), source)).length === 1);
      expect(found).toEqual(sources);
    }
    expect(globSync('**/*.test.*', { cwd: installed })).toEqual([]);
  });
});

/**
 * The part of `@arethetypeswrong/core` that is used here. It is installed when this suite runs, for it brings a
 * TypeScript of its own.
 */
interface TypeJudge {
  createPackageFromTarballData(tarball: Uint8Array): unknown;
  checkPackage(packed: unknown): Promise<{
    readonly types: unknown;
    readonly problems: readonly {
      readonly kind: string;
      readonly entrypoint?: string;
      readonly resolutionKind?: string;
    }[];
  }>;
}

async function loadTypeJudge(): Promise<TypeJudge> {
  const modules = await installLocked(resolve('test/packed/resolutions'));
  return (await import(join(modules, '@arethetypeswrong/core/dist/index.js'))) as TypeJudge;
}
