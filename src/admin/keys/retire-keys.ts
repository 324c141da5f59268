import type { Keyring } from '../../format/keyring-bytes.ts';
import { forget } from '../../keys/keyring.ts';
import type { KeyringEditor } from '../../keys/keyring-editor.ts';
import type { ETag, RequestOptions } from '../../store/port.ts';
import type { MigrationPass } from './migrate-pass.ts';

/** The keyring as it was when a pass began, without its secrets. */
export interface KeyringFacts {
  readonly etag: ETag;
  readonly epoch: number;
  /** The time at which it was written, by the server's clock, milliseconds since the epoch. */
  readonly writtenAt: number;
  /** Its age when it was read, by the server's clock, in milliseconds. */
  readonly ageMs: number;
  readonly active: number;
  readonly old: readonly number[];
}

/** Reads the keyring; undefined when the tenant has none. */
export async function readKeyringFacts(
  editor: KeyringEditor,
  request: RequestOptions,
): Promise<KeyringFacts | undefined> {
  const record = await editor.read(request);
  if (record === undefined) return undefined;
  const { keyring, etag, writtenAt, ageMs } = record;
  forget(keyring);
  const versions = keyring.tenantKeys.map(({ version }) => version);
  const [active = 0] = versions.slice(-1);
  return { etag, epoch: keyring.epoch, writtenAt, ageMs, active, old: versions.slice(0, -1) };
}

/** The old keys that no object names, and those that unreadable objects block. */
interface Retirement {
  readonly free: readonly number[];
  readonly blocked: readonly number[];
}

/** Judges the old keys of the keyring with which a pass began. */
export function judgeOldKeys({ old }: KeyringFacts, { found, damaged, unread }: MigrationPass): Retirement {
  if (unread > 0) return { free: [], blocked: old };
  return {
    free: old.filter((version) => !found.has(version)),
    blocked: old.filter((version) => damaged.has(version)),
  };
}

/**
 * Removes keys from the keyring, if it is still the one of `facts`, and answers when it was written. Undefined: it has
 * changed since.
 */
export async function retireKeys(
  editor: KeyringEditor,
  facts: KeyringFacts,
  given: RequestOptions & { readonly versions: readonly number[] },
): Promise<{ readonly writtenAt: number } | undefined> {
  const { versions, signal } = given;
  const { record } = await editor.change(
    ({ etag, keyring }) => (etag === facts.etag ? withoutKeys(keyring, versions) : undefined),
    { signal },
  );
  forget(record.keyring);
  const { tenantKeys } = record.keyring;
  // The change may have stopped when it met its own write, whose answer was lost, or one of the same kind by another
  // process.
  if (tenantKeys.some(({ version }) => versions.includes(version))) return undefined;
  return { writtenAt: record.writtenAt };
}

function withoutKeys(keyring: Keyring, versions: readonly number[]): Keyring {
  const tenantKeys = keyring.tenantKeys.filter(({ version }) => !versions.includes(version));
  return { ...keyring, epoch: keyring.epoch + 1, tenantKeys };
}
