import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { parse } from 'smol-toml';
import { misconfigured } from '../../errors.ts';
import { KMS_SCHEME } from '../../keys/kms/kms-key-arn.ts';
import {
  CONFIG_VARIABLE,
  type Environment,
  optionsFromEnvironment,
  PROFILE_NAME_VARIABLE,
  processEnvironment,
  setClientVariables,
  VARIABLES,
} from '../../open/options/environment.ts';
import { adviceFor } from '../../open/options/known-names.ts';
import { OPTION_TABLE } from '../../open/options/option-table.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import { typedName, withOrigin } from '../../open/options/origins.ts';
import { nameFileCode } from '../../store/failures.ts';
import { parseStoreLocation, type S3Options, type StoreLocation } from '../../store/open-store.ts';
import type { Flags, Invocation } from './invocation.ts';

/** The folder of a project that `init` makes: the root key and the embedded store. */
export const PROJECT_FOLDER = '.sealed-memory';
export const CONFIG_NAME = 'config.toml';
/** Settings of a project, in the folder that a verb runs in. */
export const DOT_ENV = '.env';

const ROOT_KEY = 'SEALED_MEMORY_ROOT_KEY';
export const ROOT_KEY_FILE = 'SEALED_MEMORY_ROOT_KEY_FILE';
const EVENTS_FILE = 'SEALED_MEMORY_EVENTS_FILE';
const STORE = 'SEALED_MEMORY_STORE';
const TENANT = 'SEALED_MEMORY_TENANT';
const FILE_LIMIT = 'SEALED_MEMORY_MAX_FILE_BYTES';
const MAX_CONFIG_LENGTH = 65_536;

/** The surroundings of the program. */
export interface Surroundings {
  readonly env: Environment;
  readonly cwd: string;
  readonly home: string;
}

const surroundings = (): Surroundings => ({
  env: processEnvironment(),
  cwd: process.cwd(),
  home: homedir(),
});

/**
 * The options of a verb. Each setting is taken from the first of these that has it: flags, environment, `.env` in the
 * current folder, the profile of the configuration file. A profile that a flag or the environment names comes before
 * `.env`: whoever names one means it, and `init` writes a `.env` that has the store and the tenant already.
 *
 * @throws MemoryError `misconfigured` that names every setting that is missing, or the one that is wrong.
 */
export function readOptions(
  { flags, logger }: Pick<Invocation, 'flags' | 'logger'>,
  overrides: Partial<MemoryOptions> = {},
): MemoryOptions {
  const env = readEnvironment(flags);
  setClientVariables(env);
  const options: Partial<MemoryOptions> = optionsFromEnvironment(env, { logger, ...overrides });
  const missing = [
    ...(options.store === undefined ? [`the store (--store or ${STORE})`] : []),
    ...(options.tenant === undefined ? [`the tenant (--tenant or ${TENANT})`] : []),
    ...(options.rootKey === undefined ? [`the root key (--root-key-file or ${ROOT_KEY_FILE})`] : []),
  ];
  if (missing.length > 0) {
    throw misconfigured(`not set: ${missing.join(', ')}. "sealed-memory init" sets all of them.`);
  }
  return options as MemoryOptions;
}

/**
 * Reads the store alone, for a verb that needs neither a tenant nor a root key. @throws MemoryError `misconfigured`.
 */
export function readStore({ flags, logger }: Pick<Invocation, 'flags' | 'logger'>): {
  readonly location: StoreLocation;
  readonly s3: S3Options;
  readonly credentials: MemoryOptions['credentials'];
} {
  const options = optionsFromEnvironment(readEnvironment(flags), { logger, rootKey: [] });
  const { store, s3 = {}, credentials } = options;
  if (typeof store !== 'string') {
    throw misconfigured('not set: the store (--store or SEALED_MEMORY_STORE). "sealed-memory init" sets it.');
  }
  return { location: parseStoreLocation(store, 'store'), s3, credentials };
}

/** A root key with which the settings of tenants are judged where none is configured; nothing is opened with it. */
const STAND_IN = new Uint8Array(32);

/**
 * Reads where the settings of tenants lie, and the options that they take the place of, for a verb that opens no store.
 *
 * @throws MemoryError `misconfigured`.
 */
export function readTenantsOptions({ flags, logger }: Pick<Invocation, 'flags' | 'logger'>): {
  readonly tenants: string;
  readonly tenant: string | undefined;
  readonly options: Partial<MemoryOptions>;
} {
  const env = readEnvironment(flags);
  setClientVariables(env);
  const given: Partial<MemoryOptions> = optionsFromEnvironment(env, { logger });
  const { tenants, tenant, store = 'memory:', rootKey = STAND_IN, ...rest } = given;
  if (typeof tenants === 'string') return { tenants, tenant, options: { ...rest, store, rootKey } };
  throw misconfigured(
    'not set: where the settings of tenants lie (SEALED_MEMORY_TENANTS), file:PATH or dynamodb:TABLE.',
  );
}

/** Reads the options for a verb on files, and refuses a store that ends with the process: nobody expects it there. */
export function readMemoryOptions(invocation: Invocation): MemoryOptions {
  const options = readOptions(invocation);
  if (options.store === 'memory:') invocation.terminal.note('memory: nothing stays when this command ends.');
  return options;
}

/** Reads the most bytes of one file, for a verb that needs no store. @throws MemoryError `misconfigured`. */
export function readFileLimit({ flags }: Pick<Invocation, 'flags'>): number {
  const env = readEnvironment(flags);
  const limit = withOrigin({ [FILE_LIMIT]: env[FILE_LIMIT] }, () => typedName(env, FILE_LIMIT));
  return optionsFromEnvironment(limit).limits?.fileBytes ?? OPTION_TABLE['limits.fileBytes'].fallback;
}

/** Joins the settings of all sources into one environment, which knows where each was typed. */
export function readEnvironment(flags: Flags, around: Surroundings = surroundings()): Environment {
  const dotEnv = readDotEnv(around.cwd);
  const flagged = flagsAsEnvironment(flags);
  const typed = layer(flagged, around.env);
  const given = layer(typed, dotEnv);
  const profile = readProfile(given, around);
  const isAskedFor = typed[PROFILE_NAME_VARIABLE] !== undefined || typed[CONFIG_VARIABLE] !== undefined;
  const { settings } = profile;
  const all = isAskedFor ? layer(typed, layer(settings, dotEnv)) : layer(given, settings);
  return withOrigin({ ...all }, (variable) => {
    if (flagged[variable]) return FLAG_NAMES[variable];
    if (around.env[variable]) return undefined;
    const isOfDotEnv = dotEnv[variable] && !(isAskedFor && settings[variable]);
    return isOfDotEnv ? `${variable} in ${DOT_ENV}` : profile.nameOf(variable);
  });
}

/**
 * Lays `upper` over `lower`. A root key in the upper one also hides the file of a root key in the lower one, and a file
 * hides a key.
 */
function layer(upper: Environment, lower: Environment): Environment {
  const present = Object.entries(upper).filter(([, value]) => value !== undefined && value !== '');
  const hidden = present.some(([name]) => name === ROOT_KEY || name === ROOT_KEY_FILE)
    ? [ROOT_KEY, ROOT_KEY_FILE]
    : [];
  const rest = Object.entries(lower).filter(([name]) => !hidden.includes(name));
  return Object.fromEntries([...rest, ...present]);
}

/** The flag that stands for a variable. */
const FLAG_NAMES: Readonly<Record<string, string>> = {
  [STORE]: '--store',
  [TENANT]: '--tenant',
  [ROOT_KEY_FILE]: '--root-key-file',
  SEALED_MEMORY_MOUNTS: '--mount',
  SEALED_MEMORY_READ_ONLY: '--read-only',
  SEALED_MEMORY_POLICY: '--policy',
  [FILE_LIMIT]: '--max-file-bytes',
  SEALED_MEMORY_MAX_FILES: '--max-files',
  SEALED_MEMORY_MAX_TENANT_BYTES: '--max-tenant-bytes',
  [EVENTS_FILE]: '--events',
  [PROFILE_NAME_VARIABLE]: '--profile-name',
};

/** @throws MemoryError `misconfigured` for a flag without a value, as a shell makes of a variable that is not set. */
function flagsAsEnvironment(flags: Flags): Environment {
  const env: Environment = {
    [STORE]: flags.store,
    [TENANT]: flags.tenant,
    [ROOT_KEY_FILE]: flags.rootKeyFile,
    SEALED_MEMORY_MOUNTS: flags.mount?.join(','),
    SEALED_MEMORY_READ_ONLY: flags.readOnly === true ? '1' : undefined,
    SEALED_MEMORY_POLICY: flags.policy,
    [FILE_LIMIT]: flags.maxFileBytes,
    SEALED_MEMORY_MAX_FILES: flags.maxFiles,
    SEALED_MEMORY_MAX_TENANT_BYTES: flags.maxTenantBytes,
    [EVENTS_FILE]: flags.events,
    [PROFILE_NAME_VARIABLE]: flags.profileName,
  };
  const empty = Object.keys(env).find((variable) => env[variable] === '');
  if (empty === undefined) return env;
  throw misconfigured(`${FLAG_NAMES[empty]} has no value: write one after it, or leave the flag out.`);
}

/** Reads from `.env` only the variables of this program and of AWS. */
function readDotEnv(cwd: string): Environment {
  const text = readText(join(cwd, DOT_ENV), 'The file .env');
  const entries = Object.entries(text === undefined ? {} : parseEnv(text));
  return Object.fromEntries(entries.filter(([name]) => /^(SEALED_MEMORY|AWS)_/.test(name)));
}

/** The settings of a profile by their variables, and how they stand in the file. */
interface ProfileSettings {
  readonly settings: Environment;
  readonly nameOf: (variable: string) => string | undefined;
}

const NO_PROFILE: ProfileSettings = { settings: {}, nameOf: () => undefined };

/** Reads the chosen profile of the configuration file. */
function readProfile(env: Environment, around: Surroundings): ProfileSettings {
  const chosen = env[PROFILE_NAME_VARIABLE] || undefined;
  const found = findConfig(env, around);
  if (found === undefined) {
    if (chosen === undefined) return NO_PROFILE;
    throw misconfigured(
      `The profile "${chosen}" was asked for, and there is no configuration file: write one at ${join(PROJECT_FOLDER, CONFIG_NAME)}.`,
    );
  }
  const profiles = parseConfig(found.text);
  const name = chosen ?? 'default';
  const profile = profiles[name];
  if (profile === undefined && chosen !== undefined) {
    throw misconfigured(
      `The configuration file has no profile "${chosen}"; it has ${Object.keys(profiles).join(', ') || 'none'}.`,
    );
  }
  const settings = settingsOf(profile ?? {}, found.folder);
  const nameOf = (variable: string): string | undefined =>
    settings[variable] === undefined
      ? undefined
      : `${variable.slice('SEALED_MEMORY_'.length).toLowerCase()} of the profile "${name}" in ${found.file}`;
  return { settings, nameOf };
}

function findConfig(env: Environment, { cwd, home }: Surroundings) {
  const named = env[CONFIG_VARIABLE] || undefined;
  const userFolder = env['XDG_CONFIG_HOME'] || join(home, '.config');
  const paths =
    named === undefined
      ? [join(cwd, PROJECT_FOLDER, CONFIG_NAME), join(userFolder, 'sealed-memory', CONFIG_NAME)]
      : [resolve(cwd, named)];
  for (const path of paths) {
    const text = readText(path, 'The configuration file');
    if (text !== undefined) return { text, folder: dirname(path), file: basename(path) };
  }
  if (named !== undefined) throw misconfigured(`The file named by ${CONFIG_VARIABLE} does not exist.`);
  return undefined;
}

type Profile = Readonly<Record<string, unknown>>;

function parseConfig(text: string): Readonly<Record<string, Profile>> {
  let tables: Readonly<Record<string, unknown>>;
  try {
    tables = parse(text);
  } catch {
    // The parser's message quotes the line.
    throw misconfigured('The configuration file is not TOML.');
  }
  for (const [name, table] of Object.entries(tables)) {
    if (typeof table !== 'object' || table === null || Array.isArray(table)) {
      throw misconfigured(
        `The configuration file has "${name}" outside of a profile: put it below a line such as [default].`,
      );
    }
  }
  return tables as Readonly<Record<string, Profile>>;
}

/**
 * Turns a profile into variables: `max_file_bytes` is SEALED_MEMORY_MAX_FILE_BYTES. Relative paths begin at the file's
 * folder.
 */
function settingsOf(profile: Profile, folder: string): Environment {
  const at = (path: string): string => (isAbsolute(path) ? path : join(folder, path));
  return Object.fromEntries(
    Object.entries(profile).map(([name, value]) => {
      const variable = `SEALED_MEMORY_${name.toUpperCase()}`;
      if (name !== name.toLowerCase() || !VARIABLES.includes(variable)) {
        const names = VARIABLES.map((each) => each.slice('SEALED_MEMORY_'.length).toLowerCase());
        throw misconfigured(
          `"${name}" is no setting of the configuration file. ${adviceFor(name, { known: names })}`,
        );
      }
      if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
        throw misconfigured(`"${name}" of the configuration file must be a text, a number, true or false.`);
      }
      const text = String(value);
      if (variable === ROOT_KEY && !text.startsWith(KMS_SCHEME)) {
        throw misconfigured(
          'The configuration file is no place for a root key: name its file as root_key_file.',
        );
      }
      if (variable === ROOT_KEY_FILE || variable === EVENTS_FILE) return [variable, at(text)];
      return [variable, text.replace(/^(sqlite|file):(.+)$/s, (_, kind, path) => `${kind}:${at(path)}`)];
    }),
  );
}

function readText(path: string, what: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = nameFileCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw misconfigured(`${what} cannot be read (${code}).`);
  }
  if (text.length > MAX_CONFIG_LENGTH) throw misconfigured(`${what} is too large.`);
  return text;
}
