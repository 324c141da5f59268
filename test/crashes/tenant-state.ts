import type { Finding } from '../../src/admin/findings.ts';
import { type KeyStatus, readKeyStatus } from '../../src/admin/keys/key-status.ts';
import { listRecords } from '../../src/admin/scan.ts';
import { toBase64url } from '../../src/format/encoding.ts';
import { commitmentOf, readHeader } from '../../src/format/header.ts';
import { open } from '../../src/format/object.ts';
import { createKeyringEditor } from '../../src/keys/keyring-editor.ts';
import { openTenant } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import type { OpenTenant } from '../../src/open/wire-tenant.ts';
import type { Work } from '../../src/tree/tenant.ts';

/** One object that a tenant has sealed, whatever its class. */
export interface SealedRecord {
  readonly keyVersion: number | undefined;
  readonly text: string;
  readonly mtime: number;
  readonly origin: string;
  readonly versionId: string;
  /** Names the sealing. */
  readonly commitment: string;
}

/** The tenant as a process finds it that knows nothing. */
export interface TenantState {
  readonly epoch: number;
  /** The id of the root key that wraps the keyring. */
  readonly rootId: string;
  /** Versions, the active one last. */
  readonly keys: readonly number[];
  /** The records by their logical names. */
  readonly records: Readonly<Record<string, SealedRecord>>;
  /** The files with their texts, as commands read them. */
  readonly files: Readonly<Record<string, string>>;
  readonly findings: readonly Finding[];
}

/** Opens the tenant for this alone. */
export async function withTenant<T>(
  options: MemoryOptions,
  work: (parts: OpenTenant) => Promise<T>,
): Promise<T> {
  const { parts, close } = await openTenant(options);
  try {
    return await work(parts);
  } finally {
    await close();
  }
}

/** Reads all that a tenant has, and the keyring past every cache. */
export async function stateOf(options: MemoryOptions): Promise<TenantState> {
  return withTenant(options, async (parts) => {
    const status = await keyStatusOf(parts);
    if (status.state !== 'open') throw new Error(`the keyring is ${status.state}`);
    const work = await workOn(parts);
    const records: Record<string, SealedRecord> = {};
    const files: Record<string, string> = {};
    const listed = await listRecords(work);
    for (const record of listed.records) {
      const { name, object } = record;
      const stored = await work.tenant.store.get(object.key);
      if (typeof stored !== 'object') throw new Error(`${name} is gone`);
      records[name] = read(work, name, stored.body);
      if (record.cls !== 'data') continue;
      files[name] = new TextDecoder().decode(await parts.tree.read(record.path));
    }
    const { findings } = await parts.verify();
    const { epoch, rootId, keys } = status;
    return { epoch, rootId, keys: keys.map(({ version }) => version), records, files, findings };
  });
}

export async function keyStatusOf({ context, rootKeys }: OpenTenant): Promise<KeyStatus> {
  const { store, layout, clock, random } = context;
  const editor = createKeyringEditor({ store, layout, rootKeys, clock, random });
  return readKeyStatus({ rootKeys, editor });
}

export async function workOn({ context }: OpenTenant): Promise<Work> {
  const keyring = await context.keyrings.load();
  if (keyring === undefined) throw new Error('there is no keyring');
  return { tenant: context, keyring, call: { signal: undefined } };
}

function read({ keyring: { keys } }: Work, name: Parameters<typeof open>[0]['name'], object: Uint8Array) {
  const { content, mtime, origin, id } = open({ keys, name, object });
  const header = readHeader(object);
  return {
    keyVersion: header && keys.find(header.keyId)?.version,
    text: new TextDecoder().decode(content),
    mtime,
    origin: toBase64url(origin),
    versionId: toBase64url(id),
    commitment: toBase64url(commitmentOf(object)),
  };
}
