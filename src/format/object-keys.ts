import { MemoryError } from '../errors.ts';
import {
  isValidSegment,
  joinPath,
  MEMORY_ROOT,
  type MemoryPath,
  refusedPath,
  segmentsOf,
} from '../language/path.ts';
import { encodeText } from '../language/text.ts';
import { FILE_SUFFIX, type Names } from './names.ts';

/** The full name of an object in the store. Only this file makes one. */
export type ObjectKey = string & { readonly __brand: 'ObjectKey' };

/** The id of a tenant: 1–63 characters of `[a-z0-9-]`, not starting with `-`. Visible in the store. */
export type TenantId = string & { readonly __brand: 'TenantId' };

/** The places of one tenant's objects; this file makes every object name of the project. */
export interface Layout {
  /** The beginning of every key, without a slash at either end; may be empty. */
  readonly prefix: string;
  readonly tenant: TenantId;
  readonly keyring: ObjectKey;
  /** The beginning of every object's key but the keyring's; ends in `/`. */
  readonly tenantPrefix: string;
  /** The beginning of every key of a file in the tree; ends in `/`. */
  readonly data: string;
  /** The scratch object that proves a server's conditional writes. */
  readonly probe: ObjectKey;
}

/** Answers the beginning of the keys of all tenants' keyrings; ends in `/`. */
export function keyringPrefix(prefix: string): string {
  return prefix === '' ? 'keyrings/' : `${prefix}/keyrings/`;
}

const TENANT = /^[a-z0-9][a-z0-9-]{0,62}$/;
/**
 * The most bytes of the prefix and the tenant id together: they leave room in the longest key for four segments of 143
 * bytes and for 20 segments of 15 bytes.
 */
const MAX_PREFIX_AND_TENANT_BYTES = 66;
const MAX_KEY_BYTES = 1_024;

/**
 * Checks the id of a tenant.
 *
 * @throws MemoryError `misconfigured`.
 */
export function parseTenantId(text: string): TenantId {
  // The pattern alone would take a missing id for the tenant "undefined".
  if (typeof text !== 'string' || !TENANT.test(text)) {
    throw new MemoryError('misconfigured', 'The tenant id does not match [a-z0-9][a-z0-9-]{0,62}.');
  }
  return text as TenantId;
}

/**
 * Makes the layout of a tenant.
 *
 * @throws MemoryError `misconfigured` when the prefix is malformed, or too long together with the tenant id.
 */
export function createLayout({
  prefix,
  tenant,
}: {
  readonly prefix: string;
  readonly tenant: TenantId;
}): Layout {
  if (prefix !== '' && !prefix.split('/').every(isValidSegment)) {
    throw new MemoryError('misconfigured', 'The prefix must be names joined by single slashes.');
  }
  const value = encodeText(prefix).length + tenant.length;
  if (value > MAX_PREFIX_AND_TENANT_BYTES) {
    throw new MemoryError('misconfigured', 'The prefix and the tenant id are too long together, in bytes.', {
      details: { value, max: MAX_PREFIX_AND_TENANT_BYTES },
    });
  }
  const top = prefix === '' ? '' : `${prefix}/`;
  const tenantPrefix = `${top}tenants/${tenant}/`;
  return {
    prefix,
    tenant,
    keyring: `${top}keyrings/${tenant}` as ObjectKey,
    tenantPrefix,
    data: `${tenantPrefix}data/`,
    probe: `${tenantPrefix}probe` as ObjectKey,
  };
}

/**
 * Makes the key of the file at `path`.
 *
 * @throws MemoryError `is_directory` for the root; `invalid_path` with `details.tooMany` when the key exceeds 1,024
 * bytes by that many, or with the rule `directory_suffix` as `Names.encodeFile`.
 */
export function fileKey(layout: Layout, names: Names, path: MemoryPath): ObjectKey {
  if (path === MEMORY_ROOT)
    throw new MemoryError('is_directory', 'The root is no file.', { details: { reason: 'root' } });
  const key = keyOfAny(layout, names, path);
  refuseTooLong(key);
  return key;
}

/**
 * Makes the key of a file that was listed, which may be longer than that of a file that is made.
 *
 * @throws MemoryError as `Names.encodeFile`.
 */
export function keyOfAny(layout: Layout, names: Names, path: MemoryPath): ObjectKey {
  return `${layout.data}${names.encodeFile(segmentsOf(path))}` as ObjectKey;
}

/**
 * Makes the beginning of the keys of everything below the directory `path`; ends in `/`.
 *
 * @throws MemoryError `invalid_path` with `details.tooMany` where the path is too long for a file, too.
 */
export function directoryPrefix(layout: Layout, names: Names, path: MemoryPath): string {
  if (path === MEMORY_ROOT) return layout.data;
  const text = `${layout.data}${names.encodeDirectory(segmentsOf(path))}`;
  refuseTooLong(`${text}${FILE_SUFFIX}`);
  return `${text}/`;
}

/** Answers the path of the file under a key; undefined for a key that no writer of this tenant makes for a file. */
export function parseFileKey(layout: Layout, names: Names, key: string): MemoryPath | undefined {
  if (!key.startsWith(layout.data)) return undefined;
  const segments = names.decodeFile([], key.slice(layout.data.length));
  return segments && joinPath(MEMORY_ROOT, ...segments);
}

function refuseTooLong(key: string): void {
  const tooMany = encodeText(key).length - MAX_KEY_BYTES;
  if (tooMany > 0) throw refusedPath({ rule: 'key_too_long', tooMany });
}

/**
 * Makes the key of an object beside the tree.
 *
 * @throws MemoryError `misconfigured` for a malformed id.
 */
export function classKey(layout: Layout, cls: ObjectClass, id: string): ObjectKey {
  return `${layout.tenantPrefix}${classLogicalName(cls, id).slice(1)}` as ObjectKey;
}

/** Parses a key of `classKey` into its class and id; undefined for every other key. */
export function parseClassKey(
  layout: Layout,
  key: string,
): { readonly cls: ObjectClass; readonly id: string } | undefined {
  if (!key.startsWith(layout.tenantPrefix)) return undefined;
  const [first, id, ...rest] = key.slice(layout.tenantPrefix.length).split('/');
  const cls = OBJECT_CLASSES.find((each) => each === first);
  return cls !== undefined && id !== undefined && rest.length === 0 && isObjectId(id)
    ? { cls, id }
    : undefined;
}

/** Tells whether a key is the probe's, or starts like the scratch keys with which `doctor` tries a server. */
export function isScratchKey(layout: Layout, key: string): boolean {
  return key === layout.probe || key.startsWith(`${layout.probe}-`);
}

/** The name of an object inside its authenticated data: a memory path, or `/<class>/<id>`. */
export type LogicalName = string & { readonly __brand: 'LogicalName' };

/** The kinds of objects beside the files of the tree. */
export const OBJECT_CLASSES = [
  'journal',
  'access',
  'receipts',
  'answers',
  'history',
  'actors',
  'checkpoints',
  'conversations',
  'sessions',
] as const;
export type ObjectClass = (typeof OBJECT_CLASSES)[number];

const ID = /^[A-Za-z0-9_-]{1,64}$/;

export function logicalName(path: MemoryPath): LogicalName {
  return path as string as LogicalName;
}

/** Tells whether an object of a class can have that id: 1–64 characters of `[A-Za-z0-9_-]`. */
function isObjectId(id: string): boolean {
  return ID.test(id);
}

/**
 * Makes the name of an object beside the tree.
 *
 * @throws MemoryError `misconfigured` when the id is not 1–64 characters of `[A-Za-z0-9_-]`.
 */
export function classLogicalName(cls: ObjectClass, id: string): LogicalName {
  if (!isObjectId(id))
    throw new MemoryError('misconfigured', `The id of an object of class ${cls} is malformed.`);
  return `/${cls}/${id}` as LogicalName;
}
