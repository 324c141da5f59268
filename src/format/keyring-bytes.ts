import { MemoryError } from '../errors.ts';
import { encodeText } from '../language/text.ts';
import {
  concat,
  copyOf,
  copyOfKey,
  domain,
  hasBytesAt,
  lengthPrefixed,
  readU16,
  readU32,
  readU64,
  sameBytes,
  u16,
  u32,
  u64,
} from './encoding.ts';
import type { NameMode } from './names.ts';
import {
  equalBytes,
  KEY_BYTES,
  NONCE_BYTES,
  openBox,
  type RandomBytes,
  sealBox,
  TAG_BYTES,
  wipe,
} from './sodium.ts';
import { deriveTenantKey, ID_BYTES, type TenantKey } from './wrap.ts';

/** One version of the tenant's key, with the 32 bytes from which it is derived. */
interface KeyringKey extends TenantKey {
  readonly secret: Uint8Array;
}

/** The fields of a keyring's encrypted part. */
interface KeyringSecret {
  readonly nameMode: NameMode;
  /** True where the tenant keeps the versions of its files; for every writer the same. */
  readonly keepsHistory: boolean;
  /**
   * The time from which every writer keeps history, milliseconds since the epoch. Undefined without history, and where
   * the keyring does not tell: history was turned on before keyrings did.
   */
  readonly keptSince?: number | undefined;
  /** 32 bytes, never rotated. */
  readonly nameKey: Uint8Array;
  /** 1–64, versions ascending; the last one is active, the others only open. */
  readonly tenantKeys: readonly KeyringKey[];
}

/** The part of a keyring that is not encrypted: everything before the nonce. */
interface KeyringHead {
  /** 1 at creation, one more at every write. */
  readonly epoch: number;
  /** 16 bytes, fixed at creation. */
  readonly keyringId: Uint8Array;
  /** The id of the root key that wraps the keyring's key. */
  readonly rootId: string;
  readonly wrapped: Uint8Array;
}

/** The head of a keyring as it was parsed, with the number of its bytes. */
interface ParsedHead extends KeyringHead {
  readonly length: number;
}

/** A tenant's keys as one object keeps them. The caller wipes its secrets. */
export interface Keyring extends KeyringSecret, Pick<KeyringHead, 'epoch' | 'keyringId'> {}

export const MAX_KEYRING_BYTES = 16_384;
export const MAX_TENANT_KEYS = 64;
export const MAX_EPOCH: number = 2 ** 32 - 1;

const MAGIC: Uint8Array = Uint8Array.of(0x89, 0x53, 0x4d, 0x4b, 0x0d, 0x0a, 0x1a, 0x0a);
const START = concat(MAGIC, Uint8Array.of(1, 1, 0, 0));

/** The whole object of a destroyed tenant; it stops the keyring from being created again. */
export const SHRED_MARKER: Uint8Array = concat(MAGIC, new Uint8Array(4));

const BOX = domain('keyring');
const EPOCH = START.length;
const KEYRING_ID = EPOCH + 4;
const ROOT_ID_LENGTH = KEYRING_ID + ID_BYTES;
const MAX_ROOT_ID = 512;
const MAX_WRAPPED = 8_192;
const ROOT_ID_CHARACTERS = /^[\x21-\x7e]+$/;

const KEEPS_HISTORY = 0x01;
/** The flag of a keyring that tells since when it keeps history, set only together with `KEEPS_HISTORY`. */
const TELLS_SINCE = 0x02;
const FLAGS: readonly number[] = [0, KEEPS_HISTORY, KEEPS_HISTORY | TELLS_SINCE];
const SINCE_BYTES = 8;
const MAX_VERSION = 2 ** 32 - 1;
const MODES: readonly NameMode[] = ['plain', 'encrypted'];
const NAME_KEY = 4;
const KEYS = NAME_KEY + KEY_BYTES;
const ENTRY_BYTES = 12 + KEY_BYTES;
const SMALLEST_SECRET_BYTES = KEYS + ENTRY_BYTES;

export function isShredMarker(bytes: Uint8Array): boolean {
  return sameBytes(bytes, SHRED_MARKER);
}

/**
 * Encodes a keyring, its secrets sealed under `key` for one tenant; the root key with this id wrapped that key. Requires
 * `loadSodium`.
 *
 * @throws MemoryError `integrity` when a field of the head is out of the format's range.
 */
export function encodeKeyring(
  keyring: Keyring,
  {
    tenant,
    key,
    random,
    ...root
  }: Pick<KeyringHead, 'rootId' | 'wrapped'> & {
    readonly tenant: string;
    readonly key: Uint8Array;
    readonly random: RandomBytes;
  },
): Uint8Array {
  const { epoch, keyringId } = keyring;
  const head = encodeHead({ epoch, keyringId, ...root });
  const nonce = random(NONCE_BYTES);
  const secret = encodeKeyringSecret(keyring);
  const box = sealBox(secret, { key, nonce, additional: boxBinding(head, tenant) });
  wipe(secret);
  return concat(head, nonce, box);
}

/**
 * Decodes the keyring whose head was parsed; undefined unless exactly these bytes were sealed under `key` for this
 * tenant. Requires `loadSodium`.
 */
export function decodeKeyring(
  bytes: Uint8Array,
  {
    head: { epoch, keyringId, length },
    tenant,
    key,
  }: { readonly head: ParsedHead; readonly tenant: string; readonly key: Uint8Array },
): Keyring | undefined {
  const nonce = bytes.subarray(length, length + NONCE_BYTES);
  const additional = boxBinding(bytes.subarray(0, length), tenant);
  const secret = openBox(bytes.subarray(length + NONCE_BYTES), { key, nonce, additional });
  if (secret === undefined) return undefined;
  const decoded = decodeKeyringSecret(secret);
  wipe(secret);
  return decoded && { epoch, keyringId, ...decoded };
}

function boxBinding(head: Uint8Array, tenant: string): Uint8Array {
  return concat(BOX, head, lengthPrefixed(encodeText(tenant)));
}

/** @throws MemoryError `integrity` when a field is out of the format's range. */
function encodeHead({ epoch, keyringId, rootId, wrapped }: KeyringHead): Uint8Array {
  const inRange = epoch >= 1 && epoch <= MAX_EPOCH && wrapped.length >= 1 && wrapped.length <= MAX_WRAPPED;
  if (!inRange || !isRootId(rootId)) throw keyringRefusal();
  return concat(START, u32(epoch), keyringId, lengthPrefixed(encodeText(rootId)), lengthPrefixed(wrapped));
}

/**
 * Parses the head of a keyring object and the number of its bytes, checked in the order of docs/format.md, "Reading a
 * keyring". The head is not authenticated yet.
 *
 * @throws MemoryError `integrity`, `key_unavailable` for the shred marker, `unsupported_format`.
 */
export function parseKeyringHead(bytes: Uint8Array): ParsedHead {
  if (bytes.length < START.length || bytes.length > MAX_KEYRING_BYTES || !hasBytesAt(bytes, 0, MAGIC)) {
    throw keyringRefusal();
  }
  if (isShredMarker(bytes)) {
    throw new MemoryError('key_unavailable', 'The keyring of this tenant was destroyed.', {
      details: { reason: 'destroyed' },
    });
  }
  if (!hasBytesAt(bytes, 0, START)) {
    throw new MemoryError(
      'unsupported_format',
      'The keyring has a format or suite that this version does not know.',
    );
  }
  const rootId = takePrefixed(bytes, ROOT_ID_LENGTH, MAX_ROOT_ID);
  const wrappedLength = ROOT_ID_LENGTH + 4 + rootId.length;
  const wrapped = takePrefixed(bytes, wrappedLength, MAX_WRAPPED);
  const length = wrappedLength + 4 + wrapped.length;
  const epoch = readU32(bytes, EPOCH);
  const text = String.fromCharCode(...rootId);
  const least = length + NONCE_BYTES + TAG_BYTES + SMALLEST_SECRET_BYTES;
  if (epoch < 1 || !isRootId(text) || bytes.length < least) throw keyringRefusal();
  return { epoch, keyringId: copyOf(bytes, KEYRING_ID, ROOT_ID_LENGTH), rootId: text, wrapped, length };
}

/** Takes a part with its length before it. One that is cut short leaves no room for the secret, which is looked at last. */
function takePrefixed(bytes: Uint8Array, offset: number, max: number): Uint8Array {
  const begin = offset + 4;
  if (begin > bytes.length) throw keyringRefusal();
  const length = readU32(bytes, offset);
  if (length < 1 || length > max) throw keyringRefusal();
  return copyOf(bytes, begin, begin + length);
}

function isRootId(text: string): boolean {
  return text.length <= MAX_ROOT_ID && ROOT_ID_CHARACTERS.test(text);
}

/** Encodes the secret part of a keyring; the caller wipes the result. */
export function encodeKeyringSecret(secret: KeyringSecret): Uint8Array {
  const { nameMode, keepsHistory, keptSince, nameKey, tenantKeys } = secret;
  const since = keepsHistory && keptSince !== undefined ? u64(keptSince) : new Uint8Array(0);
  const flags = (keepsHistory ? KEEPS_HISTORY : 0) | (since.length > 0 ? TELLS_SINCE : 0);
  return concat(
    Uint8Array.of(MODES.indexOf(nameMode), flags),
    u16(tenantKeys.length),
    nameKey,
    ...tenantKeys.flatMap(({ version, created, secret }) => [u32(version), u64(created), secret]),
    since,
  );
}

/** Decodes the secret part of a keyring; undefined unless the bytes follow the format exactly. */
export function decodeKeyringSecret(bytes: Uint8Array): KeyringSecret | undefined {
  if (bytes.length < SMALLEST_SECRET_BYTES) return undefined;
  const nameMode = MODES[bytes[0] ?? MODES.length];
  const flags = bytes[1] ?? 0;
  if (nameMode === undefined || !FLAGS.includes(flags)) return undefined;
  const end = KEYS + readU16(bytes, 2) * ENTRY_BYTES;
  const tellsSince = (flags & TELLS_SINCE) !== 0;
  if (bytes.length !== end + (tellsSince ? SINCE_BYTES : 0)) return undefined;
  const keptSince = tellsSince ? readU64(bytes, end, Number.MAX_SAFE_INTEGER) : undefined;
  if (tellsSince && keptSince === undefined) return undefined;
  const tenantKeys: KeyringKey[] = [];
  for (let offset = KEYS; offset < end; offset += ENTRY_BYTES) {
    const created = readU64(bytes, offset + 4, Number.MAX_SAFE_INTEGER);
    if (created === undefined) return undefined;
    const secret = copyOfKey(bytes, offset + 12, offset + ENTRY_BYTES);
    tenantKeys.push(keyringKey(readU32(bytes, offset), created, secret));
  }
  if (!isValidKeyList(tenantKeys)) return undefined;
  const nameKey = copyOfKey(bytes, NAME_KEY, KEYS);
  return { nameMode, keepsHistory: flags !== 0, keptSince, nameKey, tenantKeys };
}

/** Makes a key of `secret`, 32 bytes, which it keeps as it is. */
export function keyringKey(version: number, created: number, secret: Uint8Array): KeyringKey {
  return { version, created, secret, ...deriveTenantKey(secret) };
}

/** Tells whether the list has 1–64 keys, versions from 1 strictly ascending and key ids distinct. */
export function isValidKeyList(keys: readonly KeyringKey[]): boolean {
  return (
    keys.length >= 1 &&
    keys.length <= MAX_TENANT_KEYS &&
    keys.every(({ version }, index) => version > (keys[index - 1]?.version ?? 0) && version <= MAX_VERSION) &&
    keys.every(
      ({ keyId }, index) => !keys.slice(0, index).some((earlier) => equalBytes(earlier.keyId, keyId)),
    )
  );
}

/** Makes the one error for a keyring that cannot be the one that was written. */
export function keyringRefusal(): MemoryError {
  return new MemoryError('integrity', 'A keyring was refused: it is not what was written for this tenant.');
}
