import { S3Client } from '@aws-sdk/client-s3';
import type { Keyring } from '../../src/format/keyring-bytes.ts';
import type { NameMode } from '../../src/format/names.ts';
import { createLayout, fileKey, type Layout, parseTenantId } from '../../src/format/object-keys.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { openKeyring, rotateKeyring, sealKeyring } from '../../src/keys/keyring.ts';
import { createKeyringCache, type LoadedKeyring } from '../../src/keys/keyring-cache.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { openBaseStore } from '../../src/store/open-store.ts';
import { osRandom } from '../../src/store/os-random.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { watchRequests } from '../../src/store/s3/sdk/clients.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import type { RawBucket } from '../stage/raw-stores.ts';
import type { S3Server, TestBucket } from '../stage/s3.ts';
import { restrictedCredentials, tenantStatements } from '../stage/session-credentials.ts';
import { succeed } from '../stage/succeed.ts';

/** A file as its owner wrote it: once under the tenant's first key, then, as it is now, under the second. */
export interface SealedFile {
  readonly path: string;
  readonly key: string;
  /** The first line of what it says. */
  readonly text: string;
  readonly sealed: Uint8Array;
  readonly older: Uint8Array;
}

/** A tenant and its worker, whose credentials reach this tenant's objects only. */
export interface Party extends AsyncDisposable {
  readonly tenant: string;
  readonly layout: Layout;
  /** Plain S3 with the worker's credentials. */
  readonly client: S3Client;
  readonly loaded: LoadedKeyring;
  /** The keyring's object at its two epochs, and what stands in the second. */
  readonly keyring: { readonly first: Uint8Array; readonly second: Uint8Array; readonly opened: Keyring };
  readonly files: ReadonlyMap<string, SealedFile>;
  /** The store as the library sees it with the worker's credentials, also for the layout of another tenant. */
  storeFor(layout: Layout): ObjectStore;
  /** The memory of a worker that lives on until `reopen`, and then one of a worker that saw the keyring as it stood. */
  memory(): Memory;
  /** As a new process: nothing is cached, nothing was seen. */
  open(): Promise<Memory>;
  reopen(): Promise<void>;
}

export interface PartyGround {
  readonly server: S3Server;
  readonly bucket: TestBucket;
  readonly raw: RawBucket;
  readonly rootKey: Uint8Array;
  readonly names: NameMode;
}

/** Makes a tenant with a worker of its own that wrote these files, was given a second key, and wrote them again. */
export async function openParty(
  ground: PartyGround,
  { tenant, texts }: { readonly tenant: string; readonly texts: ReadonlyMap<string, string> },
): Promise<Party> {
  const { server, bucket, raw, rootKey, names } = ground;
  const credentials = await restrictedCredentials(server, tenantStatements(bucket.bucket, tenant));
  const { endpoint, region, forcePathStyle } = bucket.storeOptions;
  const s3 = { endpoint, region, forcePathStyle };
  const client = new S3Client({ ...s3, credentials });
  // A server that hangs up after a refusal would turn the next attempts into failures of the network.
  watchRequests(client, { onRequest: undefined, onDate: undefined, acceptsHost: () => true });
  const base = await openBaseStore({
    store: { kind: 's3', bucket: bucket.bucket, prefix: '' },
    s3,
    credentials,
  });
  const layout = createLayout({ prefix: '', tenant: parseTenantId(tenant) });
  const storeFor: Party['storeFor'] = (others) => base.forTenant(others);
  const open = (): Promise<Memory> =>
    openMemory({ store: storeFor(layout), tenant, rootKey, names, lazy: true });
  const keyrings = createKeyringCache({
    store: storeFor(layout),
    layout,
    rootKeys: [envRootKey(rootKey)],
    ttlMs: 900_000,
  });

  let memory = await open();
  for (const [path, content] of texts) {
    await succeed(memory, { command: 'create', path, file_text: `An earlier draft of ${content}` });
  }
  const first = await raw.read(layout.keyring);
  const opening = { tenant, rootKeys: [envRootKey(rootKey)] };
  const rotated = rotateKeyring(await openKeyring({ bytes: first, ...opening }), {
    random: osRandom,
    created: Date.now(),
  });
  const second = await sealKeyring({
    keyring: rotated,
    tenant,
    rootKey: envRootKey(rootKey),
    random: osRandom,
  });
  await raw.write(layout.keyring, second);
  const loaded = await keyrings.load();
  if (loaded === undefined) throw new Error('there is no keyring');

  const keyOf = (path: string): string => fileKey(layout, loaded.names, parseMemoryPath(path));
  const files = new Map<string, SealedFile>();
  await memory.close();
  memory = await open();
  for (const [path, content] of texts) {
    const key = keyOf(path);
    const older = await raw.read(key);
    await succeed(memory, { command: 'str_replace', path, old_str: 'An earlier draft of ', new_str: '' });
    const [text = ''] = content.split('\n');
    files.set(path, { path, key, text, older, sealed: await raw.read(key) });
  }

  return {
    tenant,
    layout,
    client,
    loaded,
    keyring: { first, second, opened: await openKeyring({ bytes: second, ...opening }) },
    files,
    storeFor,
    memory: () => memory,
    open,
    async reopen() {
      await memory.close();
      // Not lazy: what loads the keyring beside the test would see what the test then puts in its place.
      memory = await openMemory({ store: storeFor(layout), tenant, rootKey, names });
    },
    async [Symbol.asyncDispose]() {
      await memory.close();
      keyrings.close();
      client.destroy();
      await base[Symbol.asyncDispose]();
    },
  };
}

/** The party's file at `path`, which it has written. */
export function fileOf({ files }: Party, path: string): SealedFile {
  const file = files.get(path);
  if (file === undefined) throw new Error('that file was not written');
  return file;
}
