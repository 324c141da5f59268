import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Import, packageOf, parseSource, readSource, resolveImport } from './support/source-file.ts';

/** Files of one kind. An import goes to a lower layer or stays within the group. */
interface Group {
  readonly name: string;
  readonly layer: number;
  /** Paths below src; the first group that matches owns the file. */
  readonly files: RegExp;
  /** Packages and `node:` modules it may import. */
  readonly packages: RegExp;
}

const NOTHING = /^(?!)/;
const NODE = /^node:(?!buffer$|process$)/;
const AWS = /^@aws-sdk\/|^@smithy\//;

const LAYERS: readonly Group[] = [
  {
    name: 'ground',
    layer: 0,
    files: /^(errors|lazily|listeners|logger|recent|stamps|time|waits)\.ts$/,
    packages: NOTHING,
  },
  { name: 'language', layer: 1, files: /^language\//, packages: NOTHING },
  { name: 'sodium', layer: 1, files: /^format\/sodium(-scratch)?\.ts$/, packages: /^libsodium-wrappers$/ },
  { name: 'native cipher', layer: 1, files: /^format\/native-box\.ts$/, packages: /^node:crypto$/ },
  { name: 'format', layer: 1, files: /^format\//, packages: NOTHING },
  {
    name: 'ports',
    layer: 2,
    files: /^(store\/(port|settle|failures)|keys\/root-key)\.ts$/,
    packages: NOTHING,
  },
  { name: 'randomness', layer: 2, files: /^store\/os-random\.ts$/, packages: /^node:crypto$/ },
  { name: 'S3 store', layer: 3, files: /^store\/s3\//, packages: new RegExp(`${NODE.source}|${AWS.source}`) },
  { name: 'SQLite store', layer: 3, files: /^store\/sqlite\//, packages: NODE },
  { name: 'folder store', layer: 3, files: /^store\/folder/, packages: NODE },
  { name: 'guarded delete', layer: 3, files: /^store\/(guarded-delete|tombstones)\.ts$/, packages: NODE },
  { name: 'conditions', layer: 3, files: /^store\/conditions\.ts$/, packages: NODE },
  { name: 'removal of versions', layer: 3, files: /^store\/remove-versions\.ts$/, packages: NOTHING },
  { name: 'environment root key', layer: 3, files: /^keys\/env-root-key\.ts$/, packages: NODE },
  {
    name: 'KMS root key',
    layer: 3,
    files: /^keys\/kms-/,
    packages: /^@aws-sdk\/client-kms$|^@smithy\/node-http-handler$/,
  },
  { name: 'keyring', layer: 4, files: /^keys\//, packages: NODE },
  { name: 'tree', layer: 4, files: /^tree\//, packages: new RegExp(`${NODE.source}|^p-limit$`) },
  { name: 'turns', layer: 4, files: /^turns\//, packages: NODE },
  { name: 'history', layer: 5, files: /^history\//, packages: NODE },
  { name: 'sessions', layer: 4, files: /^sessions\//, packages: NOTHING },
  { name: 'admin', layer: 6, files: /^admin\//, packages: new RegExp(`${NODE.source}|^p-limit$`) },
  {
    name: 'policy',
    layer: 6,
    files: /^policy\//,
    packages: /^@secretlint\/(core|secretlint-rule-preset-recommend)$/,
  },
  { name: 'tool', layer: 6, files: /^tool\//, packages: new RegExp(`${NODE.source}|^@anthropic-ai/sdk$`) },
  { name: 'open', layer: 7, files: /^open\//, packages: NODE },
  { name: 'agent', layer: 8, files: /^agent\//, packages: /^/ },
  { name: 'MCP', layer: 8, files: /^mcp\//, packages: /^@modelcontextprotocol\/server$/ },
  { name: 'page', layer: 8, files: /^page\/(?!client\/)/, packages: NODE },
  {
    name: 'page in the browser',
    layer: 9,
    files: /^page\/client\//,
    packages: /^(preact|markdown-it|diff)$/,
  },
  {
    name: 'command line',
    layer: 9,
    files: /^cli\//,
    packages:
      /^(node:.*|commander|@bomb\.sh\/tab|cli-progress|smol-toml|diff|modern-tar|age-encryption|p-limit|@modelcontextprotocol\/server)$/,
  },
  {
    name: 'worker',
    layer: 9,
    files: /^worker\//,
    packages:
      /^(node:(async_hooks|crypto)|@aws-sdk\/client-(sqs|sts)|@anthropic-ai\/sdk|@opentelemetry\/api|aws-lambda)$/,
  },
  {
    name: 'hosts',
    layer: 9,
    files: /^hosts\//,
    packages:
      /^(ai|@langchain\/core|@mastra\/core|@openai\/agents|unstorage|@anthropic-ai\/claude-agent-sdk|zod)$/,
  },
  {
    name: 'cloud',
    layer: 9,
    files: /^cdk\//,
    packages: /^(aws-cdk-lib|constructs|node:(fs|url))$/,
  },
  { name: 'index', layer: 9, files: /^index\.c?ts$/, packages: /^@anthropic-ai\/sdk$/ },
];

/** Single arrows allowed beside the rule, each with its reason. */
const EXCEPTIONS: readonly {
  readonly importer: RegExp;
  readonly target: RegExp;
  readonly typeOnly?: true;
  readonly why: string;
}[] = [
  { importer: /^format\//, target: /^format\/sodium\.ts$/, why: 'the one door to libsodium' },
  {
    importer: /^format\/chunks\.ts$/,
    target: /^format\/native-box\.ts$/,
    why: "the one door to Node's cipher",
  },
  {
    importer: /^format\/sodium-scratch\.ts$/,
    target: /^format\/encoding\.ts$/,
    why: 'keys are copied in one way',
  },
  {
    importer: /^format\//,
    target: /^language\/(path|text)\.ts$/,
    why: "names follow the memory path's segment rule, and texts become bytes in one way",
  },
  {
    importer: /^(sessions|turns)\//,
    target: /^tree\//,
    why: 'transcripts, and what turns leave, are sealed records, as the tree writes them',
  },
  { importer: /^tree\//, target: /^keys\//, why: 'the tree works with a loaded keyring' },
];

/** What other folders may import of a room, and which of them; any folder unless said. Tests look into every room. */
const DOORS: readonly {
  readonly room: RegExp;
  readonly files: RegExp;
  readonly importers?: RegExp;
}[] = [
  { room: /^store\//, files: /^store\/(port|settle|failures|os-random)\.ts$/ },
  {
    room: /^store\//,
    files: /^store\/(conditions|guarded-delete|tombstones|s3\/connection|s3\/versions)\.ts$/,
    importers: /^open\//,
  },
  { room: /^store\//, files: /^store\/remove-versions\.ts$/, importers: /^(admin|history)\// },
  // Credentials of AWS reach a bucket, and root keys in KMS.
  {
    room: /^store\//,
    files: /^store\/s3\/callers-credentials\.ts$/,
    importers: /^(index\.ts$|(open|keys|worker)\/)/,
  },
  {
    room: /^store\//,
    files: /^store\/(folder|s3\/s3-store|sqlite\/(sqlite-store|backup|database-file))\.ts$/,
    // The doctor, an export and a backup look at stores below what is put before them for a tenant.
    importers: /^(open\/|cli\/keys\/(backup|doctor|export-backup)\.ts$)/,
  },
  {
    room: /^tree\/(?!(rename|records|settled|admission)\/)/,
    files:
      /^tree\/(tenant|tree|concurrency|confirmed-change|confirmed-put|list-directory|list-objects|read-file|touches|sightings|version-cache|walk-directory)\.ts$/,
  },
  {
    room: /^history\//,
    files:
      /^history\/(history|save\/(actors|version-saver)|past\/entries|change\/(moment|plan)|trace\/(trace|untold))\.ts$/,
  },
  // A verification judges every page.
  { room: /^sessions\//, files: /^sessions\/page\.ts$/, importers: /^admin\// },
  // Workers write what turns leave, a trace reads it, and the operator's verbs judge it.
  { room: /^turns\//, files: /^turns\//, importers: /^(admin|history|worker)\// },
  { room: /^turns\//, files: /^turns\/turn-trace\.ts$/ },
  {
    room: /^history\//,
    files: /^history\/(save\/history-record|past\/(collect|past|read))\.ts$/,
    // The operator's verbs judge the records themselves.
    importers: /^admin\//,
  },
  {
    room: /^sessions\//,
    files: /^sessions\/(sessions|append-lines|session-key)\.ts$/,
  },
  {
    room: /^tree\/(?!(rename|records|settled|admission)\/)/,
    files: /^tree\/(admission\/admission|settled\/settled)\.ts$/,
    importers: /^history\//,
  },
  {
    room: /^tree\/(?!(rename|records|settled|admission)\/)/,
    files: /^tree\/settled\//,
    importers: /^tree\/rename\//,
  },
  {
    room: /^tree\/records\//,
    files: /^tree\/records\/(access-records|list-ids|record-values|scan|sealed-record)\.ts$/,
  },
  {
    room: /^tree\/rename\//,
    files: /^tree\/rename\/(recovery|register|rename|rename-file|rename-register)\.ts$/,
  },
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

const MAY_READ_ENVIRONMENT = /^(open\/environment\.ts|cli\/main\.ts)$/;

const SDK = '@anthropic-ai/sdk';

const files = globSync('**/*.{ts,tsx,cts,mts}', { cwd: 'src' })
  .map((path) => path.replaceAll('\\', '/'))
  .sort();
const sources = new Map(files.map((path) => [path, readSource(`src/${path}`)]));

function groupOf(path: string): Group | undefined {
  return LAYERS.find(({ files: pattern }) => pattern.test(path));
}

function isRelative({ from }: Import): boolean {
  return from.startsWith('.');
}

function everyImport(wanted: (found: Import) => boolean): readonly (readonly [string, Import])[] {
  return [...sources].flatMap(([path, { imports }]) =>
    imports.filter(wanted).map((found) => [path, found] as const),
  );
}

function mayImport(path: string, target: string, typeOnly: boolean): boolean {
  const importer = groupOf(path);
  const imported = groupOf(target);
  if (!importer || !imported) return true; // reported by the test of the table
  if (importer === imported || imported.layer < importer.layer) return true;
  return EXCEPTIONS.some(
    (exception) =>
      exception.importer.test(path) && exception.target.test(target) && (typeOnly || !exception.typeOnly),
  );
}

function isThroughDoor(path: string, target: string): boolean {
  const doors = DOORS.filter(({ room }) => room.test(target) && !room.test(path));
  const isListed = doors.some(
    ({ files: open, importers }) => open.test(target) && (importers?.test(path) ?? true),
  );
  return doors.length === 0 || isListed;
}

describe('the layers of src', () => {
  it('are known for every file', () => {
    const homeless = files.filter((path) => !groupOf(path));
    const advice = homeless.map(
      (path) => `src/${path} has no layer: add it to LAYERS in test/layering.test.ts`,
    );
    expect(advice).toEqual([]);
  });

  it('have arrows that go down only', () => {
    const upward = everyImport(isRelative).filter(
      ([path, { from, typeOnly }]) => !mayImport(path, resolveImport(path, from), typeOnly),
    );
    expect(upward.map(([path, { from }]) => describeArrow(path, resolveImport(path, from)))).toEqual([]);
  });

  it('enter a room by its doors', () => {
    const others = everyImport(isRelative).filter(
      ([path, { from }]) => !isThroughDoor(path, resolveImport(path, from)),
    );
    expect(
      others.map(
        ([path, { from }]) => `src/${path} imports src/${resolveImport(path, from)}, which is no door`,
      ),
    ).toEqual([]);
  });

  it('have no door that is not used', () => {
    const entered = everyImport(isRelative).map(
      ([path, { from }]) => [path, resolveImport(path, from)] as const,
    );
    const unused = files.filter((file) =>
      DOORS.some(
        ({ room, files: open }) =>
          open.test(file) && !entered.some(([path, target]) => target === file && !room.test(path)),
      ),
    );
    expect(unused).toEqual([]);
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

  it('import only the packages of their group', () => {
    const foreign = everyImport((found) => !isRelative(found)).filter(([path, { from }]) => {
      const name = from.startsWith('node:') ? from : packageOf(from);
      return !groupOf(path)?.packages.test(name);
    });
    expect(foreign.map(([path, { from }]) => `src/${path} (${groupOf(path)?.name}) imports ${from}`)).toEqual(
      [],
    );
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
      ([path]) => groupOf(path)?.layer === 1,
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
      readers.map(([path]) => `src/${path} reads process.env; src/open/environment.ts does that`),
    ).toEqual([]);
  });

  it('are pure at the bottom', () => {
    const impure = usesOf(IMPURE, (layer) => layer <= 1);
    expect(impure.filter((use) => !use.startsWith('src/time.ts '))).toEqual([]);
  });

  it('pass bytes as Uint8Array below the composition', () => {
    expect(usesOf(['Buffer'], (layer) => layer <= 6)).toEqual([]);
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
  const place = (file: string) => `src/${file} (layer ${groupOf(file)?.layer}, ${groupOf(file)?.name})`;
  return `${place(path)} imports ${place(target)}`;
}

function usesOf(names: readonly string[], inLayer: (layer: number) => boolean): readonly string[] {
  return [...sources]
    .filter(([path]) => inLayer(groupOf(path)?.layer ?? 0))
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

  it('show every room of src on the map, and every folder in a room', () => {
    const rooms = new Set(files.filter((path) => path.includes('/')).map((path) => dirname(path)));
    const shown = pathsOf('docs/architecture.md');
    expect([...rooms].filter((room) => !shown.includes(`src/${room}`))).toEqual([]);
  });
});
