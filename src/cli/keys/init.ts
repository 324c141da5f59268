import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join, relative, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { Command } from 'commander';
import { stringify } from 'smol-toml';
import { misconfigured } from '../../errors.ts';
import { createRootKeyFile, parseRootKeys, readRootKeyFile } from '../../keys/root-keys.ts';
import { processEnvironment } from '../../open/options/environment.ts';
import { nameFileCode, redactedFileCause } from '../../store/failures.ts';
import type { ChosenVerb, Invocation } from '../run/invocation.ts';
import { CONFIG_NAME, DOT_ENV, PROJECT_FOLDER } from '../run/settings.ts';

const NAME = 'sealed-memory';
const GIT_IGNORE = '.gitignore';

/** Names the configuration file of the project. */
function configFile(): string {
  return join(PROJECT_FOLDER, CONFIG_NAME);
}

/** Settings by their names in a profile of the configuration file; `.env` has them as `SEALED_MEMORY_…`. */
type NewSettings = Readonly<Record<'store' | 'tenant' | 'root_key_file', string>>;

/** Declares `init`. */
export function declareInit(program: Command, run: ChosenVerb<typeof runInit>): void {
  program
    .command('init')
    .description('make a root key, and a .env with the settings; never overwrites one')
    .action(() => run());
}

/**
 * Makes what every other verb and every sample needs: a root key file (mode 0600), and the store, the tenant and that
 * file as settings in `.env` (mode 0600, ignored by git). A root key that is there without such settings, as after a
 * `.env` was lost, is the one that they name. In the home folder, whose `.env` no program should find, the settings go
 * to a configuration file. Nothing that is there is changed: the lines for a `.env` that exists are printed.
 *
 * @throws MemoryError `misconfigured` when such settings exist, what lies at the place of the key is none, or a file
 * cannot be written.
 */
export async function runInit({ flags, report }: Invocation): Promise<number> {
  refuseSecond();
  const { rootKeyFile = join(PROJECT_FOLDER, 'root.key'), tenant = 'my-agent' } = flags;
  const { store = `sqlite:${join(PROJECT_FOLDER, 'store.sqlite')}` } = flags;
  const settings: NewSettings = { store, tenant, root_key_file: rootKeyFile };
  const lines = envLines(settings);
  const isKept = existsSync(rootKeyFile);
  if (isKept) parseRootKeys([readRootKeyFile(rootKeyFile, '--root-key-file')], 'the file of the root key');
  else createRootKeyFile(rootKeyFile, `${randomBytes(32).toString('base64')}\n`);
  const place = writeSettings(settings, lines);
  const name = programName();
  await report.done({ keyFile: resolve(rootKeyFile), settings: place && resolve(place), lines }, [
    `Root key: ${rootKeyFile}; ${isKept ? 'it was there already, and stays' : 'only you may read it'}`,
    `Settings: ${place ?? `yours to add to ${DOT_ENV}, which is there already`}`,
    `Store:    ${store}`,
    `Tenant:   ${tenant}`,
    '',
    'Keep a copy of the key in a safe place: without it nothing that is stored under it can be read again.',
    ...(place === undefined ? ['', `Add these lines to ${DOT_ENV}:`, ...lines] : []),
    '',
    'Next:',
    `  ${name} doctor                                 # is everything well?`,
    `  ${name} put --text 'hello' /memories/hello.md  # the first file`,
    `  ${name} ls -l`,
    ...(place === configFile() ? [] : ['', `Programs of yours: node --env-file=${DOT_ENV} program.mjs`]),
  ]);
  return 0;
}

/** Refuses to make a second root key beside the first: it would open nothing that the first has sealed. */
function refuseSecond(): void {
  const text = existsSync(DOT_ENV) ? readFileSync(DOT_ENV, 'utf8') : '';
  const found = existsSync(configFile())
    ? configFile()
    : Object.keys(parseEnv(text)).some(isOfInit) && DOT_ENV;
  if (found)
    throw misconfigured(
      `There are settings already (${found}), and they are never overwritten: "sealed-memory doctor" tries them; where the key file is lost, put its copy back; to begin anew, take the settings out of ${found}.`,
    );
}

function isOfInit(variable: string): boolean {
  return /^SEALED_MEMORY_(STORE|TENANT|ROOT_KEY|ROOT_KEY_FILE)$/.test(variable);
}

function envLines(settings: NewSettings): readonly string[] {
  return Object.entries(settings).map(
    ([name, value]) => `SEALED_MEMORY_${name.toUpperCase()}=${quoted(value)}`,
  );
}

/**
 * Quotes a value so that a shell, Node and this program read it alike. @throws MemoryError `misconfigured` for a value
 * that no kind of quotes carries.
 */
function quoted(value: string): string {
  if (/^[\w./:@%+,-]+$/.test(value)) return value;
  if (!/['\n\r]/.test(value)) return `'${value}'`;
  if (!/["$`\\\n\r]/.test(value)) return `"${value}"`;
  throw misconfigured(
    `A ${DOT_ENV} cannot hold this store or key file: choose a path without quotes and line breaks.`,
  );
}

/** Answers with the file that holds the settings; undefined where the user has to add them. */
function writeSettings(settings: NewSettings, lines: readonly string[]): string | undefined {
  try {
    mkdirSync(PROJECT_FOLDER, { recursive: true, mode: 0o700 });
    // Neither the key nor the store is for a repository.
    writeFileSync(join(PROJECT_FOLDER, GIT_IGNORE), '*\n');
    if (isHome()) {
      const header =
        '# Settings of sealed-memory; a profile of another name is chosen with --profile-name.\n';
      writeNew(configFile(), `${header}${stringify({ default: fromProjectFolder(settings) })}\n`);
      return configFile();
    }
    if (existsSync(DOT_ENV)) return undefined;
    writeNew(
      DOT_ENV,
      `# Settings of sealed-memory: node --env-file=${DOT_ENV} hands them to a program.\n${lines.join('\n')}\n`,
    );
    ignoreDotEnv();
    return DOT_ENV;
  } catch (error) {
    throw misconfigured(`The settings cannot be written (${nameFileCode(error)}).`, redactedFileCause(error));
  }
}

function writeNew(path: string, text: string): void {
  writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
}

function isHome(): boolean {
  return existsSync(homedir()) && realpathSync(homedir()) === realpathSync('.');
}

/** Makes the paths of settings relative to the project folder, from which a configuration file's paths are read. */
function fromProjectFolder({ store, tenant, root_key_file }: NewSettings): NewSettings {
  const seen = (path: string): string => (isAbsolute(path) ? path : relative(PROJECT_FOLDER, path));
  return {
    store: store.replace(/^sqlite:(.+)$/s, (_, path: string) => `sqlite:${seen(path)}`),
    tenant,
    root_key_file: seen(root_key_file),
  };
}

/** Tells git to ignore what belongs to this machine alone, unless that is done already. */
function ignoreDotEnv(): void {
  const text = existsSync(GIT_IGNORE) ? readFileSync(GIT_IGNORE, 'utf8') : '';
  if (/^\/?(\.env\*?|\*\.env|\*)\s*$/m.test(text)) return;
  appendFileSync(GIT_IGNORE, `${text === '' || text.endsWith('\n') ? '' : '\n'}${DOT_ENV}\n`);
}

/** Makes the words with which the user calls the program again: the printed lines are to be run. */
function programName(env = processEnvironment()): string {
  const isFound = (env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, NAME)));
  // While npx itself runs, the folder of the package is on the path.
  return isFound && env['npm_command'] !== 'exec' ? NAME : `npx ${NAME}`;
}
