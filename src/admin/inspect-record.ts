import { MemoryError } from '../errors.ts';
import { readHeader } from '../format/header.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { sealedSize } from '../format/sizes.ts';
import type { SealingKeys } from '../format/wrap.ts';
import type { LoadedKeyring } from '../keys/keyring-cache.ts';
import type { ListedRecord } from '../tree/list-directory.ts';
import { readSealed, type SealedVersion } from '../tree/read-file.ts';
import type { Work } from '../tree/session.ts';

/** What a record turned out to be. A key version is that of the tenant key which the object names. */
export type Inspection =
  | { readonly state: 'whole'; readonly version: SealedVersion; readonly keyVersion: number }
  /** Not what was sealed under its name. */
  | { readonly state: 'damaged'; readonly keyVersion: number | undefined }
  /** It names a tenant key that the keyring does not hold. */
  | { readonly state: 'unknown_key' }
  /** Larger than the limit, and so not read. */
  | { readonly state: 'too_large' };

/** Content of objects beside the tree that is read in any case, in bytes. */
const BESIDE_THE_TREE_BYTES = 16_777_216;

/**
 * Reads and opens a record: one GET, one more when it is refused. Undefined: nothing is there any more.
 *
 * @throws MemoryError what the store and the keyring throw.
 */
export async function inspectRecord(work: Work, record: ListedRecord): Promise<Inspection | undefined> {
  const { cls, name, object } = record;
  const { key } = object;
  const limit =
    cls === 'data' ? work.session.maxFileBytes : Math.max(work.session.maxFileBytes, BESIDE_THE_TREE_BYTES);
  const maxBytes = sealedSize(limit);
  try {
    const version = await readSealed(work, { key, name, maxBytes });
    if (version === undefined) return undefined;
    const keyVersion = versionOf(version.keys, version.stored.body);
    // Undefined: its key was retired between the two lines above.
    return keyVersion === undefined ? { state: 'unknown_key' } : { state: 'whole', version, keyVersion };
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    if (error.code === 'limit_exceeded') return { state: 'too_large' };
    if (error.details['reason'] === 'unknown_key') {
      // Withheld, which only a flood of made-up keys brings about: nothing whole is to be named for that.
      const keyring = error.code === 'unavailable' ? await newerKeyring(work) : undefined;
      return keyring === undefined ? { state: 'unknown_key' } : inspectRecord({ ...work, keyring }, record);
    }
    if (error.code !== 'integrity') throw error;
    return { state: 'damaged', keyVersion: await namedVersion(work, key, maxBytes) };
  }
}

/** Undefined: it is the one that this work began with. */
async function newerKeyring({
  session: { keyrings },
  keyring,
  call: { signal },
}: Work): Promise<LoadedKeyring | undefined> {
  const newest = await keyrings.look({ signal });
  return newest === undefined || newest.epoch === keyring.epoch ? undefined : newest;
}

/** The version of the key that a refused object names, as far as it can be told. */
async function namedVersion(work: Work, key: ObjectKey, maxBytes: number): Promise<number | undefined> {
  const stored = await work.session.store.get(key, { maxBytes, signal: work.call.signal });
  return typeof stored === 'object' ? versionOf(work.keyring.keys, stored.body) : undefined;
}

function versionOf(keys: SealingKeys, object: Uint8Array): number | undefined {
  const header = readHeader(object);
  return header && keys.find(header.keyId)?.version;
}
