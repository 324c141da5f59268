import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { stringify } from 'smol-toml';
import { misconfigured } from '../../errors.ts';
import { processEnvironment } from '../../open/environment.ts';
import { createRootKeyFile } from '../../open/root-keys.ts';
import { fileCodeOf, redactedFileCause } from '../../store/failures.ts';
import type { Invocation } from './invocation.ts';
import { CONFIG_NAME, PROJECT_FOLDER } from './settings.ts';

const NAME = 'sealed-memory';

/**
 * Makes what every other verb needs: a root key file (mode 0600) and a configuration file with the store and the tenant,
 * both in the project's folder unless the flags say otherwise. Nothing that is there is changed.
 *
 * @throws MemoryError `misconfigured` when the key file or the configuration file exists, or one cannot be written.
 */
export async function runInit({ flags, report }: Invocation): Promise<number> {
  const config = join(PROJECT_FOLDER, CONFIG_NAME);
  if (existsSync(config)) {
    throw misconfigured(`There is a configuration file already (${config}); it is never overwritten.`);
  }
  const keyFile = flags.rootKeyFile ?? join(PROJECT_FOLDER, 'root.key');
  const { store = 'sqlite:store.sqlite', tenant = 'my-agent' } = flags;
  createRootKeyFile(keyFile, `${randomBytes(32).toString('base64')}\n`);
  const profile = { store: storeIn(store), tenant, root_key_file: fromProjectFolder(keyFile) };
  writeNewFiles({ config, profile });
  const name = programName();
  await report.done({ keyFile: resolve(keyFile), config: resolve(config) }, [
    `Root key:      ${keyFile}; only you may read it`,
    `Configuration: ${config}`,
    `Store:         ${flags.store ?? `sqlite:${join(PROJECT_FOLDER, 'store.sqlite')}`}`,
    `Tenant:        ${tenant}`,
    '',
    'Keep a copy of the key in a safe place: without it nothing that is stored under it can be read again.',
    '',
    'Next:',
    `  ${name} doctor                                 # is everything well?`,
    `  ${name} put --text 'hello' /memories/hello.md  # the first file`,
    `  ${name} ls -l`,
  ]);
  return 0;
}

/** The default store lies beside the configuration; one that was given is meant from the current folder. */
function storeIn(store: string): string {
  return store.replace(
    /^sqlite:(?!store\.sqlite$)(.+)$/s,
    (_, path: string) => `sqlite:${fromProjectFolder(path)}`,
  );
}

function fromProjectFolder(path: string): string {
  return isAbsolute(path) ? path : relative(PROJECT_FOLDER, path);
}

function writeNewFiles({
  config,
  profile,
}: {
  readonly config: string;
  readonly profile: Readonly<Record<string, string>>;
}): void {
  const header = '# Settings of sealed-memory; a profile of another name is chosen with --profile-name.\n';
  try {
    mkdirSync(dirname(config), { recursive: true, mode: 0o700 });
    writeFileSync(config, `${header}${stringify({ default: profile })}\n`, { flag: 'wx', mode: 0o600 });
    // Neither the key nor the store is for a repository.
    writeFileSync(join(dirname(config), '.gitignore'), '*\n');
  } catch (error) {
    throw misconfigured(
      `The configuration file cannot be written (${fileCodeOf(error) ?? 'unknown error'}).`,
      redactedFileCause(error),
    );
  }
}

/** What the user types to call the program again: the printed lines are to be run. */
function programName(env = processEnvironment()): string {
  const isFound = (env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, NAME)));
  // Of npx itself the folder of the package is on the path, for as long as it runs.
  return isFound && env['npm_command'] !== 'exec' ? NAME : `npx ${NAME}`;
}
