import { checkWholeNumber, misconfigured } from '../../errors.ts';
import { MAX_EPOCH } from '../../format/keyring-bytes.ts';
import { parseTenantId, type TenantId } from '../../format/object-keys.ts';
import { MAX_CONTENT_BYTES } from '../../format/sizes.ts';
import { LONGEST_TTL_MS } from '../../keys/keyring-cache.ts';
import { checkPolicyWords } from '../../policy/policy-words.ts';
import { parseStoreLocation } from '../../store/open-store.ts';
import { checkActor } from '../../tree/tenant.ts';
import { DEFAULT_CACHE_BYTES } from '../../tree/version-cache.ts';
import { refuseUnknownNames } from './known-names.ts';
import type { MemoryOptions } from './options.ts';
import { memberOf } from './origins.ts';

/** A rule that judges the value of an option. `check` throws `misconfigured`, naming `label` and never the text. */
export type Rule =
  | { readonly kind: 'text'; readonly check: (text: string, label: string) => unknown }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
  | { readonly kind: 'flag' }
  /** `scale`: the number of the option's units in one of the variable's. */
  | { readonly kind: 'number'; readonly least: number; readonly most: number; readonly scale?: number };

/** Options that hold options themselves. A dot leads to those: `limits.fileBytes`. */
type OptionGroup = 'limits' | 'cache' | 'keyring' | 'history' | 's3';
type MemberOf<G extends OptionGroup> = NonNullable<MemoryOptions[G]>;
type OptionName =
  | Exclude<keyof MemoryOptions, OptionGroup>
  | { [G in OptionGroup]: `${G}.${keyof MemberOf<G> & string}` }[OptionGroup];
type ValueOf<Name extends OptionName> = Name extends `${infer G extends OptionGroup}.${infer Member}`
  ? MemberOf<G>[Member & keyof MemberOf<G>]
  : MemoryOptions[Name & keyof MemoryOptions];

interface TableRow<Value = unknown> {
  readonly variable?: string;
  /** Variables of every AWS program, read where `variable` is absent. */
  readonly shared?: readonly string[];
  /** The rule that judges a value; absent for root keys, credentials and callbacks, whose users judge them. */
  readonly rule?: Rule;
  /** The kind of value that may replace a text, and that the rule does not judge. */
  readonly or?: 'object' | 'function';
  readonly fallback?: Value;
}

/** An option with a rule: its name in `MemoryOptions`, its environment variable, and the rule. */
export interface OptionRow extends TableRow {
  readonly option: string;
  readonly rule: Rule;
}

type Check = (text: string, label: string) => unknown;

/**
 * Every option once, with its default. A named value carries its own type (`as`), because declarations are made file by
 * file.
 */
export const OPTION_TABLE = {
  store: {
    variable: 'SEALED_MEMORY_STORE',
    rule: { kind: 'text', check: parseStoreLocation as Check },
    or: 'object',
  },
  tenant: { variable: 'SEALED_MEMORY_TENANT', rule: { kind: 'text', check: readTenant as Check } },
  rootKey: {},
  wording: {
    variable: 'SEALED_MEMORY_WORDING',
    rule: { kind: 'choice', of: ['doc', 'sdk'] },
    fallback: 'doc',
  },
  onExists: {
    variable: 'SEALED_MEMORY_ON_EXISTS',
    rule: { kind: 'choice', of: ['error', 'overwrite'] },
    fallback: 'error',
  },
  names: { variable: 'SEALED_MEMORY_NAMES', rule: { kind: 'choice', of: ['encrypted', 'plain'] } },
  concurrency: { rule: { kind: 'number', least: 1, most: 256 }, fallback: 32 },
  lazy: { rule: { kind: 'flag' }, fallback: false },
  policy: {
    variable: 'SEALED_MEMORY_POLICY',
    rule: { kind: 'text', check: checkPolicyWords as Check },
    or: 'function',
  },
  onEvent: {
    variable: 'SEALED_MEMORY_EVENTS_FILE',
    rule: { kind: 'text', check: refuseEmpty as Check },
    or: 'function',
  },
  eventPaths: { variable: 'SEALED_MEMORY_EVENT_PATHS', rule: { kind: 'flag' }, fallback: false },
  actor: { variable: 'SEALED_MEMORY_ACTOR', rule: { kind: 'text', check: checkActor as Check } },
  tenants: {
    variable: 'SEALED_MEMORY_TENANTS',
    rule: { kind: 'text', check: checkTenants as Check },
    or: 'function',
  },
  createTenants: {
    variable: 'SEALED_MEMORY_CREATE_TENANTS',
    rule: { kind: 'flag' },
    fallback: true,
  },
  readOnly: { variable: 'SEALED_MEMORY_READ_ONLY', rule: { kind: 'flag' }, fallback: false },
  'limits.fileBytes': {
    variable: 'SEALED_MEMORY_MAX_FILE_BYTES',
    rule: { kind: 'number', least: 1, most: MAX_CONTENT_BYTES as number },
    fallback: 1_048_576,
  },
  'limits.files': {
    variable: 'SEALED_MEMORY_MAX_FILES',
    rule: { kind: 'number', least: 1, most: 100_000_000 },
  },
  'limits.tenantBytes': {
    variable: 'SEALED_MEMORY_MAX_TENANT_BYTES',
    rule: { kind: 'number', least: 1, most: 100_000_000_000_000 },
  },
  'cache.bytes': {
    variable: 'SEALED_MEMORY_CACHE_BYTES',
    rule: { kind: 'number', least: 0, most: 1_073_741_824 },
    fallback: DEFAULT_CACHE_BYTES as number,
  },
  'keyring.ttlMs': {
    variable: 'SEALED_MEMORY_KEYRING_TTL_SECONDS',
    rule: { kind: 'number', least: 0, most: LONGEST_TTL_MS as number, scale: 1_000 },
  },
  'keyring.minimumEpoch': {
    variable: 'SEALED_MEMORY_KEYRING_MIN_EPOCH',
    rule: { kind: 'number', least: 1, most: MAX_EPOCH as number },
  },
  expireAfterDays: {
    variable: 'SEALED_MEMORY_EXPIRE_AFTER_DAYS',
    rule: { kind: 'number', least: 1, most: 3_650 },
  },
  'history.days': {
    variable: 'SEALED_MEMORY_HISTORY_DAYS',
    rule: { kind: 'number', least: 1, most: 3_650 },
  },
  's3.endpoint': {
    variable: 'SEALED_MEMORY_S3_ENDPOINT',
    shared: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
    rule: { kind: 'text', check: checkEndpoint as Check },
  },
  's3.region': {
    variable: 'SEALED_MEMORY_S3_REGION',
    shared: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
    rule: { kind: 'text', check: checkRegion as Check },
  },
  's3.forcePathStyle': { variable: 'SEALED_MEMORY_S3_FORCE_PATH_STYLE', rule: { kind: 'flag' } },
  's3.guarded': { variable: 'SEALED_MEMORY_S3_GUARDED', rule: { kind: 'flag' } },
  's3.checksums': {
    variable: 'SEALED_MEMORY_S3_CHECKSUMS',
    rule: { kind: 'choice', of: ['when_supported', 'when_required'] },
  },
  's3.client': { variable: 'SEALED_MEMORY_S3_CLIENT', rule: { kind: 'choice', of: ['lean', 'sdk'] } },
  mounts: {},
  credentials: {},
  logger: {},
  onRequest: {},
  toolError: {},
} as const;

type Table = typeof OPTION_TABLE;
/** The options that have a default. */
type Defaulted = {
  [N in keyof Table]: Table[N] extends { readonly fallback: unknown } ? N : never;
}[keyof Table];
type Given<V> = Exclude<V, undefined>;

/** The options of a group: one with a default is always present, any other where it was given. */
type FilledGroup<G extends OptionGroup> = {
  readonly [M in keyof MemberOf<G> as `${G}.${M & string}` extends Defaulted ? M : never]-?: Given<
    MemberOf<G>[M]
  >;
} & {
  readonly [M in keyof MemberOf<G> as `${G}.${M & string}` extends Defaulted ? never : M]?: Given<
    MemberOf<G>[M]
  >;
};

/** The options with the defaults of the table. */
export type FilledOptions = {
  readonly [N in keyof MemoryOptions]-?: N extends OptionGroup
    ? FilledGroup<N>
    : N extends Defaulted
      ? Given<MemoryOptions[N]>
      : MemoryOptions[N] | undefined;
};

// The compiler compares the table with the options: every option is listed, and each default is of its option's type.
const ROWS: { readonly [N in OptionName]: TableRow<ValueOf<N>> } = OPTION_TABLE;
const NAMES: ReadonlySet<string> = new Set<OptionName>(Object.keys(OPTION_TABLE) as (keyof Table)[]);
const GROUPS: ReadonlySet<string> = new Set([...NAMES].flatMap((name) => name.match(/^(.+)\./)?.[1] ?? []));

/** The options whose values are judged by a rule. */
export const OPTIONS: readonly OptionRow[] = Object.entries<TableRow>(ROWS).flatMap(
  ([option, { rule, ...row }]) => (rule === undefined ? [] : [{ ...row, option, rule }]),
);

/** Fills in the defaults. Every group is present, without the members that are undefined. */
export function filled(options: Partial<MemoryOptions>): FilledOptions {
  const values: Record<string, unknown> = {};
  const groups = new Map([...GROUPS].map((group) => [group, {} as Record<string, unknown>]));
  for (const [option, { fallback }] of Object.entries<TableRow>(ROWS)) {
    const given = memberOf(options, option);
    const value = given === undefined ? fallback : given;
    const [name = '', member] = option.split('.');
    if (member === undefined) values[name] = value;
    else if (value !== undefined) Object.assign(groups.get(name) ?? {}, { [member]: value });
  }
  for (const [name, group] of groups) values[name] = Object.freeze(group);
  return values as object as FilledOptions;
}

/**
 * Judges every given option by its rule; root keys and credentials are judged when they are opened. `nameOf` says how
 * an option was typed.
 *
 * @throws MemoryError `misconfigured` for an unknown option or a malformed value.
 */
export function judgeOptions(
  options: Partial<MemoryOptions>,
  nameOf: (option: string) => string = (option) => option,
): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (GROUPS.has(name) && !isGroup(value)) throw misconfigured(`${nameOf(name)} must be an object.`);
    const isMounts = Array.isArray(value) && value.every(isGroup);
    if (name === 'mounts' && !isMounts) throw misconfigured(`${nameOf(name)} must be a list of objects.`);
  }
  refuseUnknown(options);
  for (const { option, rule, or } of OPTIONS) {
    const value = memberOf(options, option);
    if (value !== undefined && typeof value !== or) judge(rule, value, nameOf(option));
  }
}

/**
 * Judges a value by its rule.
 *
 * @throws MemoryError `misconfigured` when the value breaks the rule.
 */
export function judge(rule: Rule, value: unknown, label: string): void {
  switch (rule.kind) {
    case 'text':
      if (typeof value !== 'string') throw misconfigured(`${label} must be a text.`);
      rule.check(value, label);
      return;
    case 'choice':
      if (rule.of.some((each) => each === value)) return;
      throw misconfigured(`${label} must be ${rule.of.join(' or ')}.`);
    case 'flag':
      if (typeof value === 'boolean') return;
      throw misconfigured(`${label} must be true or false.`);
    case 'number':
      checkWholeNumber(label, value, rule);
  }
}

function isGroup(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refuseUnknown(options: Partial<MemoryOptions>): void {
  const names = Object.entries(options).flatMap(([name, value]) =>
    GROUPS.has(name) ? Object.keys(Object(value)).map((inner) => `${name}.${inner}`) : [name],
  );
  refuseUnknownNames(names, { known: NAMES, what: 'an option' });
}

export function readTenant(text: string, label: string): TenantId {
  try {
    return parseTenantId(text);
  } catch (error) {
    throw misconfigured(
      `${label} is not a tenant id: 1-63 of a-z, 0-9 and "-", beginning with a letter or digit.`,
      error,
    );
  }
}

function checkEndpoint(text: string, label: string): void {
  const url = URL.parse(text);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (!isHttp || `${url.username}${url.password}${url.search}${url.hash}` !== '') {
    throw misconfigured(`${label} must be an http or https URL without credentials, query and fragment.`);
  }
}

function refuseEmpty(text: string, label: string): void {
  if (text === '') throw misconfigured(`${label} must not be empty.`);
}

const TENANTS = /^(file:.+|dynamodb:(arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table\/)?[\w.-]{3,255})$/s;

function checkTenants(text: string, label: string): void {
  if (TENANTS.test(text)) return;
  throw misconfigured(
    `${label} must be file: and the path of a file, or dynamodb: and the name or ARN of a table.`,
  );
}

function checkRegion(text: string, label: string): void {
  if (!/^[A-Za-z0-9-]{1,63}$/.test(text)) {
    throw misconfigured(`${label} is not the name of a region, such as eu-central-1.`);
  }
}
