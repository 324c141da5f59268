import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withRooms } from './layering/page.ts';
import { FOLDERS, type Folder, MOST_NOUNS, NAMES_ACROSS, type Room } from './layering/rooms.ts';
import { type Import, packageOf, parseSource, readSource, resolveImport } from './stage/source-file.ts';

const NOTHING = /^(?!)/;
const NODE = /^node:(?!buffer$|process$)/;
const AWS = /^@aws-sdk\/|^@smithy\//;

/** The packages and `node:` modules that files of `src` may import; the first row whose files match decides. */
const PACKAGES: readonly (readonly [files: RegExp, packages: RegExp])[] = [
  [/^(errors|lazily|listeners|logger|recent|stamps|time|waits)\.ts$/, NOTHING],
  [/^language\//, NOTHING],
  [/^format\/sodium(-scratch)?\.ts$/, /^libsodium-wrappers$/],
  [/^format\/native-box\.ts$/, /^node:crypto$/],
  [/^format\//, NOTHING],
  [/^store\/(port|settle|failures|remove-versions)\.ts$/, NOTHING],
  [/^store\/os-random\.ts$/, /^node:crypto$/],
  [/^store\/s3\//, new RegExp(`${NODE.source}|${AWS.source}`)],
  [/^store\//, NODE],
  [/^keys\/root-key\.ts$/, NOTHING],
  [/^keys\/kms\//, /^@aws-sdk\/client-kms$|^@smithy\/node-http-handler$/],
  [/^keys\//, NODE],
  [/^tree\//, new RegExp(`${NODE.source}|^p-limit$`)],
  [/^(turns|history)\//, NODE],
  [/^sessions\//, NOTHING],
  [/^admin\//, new RegExp(`${NODE.source}|^p-limit$`)],
  [/^policy\//, /^@secretlint\/(core|secretlint-rule-preset-recommend)$/],
  [/^tool\/telemetry\.ts$/, /^@opentelemetry\/api$/],
  [/^tool\//, new RegExp(`${NODE.source}|^@anthropic-ai/sdk$`)],
  [/^open\/(dynamodb-sdk|tenant-table(-changes)?)\.ts$/, /^@aws-sdk\/client-dynamodb$/],
  [/^open\//, NODE],
  [/^agent\//, /^/],
  [/^mcp\//, /^@modelcontextprotocol\/server$/],
  [/^page\/client\//, /^(preact|markdown-it|diff)$/],
  [/^page\//, NODE],
  [
    /^cli\//,
    /^(node:.*|commander|@bomb\.sh\/tab|cli-progress|smol-toml|diff|modern-tar|age-encryption|p-limit|@modelcontextprotocol\/server)$/,
  ],
  [
    /^worker\//,
    /^(node:(async_hooks|crypto)|@aws-sdk\/client-(sqs|sts)|@anthropic-ai\/sdk|@opentelemetry\/api|aws-lambda)$/,
  ],
  [
    /^hosts\//,
    /^(ai|@langchain\/core|@mastra\/core|@openai\/agents|unstorage|@anthropic-ai\/claude-agent-sdk|zod)$/,
  ],
  [/^cdk\//, /^(aws-cdk-lib|constructs|esbuild|node:(child_process|fs(\/promises)?|module|path|url))$/],
  [/^testing\//, NODE],
  [/^index\.c?ts$/, /^@anthropic-ai\/sdk$/],
];

/** No clock, randomness, timers, environment or Node globals: the caller passes what varies. */
const IMPURE = [
  'Buffer',
  'process',
  'Date',
  'performance',
  'crypto',
  'Math.random',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'fetch',
  'console',
];

/** The command line prints the version that stands there. */
const MANIFEST = '../../../package.json';

const MAY_READ_ENVIRONMENT =
  /^(open\/options\/environment\.ts|keys\/vault\/vault-environment\.ts|cli\/main\.ts)$/;

/** Below all rooms, and above. */
const GROUND = 0;
const ENTRY = 100;
/** The floors up to which code is pure, and up to which bytes are a `Uint8Array`: below `open`. */
const PURE = FOLDERS.format.floor;
const BYTES = FOLDERS.open.floor - 1;

const SDK = '@anthropic-ai/sdk';

const files = globSync('**/*.{ts,tsx,cts,mts}', { cwd: 'src' })
  .map((path) => path.replaceAll('\\', '/'))
  .sort();
const rows = new Map<string, Room | Folder>(Object.entries(FOLDERS));
const sources = new Map(files.map((path) => [path, readSource(`src/${path}`)]));

/** The ground is below all rooms, the entry points above. */
function floorOf(path: string): number {
  const room = roomOf(path);
  if (room === 'ground') return GROUND;
  const row: Partial<Room> | undefined = rows.get(room);
  return room === 'index' ? ENTRY : (row?.floor ?? Number.NaN);
}

function isRelative({ from }: Import): boolean {
  return from.startsWith('.');
}

/** Imports of files of `src`, the manifest of the package left out. */
const inside = everyImport((found) => isRelative(found) && found.from !== MANIFEST).map(
  ([path, { from, names }]) => ({ path, target: resolveImport(path, from), names }),
);

function everyImport(wanted: (found: Import) => boolean): readonly (readonly [string, Import])[] {
  return [...sources].flatMap(([path, { imports }]) =>
    imports.filter(wanted).map((found) => [path, found] as const),
  );
}

/** Imports that leave a folder, but for those of the ground. */
const crossings = inside.filter(
  ({ path, target }) => dirname(path) !== dirname(target) && target.includes('/'),
);

function nounOf(target: string): string {
  return basename(target).replace(/\.[cm]?tsx?$/, '');
}

/** Tells whether the folders of a key of `offers` have the file. */
function isAmong(key: string, path: string): boolean {
  const folder = path.includes('/') ? dirname(path) : 'index';
  return key.split(' ').some((name) => name === '*' || `${folder}/`.startsWith(`${name}/`));
}

function isOffered(path: string, target: string): boolean {
  const offers = Object.entries(rows.get(dirname(target))?.offers ?? {});
  return offers.some(([key, nouns]) => nouns.includes(nounOf(target)) && isAmong(key, path));
}

describe('the rooms of src', () => {
  it('are all in the table, and nothing else is', () => {
    const inFolders = files.filter((path) => path.includes('/'));
    const folders = new Set(inFolders.flatMap((path) => [roomOf(path), dirname(path)]));
    expect([...rows.keys()].sort()).toEqual([...folders].sort());
  });

  it('have arrows that go down only', () => {
    const upward = inside.filter(
      ({ path, target }) => roomOf(path) !== roomOf(target) && !(floorOf(target) < floorOf(path)),
    );
    expect(upward.map(({ path, target }) => describeArrow(path, target))).toEqual([]);
  });

  it('are entered by what they offer, and to whom', () => {
    const past = crossings.filter(({ path, target }) => !isOffered(path, target));
    expect(
      past.map(({ path, target }) => `src/${path} imports src/${target}, which is not offered to it`),
    ).toEqual([]);
  });

  it('offer nothing that nobody takes', () => {
    const unused = [...rows].flatMap(([folder, { offers = {} }]) =>
      Object.entries(offers).flatMap(([key, nouns]) =>
        nouns.flatMap((noun) =>
          key
            .split(' ')
            .filter(
              (name) =>
                !crossings.some(
                  ({ path, target }) =>
                    dirname(target) === folder && nounOf(target) === noun && isAmong(name, path),
                ),
            )
            .map((name) => `src/${folder} offers ${noun} to ${name}`),
        ),
      ),
    );
    expect(unused).toEqual([]);
  });

  it('offer a dozen nouns, or few more', () => {
    const many = [...rows].filter(
      ([, { offers = {} }]) => new Set(Object.values(offers).flat()).size > MOST_NOUNS,
    );
    expect(many.map(([folder]) => folder)).toEqual([]);
  });

  it('know of one another so many names, and fewer is better', () => {
    const across = crossings.filter(({ path, target }) => roomOf(path) !== roomOf(target));
    const names = across.flatMap(({ target, names: imported }) =>
      imported.map((name) => `${target} ${name}`),
    );
    expect(new Set(names).size).toBe(NAMES_ACROSS);
  });

  it('have types whose names are their own', () => {
    const homes = new Map<string, string[]>();
    for (const [path, { types }] of sources) {
      for (const name of types) homes.set(name, [...(homes.get(name) ?? []), `src/${path}`]);
    }
    const shared = [...homes].filter(([, paths]) => paths.length > 1);
    expect(shared.map(([name, paths]) => `${name}: ${paths.join(', ')}`)).toEqual([]);
  });

  it('have rows that say which packages they use', () => {
    expect(files.filter((path) => packagesOf(path) === undefined)).toEqual([]);
  });

  it('import files of src by their own name', () => {
    const broken = everyImport(isRelative).filter(
      ([path, { from }]) => !sources.has(resolveImport(path, from)) && from !== MANIFEST,
    );
    expect(broken.map(([path, { from }]) => `src/${path} imports ${from}, which is no file of src`)).toEqual(
      [],
    );
  });

  it('have no cycle', () => {
    expect(findCycles()).toEqual([]);
  });

  it('import only the packages of their row', () => {
    const foreign = everyImport((found) => !isRelative(found)).filter(([path, { from }]) => {
      const name = from.startsWith('node:') ? from : packageOf(from);
      return !packagesOf(path)?.test(name);
    });
    expect(foreign.map(([path, { from }]) => `src/${path} imports ${from}`)).toEqual([]);
  });

  it("load nothing of Anthropic's SDK but ToolError, at the first failure", () => {
    const values = everyImport(({ from, typeOnly }) => packageOf(from) === SDK && !typeOnly);
    expect(values.map(([path, { from }]) => `src/${path} imports ${from}`)).toEqual([
      // For a CommonJS host, where it is installed.
      'src/index.cts imports @anthropic-ai/sdk/lib/tools/ToolError',
      'src/tool/memory-tool.ts imports @anthropic-ai/sdk/lib/tools/ToolError',
    ]);
    expect(readFileSync('src/tool/memory-tool.ts', 'utf8')).toContain(
      `await import('${SDK}/lib/tools/ToolError')`,
    );
  });

  it('take no randomness where they take ciphers: the bytes of the format follow from what is given', () => {
    const ciphers = everyImport(({ from }) => from === 'node:crypto').filter(
      ([path]) => floorOf(path) <= PURE,
    );
    expect(ciphers.map(([path, { names }]) => [path, names])).toEqual([
      ['format/native-box.ts', ['createCipheriv', 'createDecipheriv']],
    ]);
  });

  it('read the environment in one place', () => {
    const readers = [...sources].filter(([path, { uses }]) => {
      return uses.has('process.env') && !MAY_READ_ENVIRONMENT.test(path);
    });
    expect(
      readers.map(([path]) => `src/${path} reads process.env; src/open/options/environment.ts does that`),
    ).toEqual([]);
  });

  it('are pure at the bottom', () => {
    const impure = usesOf(IMPURE, PURE);
    expect(impure.filter((use) => !use.startsWith('src/time.ts '))).toEqual([]);
  });

  it('pass bytes as Uint8Array below the composition', () => {
    expect(usesOf(['Buffer'], BYTES)).toEqual([]);
  });
});

describe('parseSource', () => {
  it('sees every form of import and whether it is of types only', () => {
    const { imports } = parseSource(`
      import type { A } from './a.ts';
      import { type B, type C } from './b.ts';
      import { type D, d } from './d.ts';
      import './e.ts';
      import * as f from 'node:fs';
      export { g as h } from './g.ts';
      export type { I } from './i.ts';
      export * from './j.ts';
      const k = await import('./k.ts');
      type L = import('./l.ts').L;
      const m = require('./m.cjs');
      const quote = /['"]/; // import('./comment.ts')
      const text = "import { x } from '../src/language/text.ts'";
    `);
    expect(imports).toEqual([
      { from: './a.ts', typeOnly: true, names: ['A'] },
      { from: './b.ts', typeOnly: true, names: ['B', 'C'] },
      { from: './d.ts', typeOnly: false, names: ['D', 'd'] },
      { from: './e.ts', typeOnly: false, names: [] },
      { from: 'node:fs', typeOnly: false, names: ['*'] },
      { from: './g.ts', typeOnly: false, names: ['g'] },
      { from: './i.ts', typeOnly: true, names: ['I'] },
      { from: './j.ts', typeOnly: false, names: ['*'] },
      { from: './k.ts', typeOnly: false, names: ['*'] },
      { from: './l.ts', typeOnly: true, names: ['*'] },
      { from: './m.cjs', typeOnly: false, names: ['*'] },
    ]);
  });

  it('sees globals but not properties of the same name', () => {
    const { uses } = parseSource(`
      const now = Date.now();
      const env = process['env'];
      const own = { Buffer: 1, fetch: row.performance };
    `);
    expect([...uses].filter((name) => IMPURE.includes(name))).toEqual(['Date', 'process']);
    expect(uses).toContain('process.env');
  });
});

function describeArrow(path: string, target: string): string {
  const place = (file: string) => `src/${file} (floor ${floorOf(file)})`;
  return `${place(path)} imports ${place(target)}`;
}

/** The files at the top of `src` are two rooms: the ground, and the entry points. */
function roomOf(path: string): string {
  const [room = ''] = path.split('/');
  if (room !== path) return room;
  return path.startsWith('index.') ? 'index' : 'ground';
}

function packagesOf(path: string): RegExp | undefined {
  return PACKAGES.find(([pattern]) => pattern.test(path))?.[1];
}

function usesOf(names: readonly string[], upTo: number): readonly string[] {
  return [...sources]
    .filter(([path]) => floorOf(path) <= upTo)
    .flatMap(([path, { uses }]) =>
      names.filter((name) => uses.has(name)).map((name) => `src/${path} uses ${name}`),
    );
}

function findCycles(): readonly string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) cycles.push([...trail.slice(start), path].join(' → '));
    if (start >= 0 || finished.has(path)) return;
    for (const found of sources.get(path)?.imports ?? []) {
      if (isRelative(found)) walk(resolveImport(path, found.from), [...trail, path]);
    }
    finished.add(path);
  };
  for (const path of files) walk(path, []);
  return cycles;
}

describe('the pages', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...globSync('docs/*.md')];
  const pathsOf = (page: string): readonly string[] =>
    [...readFileSync(page, 'utf8').matchAll(/`((?:src|test|infra|bench|examples)\/[\w./-]*)`/g)].map(
      ([, path]) => path ?? '',
    );

  it.each(pages)('%s names files and folders that exist', (page) => {
    expect(pathsOf(page).filter((path) => !existsSync(path))).toEqual([]);
  });

  it('show the rooms as they are', () => {
    expect(readFileSync('docs/architecture.md', 'utf8')).toBe(withRooms());
  });
});
