import { misconfigured } from '../../errors.ts';
import { parseRootKeys, readRootKeyFile } from '../../keys/root-keys.ts';
import { refuseUnknownNames } from './known-names.ts';
import { judge, OPTIONS, type OptionRow } from './option-table.ts';
import type { MemoryOptions, MountOptions } from './options.ts';
import { type Origin, typedName, withOrigin } from './origins.ts';

/** Environment variables, as in `process.env`. An empty value counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'SEALED_MEMORY_';
const ROOT_KEY = 'SEALED_MEMORY_ROOT_KEY';
const ROOT_KEY_FILE = 'SEALED_MEMORY_ROOT_KEY_FILE';
const HARNESS = 'SEALED_MEMORY_HARNESS';
const MOUNTS = 'SEALED_MEMORY_MOUNTS';
const MOUNT = /^\s*(\/[^=]+)=([a-z0-9-]+)(:ro)?(?::expires=(true|false))?\s*$/;
/** The variables of the command line alone: its configuration file, and the profile in it. */
export const CONFIG_VARIABLE = 'SEALED_MEMORY_CONFIG';
export const PROFILE_NAME_VARIABLE = 'SEALED_MEMORY_PROFILE_NAME';
/** The names of the worker's variables begin with it. */
const WORKER_PREFIX = 'SEALED_MEMORY_WORKER_';
const WORKER_NAMES = [
  'TENANT_ROLE_ARN',
  'QUEUE_URL',
  'QUEUE_RETENTION_SECONDS',
  'DEAD_LETTER_QUEUE_URL',
  'CUSTOMER_DEAD_LETTER_QUEUE_URL',
  'REPLY_QUEUE_URL',
  'REPLY',
  'MODEL',
  'MAX_TOKENS',
  'MAX_REQUESTS',
  'EFFORT',
  'SYSTEM_PROMPT',
  'TOKENS_PER_DAY',
  'API_KEY_SECRET_ARN',
  'EXPIRE_DRY_RUN',
  'CHECKPOINTS',
  'EXPIRY_QUEUE_URL',
] as const;

/** The rest of the name of a worker's variable. `src/worker/settings.ts` knows what each means. */
type WorkerName = (typeof WORKER_NAMES)[number];

/** The variables of a memory; the worker has its own. */
export const VARIABLES: readonly string[] = [
  ...OPTIONS.flatMap(({ variable }) => variable ?? []),
  ...[ROOT_KEY, ROOT_KEY_FILE, MOUNTS, HARNESS],
];
const KNOWN: ReadonlySet<string> = new Set([
  ...[...VARIABLES, CONFIG_VARIABLE, PROFILE_NAME_VARIABLE],
  ...WORKER_NAMES.map((name) => WORKER_PREFIX + name),
]);

/** Answers the environment of this process. */
export function processEnvironment(): Environment {
  return process.env;
}

/** Sets the variables of AWS and of Vault, which their clients read themselves; those that are set already stay. */
export function setClientVariables(env: Environment): void {
  for (const [name, value] of Object.entries(env)) {
    if (/^(AWS|VAULT)_/.test(name) && !process.env[name]) process.env[name] = value;
  }
}

/**
 * Makes options of the environment and of the root key file that it names. `overrides` come first: an option that they
 * give is not read. No option is required here: `openMemory` says which is missing.
 *
 * @throws MemoryError `misconfigured` for an unknown `SEALED_MEMORY_` name or a malformed value; its sentence names the
 * variable and what was expected, never the value.
 */
export function optionsFromEnvironment(
  env: Environment = process.env,
  overrides: Partial<MemoryOptions> = {},
): MemoryOptions {
  const names = Object.keys(env).filter((name) => name.startsWith(PREFIX));
  refuseUnknownNames(names, { known: KNOWN, listed: VARIABLES, what: 'a setting' });
  readHarness(env);
  const options: Record<string, unknown> = { ...overrides };
  const read = new Map<string, FoundSetting>();
  for (const row of OPTIONS) {
    const [name = '', inner] = row.option.split('.');
    const group: Readonly<Record<string, unknown>> = inner === undefined ? options : Object(options[name]);
    if (group[inner ?? name] !== undefined) continue;
    const found = readVariable(env, row);
    if (found === undefined) continue;
    read.set(row.option, found);
    options[name] = inner === undefined ? found.value : { ...group, [inner]: found.value };
  }
  const lists = {
    ...(overrides.rootKey === undefined && { rootKey: readRootKeys(env) }),
    ...(overrides.mounts === undefined && { mounts: readMounts(env) }),
  };
  for (const [option, found] of Object.entries(lists)) {
    if (found === undefined) continue;
    read.set(option, found);
    options[option] = found.value;
  }
  const origin: Origin = (option, value) => {
    if (value === undefined) return variableOf(option);
    const found = read.get(option);
    // A value that the program put in place of the one read goes by the option's name.
    return found?.value === value ? typedName(env, found.variable) : undefined;
  };
  // The users of the options judge whether one is missing.
  return withOrigin(options, origin, { copied: true }) as object as MemoryOptions;
}

/** Names the variables that set an option. */
function variableOf(option: string): string | undefined {
  if (option === 'rootKey') return `${ROOT_KEY} or ${ROOT_KEY_FILE}`;
  return option === 'mounts' ? MOUNTS : OPTIONS.find((row) => row.option === option)?.variable;
}

/** A value, and the variable that it was read from. */
interface FoundSetting<T = unknown> {
  readonly value: T;
  readonly variable: string;
}

/**
 * Reads the mounts of other tenants in the same store: `/memories/handbook=org:ro:expires=false,/memories/team=team-7`.
 */
function readMounts(env: Environment): FoundSetting<readonly MountOptions[]> | undefined {
  const value = textOf(env, MOUNTS)
    ?.split(',')
    .map((text) => {
      const [, at, tenant, readOnly, expires] = MOUNT.exec(text) ?? [];
      if (at === undefined || tenant === undefined) {
        throw misconfigured(
          `${typedName(env, MOUNTS)} takes a path, = and a tenant, and after them :ro or :expires=false or both, such as /memories/handbook=org:ro:expires=false; several with commas between them.`,
        );
      }
      return {
        at,
        tenant,
        readOnly: readOnly !== undefined,
        ...(expires !== undefined && { expires: expires === 'true' }),
      };
    });
  return value && { value, variable: MOUNTS };
}

/** Tells whether `exec --jsonl` answers the lines of programs that test memories. */
export function readHarness(env: Environment = process.env): boolean {
  return readFlag(env, HARNESS) ?? false;
}

function textOf(env: Environment, name: string): string | undefined {
  return env[name] || undefined;
}

function readVariable(
  env: Environment,
  { option, variable, shared = [], rule }: OptionRow,
): FoundSetting | undefined {
  const others = option === 's3.endpoint' && ignoresSharedEndpoints(env) ? [] : shared;
  const name = [variable, ...others].find((each) => each !== undefined && textOf(env, each) !== undefined);
  return name === undefined ? undefined : { value: readValue(env, name, rule), variable: name };
}

function ignoresSharedEndpoints(env: Environment): boolean {
  return textOf(env, 'AWS_IGNORE_CONFIGURED_ENDPOINT_URLS')?.toLowerCase() === 'true';
}

/** The variables of a worker, each by the rest of its name. */
interface WorkerVariables {
  /** Answers the text of a variable; undefined where it is absent or empty. */
  text(name: WorkerName): string | undefined;
  /** Answers the text of a variable, and tells `what` it is for where it is absent. @throws MemoryError `misconfigured`. */
  requiredText(name: WorkerName, what: string): string;
  /** Reads a whole number within bounds; undefined where it is absent. @throws MemoryError `misconfigured`. */
  number(name: WorkerName, bounds: { readonly least: number; readonly most: number }): number | undefined;
  /** Reads one of some words; undefined where it is absent. @throws MemoryError `misconfigured`. */
  choice<const T extends string>(name: WorkerName, of: readonly T[]): T | undefined;
  /** Reads a yes or no; no where it is absent. @throws MemoryError `misconfigured`. */
  flag(name: WorkerName): boolean;
}

/** Answers the variables of a worker in an environment. */
export function workerVariables(env: Environment): WorkerVariables {
  const text = (name: WorkerName): string | undefined => env[WORKER_PREFIX + name] || undefined;
  const value = (name: WorkerName, rule: OptionRow['rule']): unknown =>
    readValue(env, WORKER_PREFIX + name, rule);
  return {
    text,
    requiredText(name, what) {
      const found = text(name);
      if (found === undefined) throw misconfigured(`${WORKER_PREFIX}${name} is not set: ${what}.`);
      return found;
    },
    number: (name, bounds) => value(name, { kind: 'number', ...bounds }) as number | undefined,
    choice: <const T extends string>(name: WorkerName, of: readonly T[]) =>
      value(name, { kind: 'choice', of }) as T | undefined,
    flag: (name) => (value(name, { kind: 'flag' }) ?? false) as boolean,
  };
}

/**
 * Reads a variable as an option takes it; undefined where the variable is absent. @throws MemoryError `misconfigured`.
 */
function readValue(env: Environment, name: string, rule: OptionRow['rule']): unknown {
  const text = textOf(env, name);
  if (text === undefined) return undefined;
  if (rule.kind === 'flag') return readFlag(env, name);
  if (rule.kind !== 'number') {
    judge(rule, text, typedName(env, name));
    return text;
  }
  const { least, most, scale = 1 } = rule;
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  const label = typedName(env, name);
  judge({ kind: 'number', least: Math.ceil(least / scale), most: Math.floor(most / scale) }, value, label);
  return value * scale;
}

function readFlag(env: Environment, name: string): boolean | undefined {
  const text = textOf(env, name);
  if (text === undefined) return undefined;
  judge({ kind: 'choice', of: ['1', 'true', '0', 'false'] }, text, typedName(env, name));
  return text === '1' || text === 'true';
}

function readRootKeys(env: Environment): FoundSetting<readonly string[]> | undefined {
  const [key, file] = [textOf(env, ROOT_KEY), textOf(env, ROOT_KEY_FILE)];
  const [keyName, fileName] = [typedName(env, ROOT_KEY), typedName(env, ROOT_KEY_FILE)];
  if (key !== undefined && file !== undefined) {
    throw misconfigured(`${keyName} and ${fileName} are both set: unset one of them.`);
  }
  if (file !== undefined) {
    const texts = readRootKeyFile(file, fileName).split(/[,\n]/);
    return { value: parseRootKeys(texts, `the file named by ${fileName}`), variable: ROOT_KEY_FILE };
  }
  return key === undefined
    ? undefined
    : { value: parseRootKeys(key.split(','), keyName), variable: ROOT_KEY };
}
