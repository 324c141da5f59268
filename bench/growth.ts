import { createMemoryPool, type Memory } from '../src/index.ts';
import { encodeText } from '../src/language/text.ts';
import { openMemory } from '../src/open/open-memory.ts';
import type { ObjectStore } from '../src/store/port.ts';
import { openSqliteObjectStore } from '../src/store/sqlite/sqlite-store.ts';
import type { Lab } from './lab.ts';
import type { Round } from './report/row.ts';
import { spreadOf, steeperFrom } from './report/spread.ts';
import { costOf, inTurns } from './rounds.ts';
import { putObjects, sealedObjects } from './sealed-objects.ts';
import { sideBySide } from './side-by-side.ts';
import type { FindSites, Sites } from './sites.ts';
import { command, memoryOptions, plainStore, ROOT_KEY } from './stores.ts';
import { plainKey, plainTurn, sealedTurn, textOf } from './turn.ts';
import { viewBesidePages } from './view-beside-pages.ts';

const KIB = 1_024;
/** Names that every tree has. */
const READ = '/memories/0/0.md';
const EDITED = '/memories/0/edited.md';

/** Measures what more files, larger files and more agents cost, each as a ratio to the least of them. */
export async function growth(lab: Lab, findSites: FindSites): Promise<void> {
  await embeddedFiles(lab);
  const sites = await findSites(lab);
  if (sites === undefined) return;
  await storedFiles(lab, sites);
  await sizes(lab, sites);
  await agents(lab, sites);
}

/** Runs `work` at every size in turns and notes how its cost grows. */
async function grow(
  lab: Lab,
  growing: {
    readonly work: string;
    readonly of: string;
    readonly sizes: readonly number[];
    readonly run: (size: number, round: number) => Promise<unknown>;
  },
): Promise<void> {
  const { work, of, sizes: all, run } = growing;
  const rounds = await inTurns(all.map(String), lab.isQuick ? 3 : 6, (size, round) =>
    costOf(() => run(Number(size), round)),
  );
  const steps = all.map((size) => ({
    size,
    cost: medianRatio(rounds.slice(1), { size, least: all[0] ?? size }),
  }));
  lab.grows({
    work,
    of,
    steps: steps.map(({ size, cost }) => ({ size, ratio: cost })),
    risesFrom: steeperFrom(steps, 0.5),
    steepFrom: steeperFrom(steps, 1.15),
  });
}

function medianRatio(
  rounds: readonly Round[],
  { size, least }: { readonly size: number; readonly least: number },
): number {
  const ratios = rounds.map(
    (round) => (round.get(String(size))?.wall ?? Number.NaN) / (round.get(String(least))?.wall ?? Number.NaN),
  );
  return spreadOf(ratios).median;
}

function pathsOf(files: number): readonly string[] {
  return Array.from({ length: files }, (_, at) => `/memories/${at % 100}/${Math.floor(at / 100)}.md`);
}

/** Trees within this process: nothing but our own code and SQLite grows. */
async function embeddedFiles(lab: Lab): Promise<void> {
  const all = lab.isQuick ? [100, 1_000, 10_000] : [100, 1_000, 10_000, 100_000];
  const trees = new Map<number, Memory>();
  let largest: ObjectStore | undefined;
  for (const files of all) {
    lab.say(`filling ${files} files in memory:`);
    largest = lab.stack.use(openSqliteObjectStore({ path: ':memory:' }));
    const memory = lab.stack.use(await openMemory({ store: largest, tenant: 'bench', rootKey: ROOT_KEY }));
    for (const path of pathsOf(files)) await command(memory, { command: 'create', path, file_text: 'a' });
    trees.set(files, memory);
  }
  await commandsOn(lab, { trees, where: 'memory:' });
  await Promise.all([...trees.values()].map((memory) => memory.close()));
  const work = `view the root of ${all.at(-1)?.toLocaleString('en-US')} files, memory:`;
  if (largest !== undefined) await viewBesidePages(lab, largest, { work, rounds: 5 });
}

/** Trees in buckets of MinIO, and the view of the largest beside the same pages, listed raw. */
async function storedFiles(lab: Lab, sites: Sites): Promise<void> {
  const all = lab.isQuick ? [100, 1_000] : [100, 1_000, 10_000];
  const trees = new Map<number, Memory>();
  let largest = '';
  for (const files of all) {
    lab.say(`filling ${files} files on S3`);
    largest = await sites.bucket();
    await putObjects(sites.near, largest, await sealedObjects(pathsOf(files), () => 'a'));
    trees.set(files, lab.stack.use(await openMemory(memoryOptions({ site: sites.near, bucket: largest }))));
  }
  await commandsOn(lab, { trees, where: 'S3' });

  const store = await plainStore(lab, { site: sites.near, bucket: largest });
  const work = `view the root of ${all.at(-1)?.toLocaleString('en-US')} files on S3`;
  await viewBesidePages(lab, store, { work, rounds: lab.isQuick ? 4 : 12, goal: 1.2 });
}

async function commandsOn(
  lab: Lab,
  { trees, where }: { readonly trees: ReadonlyMap<number, Memory>; readonly where: string },
): Promise<void> {
  const run = async (files: number, input: Readonly<Record<string, unknown>>): Promise<void> => {
    const memory = trees.get(files);
    if (memory !== undefined) await command(memory, input);
  };
  for (const files of trees.keys())
    await run(files, { command: 'create', path: EDITED, file_text: 'count 0;' });
  const works: Readonly<Record<string, (round: number) => Readonly<Record<string, unknown>>>> = {
    'view the root': () => ({ command: 'view', path: '/memories' }),
    'view a file': () => ({ command: 'view', path: READ }),
    str_replace: (round) => ({
      command: 'str_replace',
      path: EDITED,
      old_str: `count ${round};`,
      new_str: `count ${round + 1};`,
    }),
    create: (round) => ({ command: 'create', path: `/memories/0/new-${round}.md`, file_text: 'a' }),
  };
  for (const [work, input] of Object.entries(works)) {
    await grow(lab, {
      work: `${work}, ${where}`,
      of: 'files',
      sizes: [...trees.keys()],
      run: (files, round) => run(files, input(round)),
    });
  }
}

/** One file, written and read, beside a PUT and a GET of as many bytes through the same client. */
async function sizes(lab: Lab, sites: Sites): Promise<void> {
  const all = [1, 16, 64, 256, 1_024, 4_096, 16_384].map((size) => size * KIB);
  const [site, bucket] = [sites.near, await sites.bucket()];
  const store = await plainStore(lab, { site, bucket: await sites.bucket() });
  await using memory = await openMemory({
    ...memoryOptions({ site, bucket }),
    onExists: 'overwrite',
    limits: { fileBytes: 16 * KIB * KIB },
  });
  const texts = new Map(all.map((size) => [size, 'a'.repeat(size)]));
  const read = async (size: number): Promise<void> => {
    const found = await memory.files.read(`/memories/${size}.md`);
    if (found?.size !== size) throw new Error('a file came back shorter or longer');
  };
  const write = (size: number): Promise<void> =>
    command(memory, { command: 'create', path: `/memories/${size}.md`, file_text: texts.get(size) });
  const put = (size: number) =>
    store.put(plainKey('plain', String(size)), encodeText(texts.get(size) ?? ''), { mode: 'overwrite' });
  const get = (size: number) => store.get(plainKey('plain', String(size)));
  await grow(lab, { work: 'write a file, S3', of: 'bytes', sizes: all, run: write });
  await grow(lab, { work: 'read a file, S3', of: 'bytes', sizes: all, run: read });
  for (const size of all) await put(size);
  const compared = [1, 64, 1_024, 16_384].map((size) => size * KIB);
  const [ours, raw] = ['sealed memory', 'raw'];
  for (const size of compared) {
    const title = size < KIB * KIB ? `${size / KIB} KiB` : `${size / KIB / KIB} MiB`;
    for (const [work, sealed, plain] of [
      ['read', read, get],
      ['write', write, put],
    ] as const) {
      const rounds = await inTurns([raw, ours], lab.isQuick ? 3 : 9, (name) =>
        costOf(() => (name === ours ? sealed(size) : plain(size))),
      );
      lab.compare({ work: `${work} ${title}, S3`, reference: raw, time: 'wall', rounds });
    }
  }
}

/** Agents of as many tenants, a turn each, side by side in one process. */
async function agents(lab: Lab, sites: Sites): Promise<void> {
  const all = lab.isQuick ? [1, 4, 16] : [1, 2, 4, 8, 16, 32, 64];
  const most = all.at(-1) ?? 1;
  const [site, bucket] = [sites.near, await sites.bucket()];
  const { tenant: _, ...options } = memoryOptions({ site, bucket });
  await using pool = createMemoryPool(options);
  const plain = await plainStore(lab, { site, bucket: await sites.bucket() });
  const team = await Promise.all(
    Array.from({ length: most }, async (_each, at) => ({
      memory: await pool.open(`tenant-${at}`),
      directory: String(at),
      turns: 0,
    })),
  );
  await sideBySide(team, async ({ memory, directory }) => {
    for (let at = 0; at < 3; at++) {
      const [name, file_text] = [`${at}.md`, textOf(at, 0)];
      await command(memory, { command: 'create', path: `/memories/${name}`, file_text });
      await plain.put(plainKey(directory, name), encodeText(file_text), { mode: 'overwrite' });
    }
  });
  const sealed = (count: number): Promise<unknown> =>
    Promise.all(team.slice(0, count).map((agent) => sealedTurn(agent.memory, agent.turns++)));
  await grow(lab, { work: 'a turn of every agent, S3', of: 'agents', sizes: all, run: sealed });
  const [ours, raw] = ['sealed memory', 'plain GET and PUT'];
  const rounds = await inTurns([raw, ours], lab.isQuick ? 3 : 7, (name, round) =>
    costOf(async () => {
      if (name === ours) return sealed(most);
      return Promise.all(team.map(({ directory }) => plainTurn(plain, directory, round)));
    }),
  );
  lab.compare({
    work: `a turn of ${most} agents, S3`,
    reference: raw,
    time: 'wall',
    rounds: rounds.slice(1),
  });
}
