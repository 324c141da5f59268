import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openMemory } from '../src/open/open-memory.ts';
import { type Lab, temporaryFolder } from './lab.ts';
import type { Cost } from './report/row.ts';
import { costOf, inTurns } from './rounds.ts';
import type { FindSites, Site } from './sites.ts';
import { ROOT_KEY } from './stores.ts';

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));
const TEXT = 'one line of what an agent remembers\n'.repeat(10);
const DIRECTORY = '/memories/notes';
const SINGLE = 'one transaction a file';
const AGAIN = 'the same import again';
const run = promisify(execFile);

/** The command line on many files: as a person waits for it, from the start of the program to its end. */
export async function manyFiles(lab: Lab, findSites: FindSites): Promise<void> {
  await intoSqlite(lab);
  const sites = await findSites(lab);
  if (sites === undefined) return;
  for (const site of sites.all) await throughS3(lab, site, await sites.bucket());
}

/** A folder of so many files, and a way to run a verb there. */
async function ground(lab: Lab, files: number, store: Readonly<Record<string, string>>) {
  const folder = await temporaryFolder(lab);
  const from = join(folder, 'in');
  await mkdir(from);
  const names = Array.from({ length: files }, (_, at) => `${at}.md`);
  for (const name of names) await writeFile(join(from, name), `${name}\n${TEXT}`);
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, SEALED_MEMORY_ROOT_KEY: ROOT_KEY, ...store };
  const verb = async (tenant: string, ...args: readonly string[]): Promise<void> => {
    const tenantEnv = { ...env, SEALED_MEMORY_TENANT: tenant };
    await run(process.execPath, [MAIN, ...args], { env: tenantEnv, cwd: folder, maxBuffer: 64 * 1_048_576 });
  };
  return { folder, from, names, verb };
}

/** One file after the other, each a transaction of its own, beside an import. */
async function intoSqlite(lab: Lab): Promise<void> {
  const files = lab.isQuick ? 500 : 2_000;
  const { folder, from, names, verb } = await ground(lab, files, {
    SEALED_MEMORY_STORE: 'sqlite:memory.db',
  });
  const again = new Map<number, Cost>();
  const tenantOf = (round: number): string => `round-${round}`;
  const imported = (round: number): Promise<void> => verb(tenantOf(round), 'import', from, DIRECTORY);
  const contestants: Readonly<Record<string, (round: number) => Promise<void>>> = {
    [SINGLE]: async (round) => {
      const store = `sqlite:${join(folder, 'single.db')}`;
      await using memory = await openMemory({ store, tenant: tenantOf(round), rootKey: ROOT_KEY });
      for (const name of names) {
        const content = await readFile(join(from, name));
        await memory.files.write(`${DIRECTORY}/${name}`, content, { mode: 'create' });
      }
    },
    import: imported,
  };
  const rounds = await inTurns(Object.keys(contestants), lab.isQuick ? 2 : 3, async (name, round) => {
    const cost = await costOf(async () => contestants[name]?.(round));
    if (name === 'import') again.set(round, await costOf(() => imported(round)));
    return cost;
  });
  lab.compare({
    work: `import ${files} files into sqlite:`,
    reference: SINGLE,
    time: 'wall',
    rounds: rounds.map((round, at) => new Map([...round, [AGAIN, again.get(at) ?? {}]])),
    goals: { import: 0.15 },
  });
}

/** Each verb that reads or writes every file, beside the one that reads all of them to verify them. */
async function throughS3(lab: Lab, site: Site, bucket: string): Promise<void> {
  const files = lab.isQuick ? 100 : 500;
  const { endpoint, region, accessKeyId, secretAccessKey } = site.server;
  const { folder, from, verb } = await ground(lab, files, {
    SEALED_MEMORY_STORE: `s3://${bucket}`,
    SEALED_MEMORY_S3_ENDPOINT: endpoint,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  });
  await verb('filled', 'import', from, DIRECTORY);
  const out = (round: number): string => join(folder, `out-${round}`);
  const exported = (round: number): Promise<void> => verb('filled', 'export', DIRECTORY, out(round));
  const imported = (round: number): Promise<void> => verb(`round-${round}`, 'import', from, DIRECTORY);
  const verbs: Readonly<Record<string, (round: number) => Promise<void>>> = {
    verify: () => verb('filled', 'verify'),
    grep: () => verb('filled', 'grep', '^[0-9]+[.]md', DIRECTORY),
    export: exported,
    'export again': exported,
    import: imported,
    'import again': imported,
    'rm -r': (round) => verb(`round-${round}`, 'rm', '-r', DIRECTORY),
  };
  const rounds: Map<string, Cost>[] = [];
  for (let round = 0; round < (lab.isQuick ? 2 : 4); round++) {
    const costs = new Map<string, Cost>();
    // In one order: what comes again follows on what came first.
    for (const [name, work] of Object.entries(verbs)) costs.set(name, await costOf(() => work(round)));
    rounds.push(costs);
  }
  const work = `${files} files, ${site.title}`;
  lab.compare({
    work,
    reference: 'verify',
    time: 'wall',
    rounds,
    goals: { grep: 1.5, export: 1.5, 'export again': 1.5, import: 3 },
  });
  lab.compare({
    work: `${work}, again`,
    reference: 'import',
    time: 'wall',
    rounds: rounds.map((costs) => new Map([...costs].filter(([name]) => name.startsWith('import')))),
    goals: { 'import again': 1 },
  });
}
