import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { bundle } from '../infra/bundle.ts';
import manifest from '../package.json' with { type: 'json' };

/** The weight of the package, in bytes. The same sources and packages give the same numbers. */
export interface Sizes {
  /** The weight of each entry point: its own code, minified, without any other package. */
  readonly entries: Readonly<Record<string, EntrySize>>;
  /** The main entry point with the packages that it loads, as a bundler makes it. */
  readonly bundled: EntrySize;
}

interface EntrySize {
  /** The bytes that are read at the start. */
  readonly start: number;
  /** With what is loaded when it is needed first. */
  readonly all: number;
}

/** The packed file: its size, and what an install writes. */
export interface PackedSize {
  readonly file: number;
  readonly unpacked: number;
}

export interface KeptSizes extends Sizes {
  readonly packed: PackedSize;
}

/** How much a size may grow before the kept figures have to be written again. */
const MOST_GROWTH = 1.02;

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const KEPT = new URL('sizes.json', import.meta.url);

export async function keptSizes(): Promise<KeptSizes> {
  return JSON.parse(await readFile(KEPT, 'utf8')) as KeptSizes;
}

export async function measureSizes(): Promise<Sizes> {
  const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
    typeof target === 'string' ? [] : [[subpath, sourceOf(target.types)] as const],
  );
  const sizes: [string, EntrySize][] = [];
  for (const [subpath, source] of entries) sizes.push([subpath, await ownSize(source)]);
  const folder = await mkdtemp(join(tmpdir(), 'sealed-memory-sizes-'));
  try {
    const { eager, total } = await bundle({ entry: join(ROOT, 'src/index.ts'), folder });
    return { entries: Object.fromEntries(sizes), bundled: { start: eager, all: total } };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Reads what `npm pack --json` prints. */
export function packedSize(printed: string): PackedSize & { readonly filename: string } {
  const [packed] = JSON.parse(printed) as readonly {
    readonly filename: string;
    readonly size: number;
    readonly unpackedSize: number;
  }[];
  if (packed === undefined) throw new Error('npm packed nothing');
  return { filename: packed.filename, file: packed.size, unpacked: packed.unpackedSize };
}

/** Lists what has grown by more than is allowed, each as a sentence. */
export function growthBetween(kept: object, now: object, name = ''): readonly string[] {
  return Object.entries(now).flatMap(([key, value]) => {
    const before = (kept as Readonly<Record<string, unknown>>)[key] ?? 0;
    const title = name === '' ? key : `${name} ${key}`;
    if (typeof value !== 'number') return growthBetween(Object(before), Object(value), title);
    return value <= Number(before) * MOST_GROWTH
      ? []
      : [`${title} has ${value} bytes, ${before} before: npm run write sizes keeps the new figure`];
  });
}

function sourceOf(types: string): string {
  return join(ROOT, types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'));
}

async function ownSize(entry: string): Promise<EntrySize> {
  const { metafile } = await build({
    entryPoints: [entry],
    absWorkingDir: ROOT,
    outdir: 'out',
    bundle: true,
    splitting: true,
    minify: true,
    packages: 'external',
    platform: 'node',
    target: 'node22',
    format: 'esm',
    legalComments: 'none',
    metafile: true,
    write: false,
  });
  const bytes = (names: Iterable<string>): number =>
    [...names].reduce((sum, name) => sum + (metafile.outputs[name]?.bytes ?? 0), 0);
  return { start: bytes(readAtStart(metafile, entry)), all: bytes(Object.keys(metafile.outputs)) };
}

function readAtStart({ outputs }: Metafile, entry: string): ReadonlySet<string> {
  const isEntry = (name: string): boolean => join(ROOT, outputs[name]?.entryPoint ?? '') === entry;
  const read = new Set(Object.keys(outputs).filter(isEntry));
  for (const name of read) {
    for (const { kind, path } of outputs[name]?.imports ?? []) {
      if (kind === 'import-statement' && path in outputs) read.add(path);
    }
  }
  if (read.size === 0) throw new Error(`${entry} has no bundle`);
  return read;
}

if (import.meta.main) {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const { file, unpacked } = packedSize(packed);
  const sizes: KeptSizes = { ...(await measureSizes()), packed: { file, unpacked } };
  await writeFile(KEPT, `${JSON.stringify(sizes, null, 2)}\n`);
  console.log(JSON.stringify(sizes, null, 2));
}
