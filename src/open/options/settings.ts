import { existsSync, readFileSync } from 'node:fs';
import { hasCode, type MemoryError, misconfigured } from '../../errors.ts';
import { createLayout, parseTenantId, type TenantId } from '../../format/object-keys.ts';
import { HOW_TO_MAKE_ONE, openRootKeys, type RootKeyInput, type RootKeys } from '../../keys/root-keys.ts';
import { type MemoryPath, parseMemoryPath, segmentsOf } from '../../language/path.ts';
import { heardLogger, heardOrLogged } from '../../listeners.ts';
import { readPolicy } from '../../policy/policy-words.ts';
import { type ConfiguredStore, parseStoreLocation } from '../../store/open-store.ts';
import { answeredInTime } from '../../store/s3/callers-credentials.ts';
import type { Policy } from '../../tree/admission/policy.ts';
import { refuseUnknownNames } from './known-names.ts';
import { type FilledOptions, filled, judge, judgeOptions, readTenant } from './option-table.ts';
import type { MemoryOptions, MountOptions } from './options.ts';
import { typedName } from './origins.ts';

const LEAST_NODE = { major: 22, minor: 13 };

/** Options that were judged, defaults filled in. `rootKeys` is secret: never log it. */
export interface Settings
  extends Omit<FilledOptions, 'store' | 'tenant' | 'rootKey' | 'policy' | 'mounts' | 'expireAfterDays'> {
  readonly store: ConfiguredStore;
  /** The beginning of every object key; empty unless the store is a bucket. */
  readonly prefix: string;
  /** The tenant; absent only in a pool. */
  readonly tenant: TenantId | undefined;
  readonly rootKeys: RootKeys;
  readonly policy: Policy | undefined;
  /** Days after which unused files expire; undefined: they stay. */
  readonly expireAfterDays: number | undefined;
  /** Answers how an option was typed: its own name, a variable, a flag. */
  readonly nameOf: (option: string) => string;
}

/**
 * Judges the options.
 *
 * @throws MemoryError `misconfigured` for an unknown option, a missing store or root key, or a malformed value; its
 * sentence names the option and what was expected, never the value.
 */
export function readSettings(
  options: Partial<MemoryOptions>,
  nameOf: Settings['nameOf'] = (option) => typedName(options, option),
): Settings {
  refuseOldNode();
  judgeOptions(options, nameOf);
  const { rootKey: _rootKey, mounts: _mounts, ...given } = filled(options);
  const logger = given.logger && heardLogger(given.logger);
  const credentials = answeredInTime(given.credentials);
  const store = readStore(options.store, nameOf('store'));
  const prefix = store.kind === 's3' ? store.prefix : '';
  const tenant = options.tenant === undefined ? undefined : readTenant(options.tenant, nameOf('tenant'));
  requireRoom(prefix, { tenant, label: nameOf('store') });
  return Object.freeze({
    ...given,
    store,
    prefix,
    tenant,
    policy: readPolicy(options.policy),
    rootKeys: readRootKeys(options.rootKey, { credentials, label: nameOf('rootKey') }),
    credentials,
    logger,
    onRequest: given.onRequest && heardOrLogged('onRequest', given.onRequest, logger),
    nameOf,
  });
}

/** Refuses a Node that is too old for the library. @throws MemoryError `misconfigured` that names its version. */
function refuseOldNode(): void {
  const version = process.versions.node;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > LEAST_NODE.major || (major === LEAST_NODE.major && minor >= LEAST_NODE.minor)) return;
  throw misconfigured(
    `sealed-memory needs Node ${LEAST_NODE.major}.${LEAST_NODE.minor} or newer, and this is Node ${version}: install a newer one.`,
  );
}

const OF_MOUNT: ReadonlySet<string> = new Set<keyof MountOptions>([
  ...(['at', 'store', 'tenant', 'rootKey', 'names', 's3', 'credentials'] as const),
  ...(['keyring', 'limits', 'readOnly', 'policy', 'expires'] as const),
]);

/** A mount that was judged: the path at which it is seen, and the settings of its memory. */
export interface MountPoint {
  readonly at: MemoryPath;
  readonly tenant: TenantId;
  readonly settings: Settings;
  /** True: unused files of the tenant expire. False: they stay. Undefined: the options leave it open. */
  readonly expires: boolean | undefined;
  readonly given: MountOptions;
}

/**
 * Judges the mounts.
 *
 * @throws MemoryError `misconfigured` for a mount at a wrong place or of a wrong option, as `readSettings`.
 */
export function readMounts(options: Partial<MemoryOptions>): readonly MountPoint[] {
  const { mounts = [], tenant: _tenant, readOnly: _readOnly, names: _names, keyring, ...shared } = options;
  const typed = typedName(options, 'mounts');
  const points = mounts.map((mount, index) => {
    const ofMount = (option: string): string =>
      typed === 'mounts' ? `mounts[${index}].${option}` : `${option} of mount ${index + 1} of ${typed}`;
    refuseUnknownNames(Object.keys(mount), { known: OF_MOUNT, what: 'an option of a mount' });
    // An option of the mount that is undefined counts as absent: the memory's own policy and limits must stay.
    const { at, expires, ...own } = given(mount);
    const nameOf = (option: string): string => {
      const [group = ''] = option.split('.');
      return option === 'tenant' || Object.hasOwn(own, group) ? ofMount(option) : typedName(options, option);
    };
    const settings = readSettings({ ...shared, keyring: { ttlMs: keyring?.ttlMs }, ...own }, nameOf);
    if (expires !== undefined) judge({ kind: 'flag' }, expires, ofMount('expires'));
    if (expires && settings.readOnly) {
      throw misconfigured('A read-only mount records no reads, so it cannot be expires: true.');
    }
    return {
      at: parseMountPath(at, ofMount('at')),
      tenant: requireTenant(settings),
      settings,
      expires,
      given: mount,
    };
  });
  if (new Set(points.map(({ at }) => at)).size === points.length) return points;
  throw misconfigured('Two mounts cannot lie at one path.');
}

function parseMountPath(text: unknown, label: string): MemoryPath {
  try {
    const path = parseMemoryPath(String(text));
    if (segmentsOf(path).length === 1) return path;
  } catch (error) {
    if (!hasCode(error, 'invalid_path')) throw error;
  }
  throw misconfigured(`${label} must be a path directly below /memories, such as /memories/handbook.`);
}

/**
 * Refuses a prefix that leaves object keys too little room for a memory path; without a tenant it judges the prefix
 * alone.
 *
 * @throws MemoryError `misconfigured` that names `label`.
 */
function requireRoom(
  prefix: string,
  { tenant, label }: { readonly tenant: TenantId | undefined; readonly label: string },
): void {
  try {
    createLayout({ prefix, tenant: tenant ?? parseTenantId('0') });
  } catch (error) {
    if (!hasCode(error, 'misconfigured')) throw error;
    throw misconfigured(`${label}: ${error.message}`);
  }
}

/** Leaves out the members that are undefined. */
function given<T extends object>(
  group: T | undefined,
): { readonly [K in keyof T]: Exclude<T[K], undefined> } {
  const members = Object.entries(group ?? {}).filter(([, value]) => value !== undefined);
  return Object.freeze(Object.fromEntries(members)) as { readonly [K in keyof T]: Exclude<T[K], undefined> };
}

function readStore(given: MemoryOptions['store'] | undefined, label: string): Settings['store'] {
  if (given === undefined) throw notSet(label, ': memory:, sqlite:PATH or s3://bucket/prefix.');
  return Object.freeze(
    typeof given === 'string' ? parseStoreLocation(given, label) : { kind: 'opened', store: given },
  );
}

/**
 * Answers the tenant of the settings.
 *
 * @throws MemoryError `misconfigured` when they name none.
 */
export function requireTenant({ tenant, nameOf }: Settings): TenantId {
  if (tenant !== undefined) return tenant;
  throw notSet(nameOf('tenant'), ': the id of the tenant whose memory this is.');
}

function readRootKeys(
  rootKey: MemoryOptions['rootKey'] | undefined,
  { credentials, label }: Pick<MemoryOptions, 'credentials'> & { readonly label: string },
): RootKeys {
  if (rootKey === undefined) throw notSet(label, `. ${HOW_TO_MAKE_ONE}`);
  return openRootKeys(isList(rootKey) ? rootKey : [rootKey], credentials, label);
}

function isList(input: RootKeyInput | readonly RootKeyInput[]): input is readonly RootKeyInput[] {
  return Array.isArray(input);
}

/**
 * Makes the error for a missing option. For an option that was to come from the environment, the error points to the
 * settings of this folder that have it, if the program was not given those.
 */
function notSet(name: string, what: string): MemoryError {
  const variables = name.match(/SEALED_MEMORY_\w+/g) ?? [];
  const remedies = variables.length > 0 ? ungivenSettings(variables) : [];
  return misconfigured([`${name} is not set${what}`, ...remedies].join(' '));
}

function ungivenSettings(variables: readonly string[]): readonly string[] {
  if (new RegExp(`^\\s*(?:export\\s+)?(?:${variables.join('|')})\\s*=`, 'm').test(textOf('.env'))) {
    return [
      'Node does not read the .env of this folder by itself: start the program with "node --env-file=.env".',
    ];
  }
  if (!existsSync('.sealed-memory/config.toml')) return [];
  return [
    'The .sealed-memory/config.toml of this folder is for the command line alone: write the same settings into .env, ' +
      'and start the program with "node --env-file=.env".',
  ];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
