import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle, MOST_EAGER_BYTES, WORKER_ENTRY } from '../infra/bundle.ts';
import { openMemory, optionsFromEnvironment } from '../src/index.ts';
import { openS3ObjectStore } from '../src/store/s3/s3-store.ts';
import { type Lab, temporaryFolder } from './lab.ts';
import { inTurns } from './rounds.ts';
import type { FindSites, Sites } from './sites.ts';

interface Contestant {
  readonly name: string;
  readonly file: string;
  /** The most that its start may take, as a ratio to the empty process's; absent: told for information. */
  readonly goal?: number;
}

type Environment = Readonly<Record<string, string>>;

const ROUNDS = 41;
const MOST_LIBRARY_BYTES = 150_000;
const LIBRARY = fileURLToPath(new URL('../src/index.ts', import.meta.url));
const FIRST_FILE = fileURLToPath(new URL('first-file.ts', import.meta.url));
const FIRST_GETS = fileURLToPath(new URL('first-gets.ts', import.meta.url));
const WARM_TENANTS = fileURLToPath(new URL('warm-tenants.ts', import.meta.url));
const FILE = { command: 'create', path: '/memories/notes.md', file_text: 'one line\n'.repeat(200) };

/**
 * From the start of a process to its first decrypted file, how much is read before, and what a warm tenant takes. All
 * programs are bundled the same way.
 */
export async function start(lab: Lab, findSites: FindSites): Promise<void> {
  const folder = await temporaryFolder(lab);
  const made = async (name: string, entry: string) => {
    const home = join(folder, name);
    const { eager } = await bundle({ entry, folder: home });
    return { file: join(home, 'index.mjs'), eager };
  };
  const program = async (name: string, source: string) => {
    const entry = join(folder, `${name}.mjs`);
    await writeFile(entry, source);
    return (await made(name, entry)).file;
  };
  const worker = await made('worker', WORKER_ENTRY);
  const library = await made('library', LIBRARY);
  tellSize(lab, { what: 'worker', bytes: worker.eager, most: MOST_EAGER_BYTES });
  tellSize(lab, { what: 'library', bytes: library.eager, most: MOST_LIBRARY_BYTES });
  const opening = `import { openMemory } from ${JSON.stringify(LIBRARY)};
const memory = await openMemory({ store: 'memory:', tenant: 'bench', rootKey: new Uint8Array(32) });
await memory.execute(${JSON.stringify(FILE)});
await memory.close();`;
  const local: readonly Contestant[] = [
    { name: 'empty process', file: await program('empty', 'export {};\n') },
    { name: 'library, loaded', file: library.file, goal: 2 },
    { name: 'worker, loaded', file: worker.file, goal: 3 },
    { name: 'memory:, a file created', file: await program('memory', opening), goal: 3 },
  ];
  const sites = await findSites(lab);
  if (sites === undefined) return measureStarts(lab, local, {});
  const onS3: readonly Contestant[] = [
    { name: 's3:, the same two GETs by hand', file: (await made('gets', FIRST_GETS)).file },
    { name: 's3:, first file decrypted', file: (await made('file', FIRST_FILE)).file, goal: 3.5 },
  ];
  await measureStarts(lab, [...local, ...onS3], await writtenFile(sites));
  lab.fact(run(['--expose-gc', WARM_TENANTS]).trim());
}

/** A bucket with one file in it, as the environment of a program that reads it. */
async function writtenFile(sites: Sites): Promise<Environment> {
  const { endpoint, region, accessKeyId, secretAccessKey } = sites.near.server;
  const bucket = await sites.bucket();
  const credentials = { accessKeyId, secretAccessKey };
  const environment = {
    SEALED_MEMORY_STORE: `s3://${bucket}`,
    SEALED_MEMORY_TENANT: 'bench',
    SEALED_MEMORY_ROOT_KEY: randomBytes(32).toString('base64'),
    SEALED_MEMORY_S3_ENDPOINT: endpoint,
    SEALED_MEMORY_S3_REGION: region,
  };
  await using memory = await openMemory({ ...optionsFromEnvironment(environment), credentials });
  if ((await memory.execute(FILE)).isError) throw new Error('the file was not created');
  await using store = openS3ObjectStore({ endpoint, region, bucket, credentials });
  const keys: string[] = [];
  for await (const { objects } of store.list({ prefix: '' })) {
    keys.push(...objects.map(({ key }) => key).filter((key) => /^keyrings\/|\/data\//.test(key)));
  }
  return {
    ...environment,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    FIRST_GETS_BUCKET: bucket,
    FIRST_GETS_KEYS: keys.join(' '),
  };
}

/** Starts them in turns, each round in another order. */
async function measureStarts(
  lab: Lab,
  contestants: readonly Contestant[],
  environment: Environment,
): Promise<void> {
  const files = new Map(contestants.map(({ name, file }) => [name, file]));
  const rounds = await inTurns([...files.keys()], 1 + (lab.isQuick ? 5 : ROUNDS), async (name) => {
    const started = performance.now();
    run([files.get(name) ?? ''], environment);
    return { wall: performance.now() - started };
  });
  lab.compare({
    work: 'start of a process',
    reference: contestants[0]?.name ?? '',
    time: 'wall',
    // The first round brings the files into memory.
    rounds: rounds.slice(1),
    goals: Object.fromEntries(
      contestants.flatMap(({ name, goal }) => (goal === undefined ? [] : [[name, goal]])),
    ),
  });
}

/** Standard output of a Node process that must end well. */
function run(args: readonly string[], environment: Environment = {}): string {
  const { status, stdout } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`${args.at(-1)} ended with ${status}`);
  return stdout;
}

function tellSize(
  lab: Lab,
  { what, bytes, most }: { readonly what: string; readonly bytes: number; readonly most: number },
): void {
  const [size, limit] = [bytes, most].map((each) => Math.ceil(each / 1_000));
  lab.fact(
    `the ${what}'s bundle reads ${size} KB at its start, at most ${limit}`,
    bytes <= most ? 'met' : 'missed',
  );
}
