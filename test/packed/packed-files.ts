import { execFileSync } from 'node:child_process';
import manifest from '../../package.json' with { type: 'json' };

/** The scripts that npm runs in a project that installs the package, or takes it from a repository or a folder. */
const RUNS_AT_THE_USERS = ['preinstall', 'install', 'postinstall', 'prepare'];

interface Report {
  readonly files: readonly { readonly path: string }[];
}

/** The paths of the packed file, as `npm pack` or `npm publish` would make it. Nothing is built or sent. */
export function filesOf(command: 'pack' | 'publish'): readonly string[] {
  const args = [command, '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
  const printed = execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  // A list, or, from npm 11 on, an object by the name of the package.
  const [report] = Object.values(JSON.parse(printed) as Readonly<Record<string, Report>>);
  return (report?.files ?? []).map(({ path }) => path);
}

/**
 * Answers what the manifest names and the packed file lacks: targets of entry points and programs, and entries of
 * `files`.
 */
export function missingFrom(paths: readonly string[]): readonly string[] {
  const targets = [...targetsOf(manifest.exports), ...targetsOf(manifest.bin)].map((target) =>
    target.replace('./', ''),
  );
  const entries = manifest.files.filter((entry) => !entry.startsWith('!'));
  return [
    ...targets.filter((target) => !paths.includes(target)),
    ...[...entries, 'README.md', 'LICENSE'].filter(
      (entry) => !paths.some((path) => path === entry || path.startsWith(`${entry}/`)),
    ),
  ];
}

function targetsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return Object.values(value as object).flatMap(targetsOf);
}

export function scriptsAtTheUsers(scripts: object): readonly string[] {
  return Object.keys(scripts).filter((name) => RUNS_AT_THE_USERS.includes(name));
}
