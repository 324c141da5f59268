import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import hosts from '../units/hosts/package.json' with { type: 'json' };
import { OLDEST } from './oldest.ts';

// npm run prove peers: both ends of what package.json lets in as a peer. The packed file is installed into empty
// projects beside the oldest of all peers, and into one beside the newest that are pinned here; npm refuses nothing,
// and every entry point can be imported. Then the sources are compiled and the suites run with the oldest. With the
// newest the usual run does.
//
// The lock files in the folders beside, and of test/units/hosts, name what else is installed, so that no release of
// others changes an outcome. Where a range changes, the package.json there follows, and then `npm install
// --package-lock-only --strict-peer-deps --ignore-scripts`.

interface Project {
  readonly name: string;
  /** The folder from which its package.json and lock file are copied. */
  readonly from: string;
  /** Installed beside what stands there. */
  readonly more: readonly string[];
  readonly peers: readonly string[];
}

const PEERS = Object.keys(manifest.peerDependencies);
const ROOT_MODULES = resolve('node_modules');
/** The parts of a checkout that are no packages: the sources, the tests, and what those read. */
const SOURCES = [
  ...['src', 'test', 'examples', 'infra', 'bench', 'docs', 'package.json', 'tsconfig.json'],
  ...['README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE'],
];
const NPM = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'];

function newest(): Project {
  const pinned: Readonly<Record<string, string>> = manifest.devDependencies;
  const more = PEERS.filter((name) => !(name in hosts.dependencies));
  return {
    name: 'the newest peers',
    from: 'test/units/hosts',
    more: more.map((name) => `${name}@${pinned[name]}`),
    peers: PEERS,
  };
}

/** @throws With what npm said. */
async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', [...args, ...NPM], { cwd }).catch(
    (error: { readonly stderr?: string }) => {
      throw new Error(`"npm ${args.join(' ')}" failed in ${cwd}:\n${error.stderr}`);
    },
  );
  return stdout;
}

/** @returns The `node_modules` of the project. @throws When npm refuses, or an entry point cannot be imported. */
async function install(
  { name, from, more, peers }: Project,
  place: string,
  tarball: string,
): Promise<string> {
  const begun = performance.now();
  await mkdir(place);
  for (const file of ['package.json', 'package-lock.json']) await cp(join(from, file), join(place, file));
  await npm(place, 'install', '--strict-peer-deps', '--save-exact', tarball, ...more);
  await importEntryPoints(place, peers);
  const versions = await Promise.all(peers.map(async (peer) => `  ${peer} ${await versionOf(place, peer)}`));
  const seconds = Math.round((performance.now() - begun) / 1000);
  console.log(`\nInstalled beside ${name}, nothing refused, in ${seconds} s:\n${versions.join('\n')}`);
  return join(place, 'node_modules');
}

async function versionOf(place: string, name: string): Promise<string> {
  const text = await readFile(join(place, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** An entry point whose own peers are in another project is left to that one. */
async function importEntryPoints(place: string, peers: readonly string[]): Promise<void> {
  const missing = PEERS.filter((name) => !peers.includes(name));
  const names = Object.keys(manifest.exports).filter((subpath) => subpath !== './package.json');
  const script = `
    const missing = ${JSON.stringify(missing)};
    for (const name of ${JSON.stringify(names)}) {
      await import(name.replace(/^\\./, '${manifest.name}')).catch((error) => {
        if (!missing.some((peer) => String(error.message).includes(\`'\${peer}'\`))) throw error;
      });
    }`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { cwd: place });
}

/**
 * A copy of this checkout whose peers are those of the projects, the first that has one; all else is linked as it is.
 */
async function checkOut(place: string, modules: readonly string[]): Promise<void> {
  await mkdir(place);
  const isSource = (path: string): boolean => !/\/(node_modules|__pycache__)(\/|$)/.test(path);
  for (const name of SOURCES) {
    await cp(name, join(place, name), { recursive: true, filter: isSource });
  }
  const linked = new Set<string>();
  const link = async (name: string, target: string): Promise<void> => {
    if (linked.has(name)) return;
    linked.add(name);
    const path = join(place, 'node_modules', name);
    await mkdir(dirname(path), { recursive: true });
    await symlink(target, path);
  };
  for (const [i, { dependencies }] of OLDEST.entries()) {
    for (const name of Object.keys(dependencies)) await link(name, join(modules[i] ?? '', name));
  }
  for (const name of await packagesIn(ROOT_MODULES))
    await link(name, await realpath(join(ROOT_MODULES, name)));
}

async function packagesIn(modules: string): Promise<readonly string[]> {
  const names = (await readdir(modules)).filter((name) => !name.startsWith('.'));
  const found = names.map(async (name) => {
    if (!name.startsWith('@')) return [name];
    return (await readdir(join(modules, name))).map((inner) => `${name}/${inner}`);
  });
  return (await Promise.all(found)).flat();
}

async function passes(title: string, cwd: string, args: readonly string[]): Promise<boolean> {
  console.log(`\n${title}`);
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0;
}

async function main(): Promise<void> {
  await lstat('dist/index.js').catch(() => {
    throw new Error('There is no dist/index.js to pack: run "npm run build" first.');
  });
  const folder = await mkdtemp(join(tmpdir(), 'sealed-memory-peers-'));
  try {
    const packed = await npm('.', 'pack', '--json', '--pack-destination', folder);
    const tarball = join(folder, (JSON.parse(packed) as [{ readonly filename: string }])[0].filename);
    const oldest = OLDEST.map(({ folder: from, dependencies }) => ({
      name: `the oldest peers of ${from}`,
      from,
      more: [],
      peers: PEERS.filter((name) => name in dependencies),
    }));
    const [, ...modules] = await Promise.all(
      [newest(), ...oldest].map((project, i) => install(project, join(folder, `project-${i}`), tarball)),
    );
    const checkout = join(folder, 'checkout');
    await checkOut(checkout, modules);
    const types = ['node_modules/typescript/bin/tsc', '-p', 'test/peers'];
    const suites = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/peers/vitest.config.ts'];
    const compiled = await passes('The sources, compiled beside the oldest peers', checkout, types);
    const ran = await passes('The suites with the oldest peers', checkout, suites);
    if (!compiled || !ran) process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
