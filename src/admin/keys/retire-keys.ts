import { forget, type Keyring } from '../../keys/keyring.ts';
import type { KeyringEditor } from '../../keys/keyring-editor.ts';
import type { ETag, RequestOptions } from '../../store/port.ts';
import type { MigrationPass } from './migrate-pass.ts';

/** The keyring as it was when a pass began, without its secrets. */
export interface KeyringFacts {
  readonly etag: ETag;
  readonly epoch: number;
  /** By the server's clock, milliseconds since the epoch. */
  readonly writtenAt: number;
  /** By the server's clock, when it was read. */
  readonly ageMs: number;
  readonly active: number;
  readonly old: readonly number[];
}

/** Undefined when the tenant has no keyring. */
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

/** Which old keys nothing stands under any more, and which are held by objects that cannot be read. */
interface Retirement {
  readonly free: readonly number[];
  readonly blocked: readonly number[];
}

/** What a pass says about the old keys of the keyring that it began with. */
export function judgeOldKeys({ old }: KeyringFacts, { found, damaged, unread }: MigrationPass): Retirement {
  if (unread > 0) return { free: [], blocked: old };
  return {
    free: old.filter((version) => !found.has(version)),
    blocked: old.filter((version) => damaged.has(version)),
  };
}

/**
 * Removes keys from the keyring, if it is still the one of `facts`. Undefined: it has changed since; otherwise when
 * it was written.
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
  // It may have declined on meeting its own write, whose answer was lost, or one of the same kind by another process.
  if (tenantKeys.some(({ version }) => versions.includes(version))) return undefined;
  return { writtenAt: record.writtenAt };
}

function withoutKeys(keyring: Keyring, versions: readonly number[]): Keyring {
  const tenantKeys = keyring.tenantKeys.filter(({ version }) => !versions.includes(version));
  return { ...keyring, epoch: keyring.epoch + 1, tenantKeys };
}
