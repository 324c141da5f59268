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

/** An object's full name in the store. Made in this file only. */
export type ObjectKey = string & { readonly __brand: 'ObjectKey' };

/** 1–63 characters of `[a-z0-9-]`, not starting with `-`. Visible in the store. */
export type TenantId = string & { readonly __brand: 'TenantId' };

/** Where one tenant's objects lie; every object name of the project is made in this file. */
export interface Layout {
  /** Without a slash at either end; may be empty. */
  readonly prefix: string;
  readonly tenant: TenantId;
  readonly keyring: ObjectKey;
  /** Above every object but the keyring; ends in `/`. */
  readonly tenantPrefix: string;
  /** Above every file of the tree; ends in `/`. */
  readonly data: string;
  /** The scratch object that proves a server's conditional writes. */
  readonly probe: ObjectKey;
}

/** Above the keyrings of all tenants; ends in `/`. */
export function keyringPrefix(prefix: string): string {
  return prefix === '' ? 'keyrings/' : `${prefix}/keyrings/`;
}

const TENANT = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** Keeps four segments of 143 bytes and 20 segments of 15 bytes within the longest key. */
const MAX_PREFIX_AND_TENANT_BYTES = 66;
const MAX_KEY_BYTES = 1_024;

/** @throws MemoryError `misconfigured`. */
export function parseTenantId(text: string): TenantId {
  // A test alone would take a missing id for the tenant "undefined".
  if (typeof text !== 'string' || !TENANT.test(text)) {
    throw new MemoryError('misconfigured', 'The tenant id does not match [a-z0-9][a-z0-9-]{0,62}.');
  }
  return text as TenantId;
}

/** @throws MemoryError `misconfigured` when the prefix is malformed, or too long together with the tenant id. */
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
 * The key of the file at `path`, which is not the root.
 *
 * @throws MemoryError `invalid_path` with `details.tooMany` when the key exceeds 1,024 bytes by that many, or with the
 * rule `directory_suffix` as `Names.encodeFile`.
 */
export function fileKey(layout: Layout, names: Names, path: MemoryPath): ObjectKey {
  if (path === MEMORY_ROOT)
    throw new MemoryError('is_directory', 'The root is no file.', { details: { reason: 'root' } });
  const key = keyOfAny(layout, names, path);
  refuseTooLong(key);
  return key;
}

/** The key of a file that was listed, which may be longer than a file that is made can have. @throws as `encodeFile`. */
export function keyOfAny(layout: Layout, names: Names, path: MemoryPath): ObjectKey {
  return `${layout.data}${names.encodeFile(segmentsOf(path))}` as ObjectKey;
}

/**
 * What the keys of everything below the directory `path` start with; ends in `/`.
 *
 * @throws MemoryError `invalid_path` with `details.tooMany` where a file could not have that path either.
 */
export function directoryPrefix(layout: Layout, names: Names, path: MemoryPath): string {
  if (path === MEMORY_ROOT) return layout.data;
  const text = `${layout.data}${names.encodeDirectory(segmentsOf(path))}`;
  refuseTooLong(`${text}${FILE_SUFFIX}`);
  return `${text}/`;
}

/** The path of the file under a key; undefined for a key that no writer of this tenant makes for a file. */
export function parseFileKey(layout: Layout, names: Names, key: string): MemoryPath | undefined {
  if (!key.startsWith(layout.data)) return undefined;
  const segments = names.decodeFile([], key.slice(layout.data.length));
  return segments && joinPath(MEMORY_ROOT, ...segments);
}

function refuseTooLong(key: string): void {
  const tooMany = encodeText(key).length - MAX_KEY_BYTES;
  if (tooMany > 0) throw refusedPath({ rule: 'key_too_long', tooMany });
}

/** The key of an object beside the tree. @throws MemoryError `misconfigured` for a malformed id. */
export function classKey(layout: Layout, cls: ObjectClass, id: string): ObjectKey {
  return `${layout.tenantPrefix}${classLogicalName(cls, id).slice(1)}` as ObjectKey;
}

/** The class and id that `classKey` made a key of; undefined for every other key. */
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

/** Whether a key is the probe's, or starts like the scratch keys that `doctor` tries a server with. */
export function isScratchKey(layout: Layout, key: string): boolean {
  return key === layout.probe || key.startsWith(`${layout.probe}-`);
}

/** What an object is called inside its authenticated data: a memory path, or `/<class>/<id>`. */
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

/** Whether an object of a class can have that id: 1–64 characters of `[A-Za-z0-9_-]`. */
function isObjectId(id: string): boolean {
  return ID.test(id);
}

/** @throws MemoryError `misconfigured` when the id is not 1–64 characters of `[A-Za-z0-9_-]`. */
export function classLogicalName(cls: ObjectClass, id: string): LogicalName {
  if (!isObjectId(id))
    throw new MemoryError('misconfigured', `The id of an object of class ${cls} is malformed.`);
  return `/${cls}/${id}` as LogicalName;
}
