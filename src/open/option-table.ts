import { checkWholeNumber, misconfigured } from '../errors.ts';
import { MAX_EPOCH } from '../format/keyring-bytes.ts';
import { parseTenantId, type TenantId } from '../format/object-keys.ts';
import { MAX_CONTENT_BYTES } from '../format/sizes.ts';
import { LONGEST_TTL_MS } from '../keys/keyring-cache.ts';
import { checkPolicyWords } from '../policy/words.ts';
import { checkActor } from '../tree/session.ts';
import { DEFAULT_CACHE_BYTES } from '../tree/version-cache.ts';
import { refuseUnknownNames } from './known-names.ts';
import type { MemoryOptions } from './options.ts';
import { memberOf } from './origins.ts';
import { parseStoreLocation } from './store.ts';

/** How the value of an option is judged. `check` throws `misconfigured`, naming `label` and never the text. */
type Rule =
  | { readonly kind: 'text'; readonly check: (text: string, label: string) => unknown }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
  | { readonly kind: 'flag' }
  /** `scale`: what one of the variable's units is in the option's. */
  | { readonly kind: 'number'; readonly least: number; readonly most: number; readonly scale?: number };

/** One option: its name in `MemoryOptions`, its environment variable, and how it is judged. */
export interface OptionRow {
  readonly option: string;
  readonly variable?: string;
  /** Variables of every AWS program, read where `variable` is absent. */
  readonly shared?: readonly string[];
  readonly rule: Rule;
  readonly fallback?: string | number;
}

export const DEFAULT_FILE_BYTES = 1_048_576;
export const DEFAULT_CONCURRENCY = 32;
const MAX_CACHE_BYTES = 1_073_741_824;
const MAX_TENANT_FILES = 100_000_000;
const MAX_TENANT_BYTES = 100_000_000_000_000;

/** The options whose values are judged by a rule. Root keys, credentials and callbacks have none. */
export const OPTIONS: readonly OptionRow[] = [
  {
    option: 'store',
    variable: 'SEALED_MEMORY_STORE',
    rule: { kind: 'text', check: parseStoreLocation },
  },
  { option: 'tenant', variable: 'SEALED_MEMORY_TENANT', rule: { kind: 'text', check: readTenant } },
  {
    option: 'profile',
    variable: 'SEALED_MEMORY_PROFILE',
    rule: { kind: 'choice', of: ['doc', 'sdk'] },
    fallback: 'doc',
  },
  {
    option: 'onExists',
    variable: 'SEALED_MEMORY_ON_EXISTS',
    rule: { kind: 'choice', of: ['error', 'overwrite'] },
    fallback: 'error',
  },
  {
    option: 'names',
    variable: 'SEALED_MEMORY_NAMES',
    rule: { kind: 'choice', of: ['encrypted', 'plain'] },
  },
  {
    option: 'concurrency',
    rule: { kind: 'number', least: 1, most: 256 },
    fallback: DEFAULT_CONCURRENCY,
  },
  { option: 'lazy', rule: { kind: 'flag' } },
  { option: 'policy', variable: 'SEALED_MEMORY_POLICY', rule: { kind: 'text', check: checkPolicyWords } },
  { option: 'onEvent', variable: 'SEALED_MEMORY_EVENTS_FILE', rule: { kind: 'text', check: refuseEmpty } },
  { option: 'eventPaths', variable: 'SEALED_MEMORY_EVENT_PATHS', rule: { kind: 'flag' } },
  { option: 'actor', variable: 'SEALED_MEMORY_ACTOR', rule: { kind: 'text', check: checkActor } },
  { option: 'readOnly', variable: 'SEALED_MEMORY_READ_ONLY', rule: { kind: 'flag' } },
  {
    option: 'limits.fileBytes',
    variable: 'SEALED_MEMORY_MAX_FILE_BYTES',
    rule: { kind: 'number', least: 1, most: MAX_CONTENT_BYTES },
    fallback: DEFAULT_FILE_BYTES,
  },
  {
    option: 'limits.files',
    variable: 'SEALED_MEMORY_MAX_FILES',
    rule: { kind: 'number', least: 1, most: MAX_TENANT_FILES },
  },
  {
    option: 'limits.tenantBytes',
    variable: 'SEALED_MEMORY_MAX_TENANT_BYTES',
    rule: { kind: 'number', least: 1, most: MAX_TENANT_BYTES },
  },
  {
    option: 'cache.bytes',
    variable: 'SEALED_MEMORY_CACHE_BYTES',
    rule: { kind: 'number', least: 0, most: MAX_CACHE_BYTES },
    fallback: DEFAULT_CACHE_BYTES,
  },
  {
    option: 'keyring.ttlMs',
    variable: 'SEALED_MEMORY_KEYRING_TTL_SECONDS',
    rule: { kind: 'number', least: 0, most: LONGEST_TTL_MS, scale: 1_000 },
  },
  {
    option: 'keyring.minimumEpoch',
    variable: 'SEALED_MEMORY_KEYRING_MIN_EPOCH',
    rule: { kind: 'number', least: 1, most: MAX_EPOCH },
  },
  {
    option: 'expireAfterDays',
    variable: 'SEALED_MEMORY_EXPIRE_AFTER_DAYS',
    rule: { kind: 'number', least: 1, most: 3_650 },
  },
  {
    option: 'history.days',
    variable: 'SEALED_MEMORY_HISTORY_DAYS',
    rule: { kind: 'number', least: 1, most: 3_650 },
  },
  {
    option: 's3.endpoint',
    variable: 'SEALED_MEMORY_S3_ENDPOINT',
    shared: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
    rule: { kind: 'text', check: checkEndpoint },
  },
  {
    option: 's3.region',
    variable: 'SEALED_MEMORY_S3_REGION',
    shared: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
    rule: { kind: 'text', check: checkRegion },
  },
  {
    option: 's3.forcePathStyle',
    variable: 'SEALED_MEMORY_S3_FORCE_PATH_STYLE',
    rule: { kind: 'flag' },
  },
  { option: 's3.guarded', variable: 'SEALED_MEMORY_S3_GUARDED', rule: { kind: 'flag' } },
  {
    option: 's3.checksums',
    variable: 'SEALED_MEMORY_S3_CHECKSUMS',
    rule: { kind: 'choice', of: ['when_supported', 'when_required'] },
  },
  {
    option: 's3.client',
    variable: 'SEALED_MEMORY_S3_CLIENT',
    rule: { kind: 'choice', of: ['lean', 'sdk'] },
  },
];

const WITHOUT_RULE = ['rootKey', 'mounts', 'credentials', 'logger', 'onRequest', 'toolError'];
const NAMES: ReadonlySet<string> = new Set([...OPTIONS.map(({ option }) => option), ...WITHOUT_RULE]);
/** What is given in place of a text. */
const OTHER_KINDS: Readonly<Record<string, string>> = {
  store: 'object',
  policy: 'function',
  onEvent: 'function',
};
const GROUPS: ReadonlySet<string> = new Set(['limits', 'cache', 'keyring', 'history', 's3']);

/**
 * Judges every option that is given, each by its rule; root keys and credentials are judged where they are opened.
 * `nameOf` says how an option was typed.
 *
 * @throws MemoryError `misconfigured` for an unknown option or a malformed value.
 */
export function judgeOptions(
  options: Partial<MemoryOptions>,
  nameOf: (option: string) => string = (option) => option,
): void {
  refuseUnknown(options);
  for (const { option, rule } of OPTIONS) {
    const value = memberOf(options, option);
    if (value !== undefined && typeof value !== OTHER_KINDS[option]) {
      judge(rule, value, nameOf(option));
    }
  }
}

/** @throws MemoryError `misconfigured` when the value does not keep the rule. */
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

function refuseUnknown(options: Partial<MemoryOptions>): void {
  const names = Object.entries(options).flatMap(([name, value]) =>
    GROUPS.has(name) ? Object.keys(value ?? {}).map((inner) => `${name}.${inner}`) : [name],
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

function checkRegion(text: string, label: string): void {
  if (!/^[A-Za-z0-9-]{1,63}$/.test(text)) {
    throw misconfigured(`${label} is not the name of a region, such as eu-central-1.`);
  }
}
