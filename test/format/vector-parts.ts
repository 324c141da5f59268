import { keyringKey } from '../../src/format/keyring-bytes.ts';
import { rebind, seal } from '../../src/format/object.ts';
import type { LogicalName } from '../../src/format/object-keys.ts';
import { newVersion } from '../../src/format/version.ts';
import type { SealingKeys } from '../../src/format/wrap.ts';
import { entriesOf, forgeKeyring, forgeObject } from './forge.ts';
import {
  contentOf,
  format1,
  fromHex,
  input,
  type KeyringFields,
  type ObjectFields,
  scripted,
} from './format-vectors.ts';

/** Finds the case of a group by its id. */
function byId<T extends { readonly id: string }>(cases: readonly T[], id: string): T {
  const found = cases.find((one) => one.id === id);
  if (found === undefined) throw new Error(`format-1.json has no case ${id}`);
  return found;
}

export function keyringFields(id: string): KeyringFields {
  return { ...format1.keyrings.defaults, ...byId(format1.keyrings.cases, id) };
}

export function objectFields(id: string): ObjectFields {
  return { ...format1.objects.defaults, ...byId([...format1.objects.cases, ...format1.forgedObjects], id) };
}

/** A keyring's tenant keys as they are in memory. */
export function tenantKeysOf(fields: KeyringFields): readonly ReturnType<typeof keyringKey>[] {
  return entriesOf(fields).map(([version, created, key]) => keyringKey(version, Number(created), input(key)));
}

/** Answers the keys of a process that has opened the keyring case `id`; `active` names another key than the last. */
export function sealingKeys(id: string, active?: string): SealingKeys {
  const fields = keyringFields(id);
  const keys = tenantKeysOf(fields);
  const find = (keyId: Uint8Array) => keys.find((key) => Buffer.compare(key.keyId, keyId) === 0);
  const chosen = active === undefined ? keys.at(-1) : find(keyringKey(1, 0, input(active)).keyId);
  if (chosen === undefined) throw new Error(`keyring ${id} does not hold the key ${active}`);
  return { tenant: fields.tenant, keyringId: input(fields.keyringId), active: chosen, find };
}

/**
 * Answers the clock and the time before it that bind an object at exactly that hybrid logical time, unless the object
 * before it is later.
 */
function boundAt(bound: number | string): { readonly clock: number; readonly after: bigint | undefined } {
  return { clock: 0, after: BigInt(bound) === 0n ? undefined : BigInt(bound) - 1n };
}

/** Under which version of the tenant key a reader finds the data key to be drawn. */
export function drawnUnderOf({ keyring, key, drawnUnder }: ObjectFields): number {
  return Math.min(drawnUnder, sealingKeys(keyring, key).active.version);
}

export function sealCase(fields: ObjectFields): Uint8Array {
  return seal({
    keys: sealingKeys(fields.keyring, fields.key),
    name: fields.name as LogicalName,
    content: contentOf(fields),
    version: newVersion({
      mtime: Number(fields.mtime),
      previous: input(fields.previous),
      writer: input(fields.writer),
      random: scripted(input(fields.versionId)),
    }),
    ...boundAt(fields.bound),
    origin: input(fields.origin),
    random: scripted(input(fields.dek), input(fields.nonce)),
  });
}

/** The bytes of any vector that others refer to: an object, a re-bound one, a keyring or the shred marker. */
export function vectorBytes(id: string): Uint8Array {
  if (id === 'tombstone') return fromHex(format1.keyrings.tombstone);
  if (format1.keyrings.cases.some((one) => one.id === id)) return forgeKeyring(keyringFields(id));
  if (format1.forgedObjects.some((one) => one.id === id)) {
    const fields = objectFields(id);
    return forgeObject(fields, keyringFields(fields.keyring));
  }
  const rebound = format1.rebinds.find((one) => one.id === id);
  if (rebound === undefined) return sealCase(objectFields(id));
  return rebind({
    keys: sealingKeys(rebound.keyring),
    object: vectorBytes(rebound.base),
    from: rebound.from as LogicalName,
    to: rebound.to as LogicalName,
    ...boundAt(rebound.bound),
    origin: rebound.origin === undefined ? undefined : input(rebound.origin),
    random: scripted(input(rebound.nonce)),
  });
}
