import type { MigrationReport } from '../../src/admin/keys/migrate.ts';
import { type MigrateOptions, migrateObjects } from '../../src/admin/keys/migrate.ts';
import { readHeader } from '../../src/format/header.ts';
import { seal } from '../../src/format/object.ts';
import {
  classKey,
  classLogicalName,
  OBJECT_CLASSES,
  type ObjectClass,
  type ObjectKey,
} from '../../src/format/object-keys.ts';
import { newVersion } from '../../src/format/version.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { forget, rotateKeyring } from '../../src/keys/keyring.ts';
import { createKeyringEditor, type KeyringEditor } from '../../src/keys/keyring-editor.ts';
import type { Tenant, Work } from '../../src/tree/tenant.ts';
import { TEST_ROOT_KEY, type TestClient, type TestSite } from './test-tree.ts';

/**
 * The operator who rotates a tenant's keys and migrates its objects: one more process, whose keyring editor reads past
 * its caches.
 */
export interface KeyOperator {
  readonly client: TestClient;
  readonly editor: KeyringEditor;
  rotate(): Promise<void>;
  /** Retires at once unless told otherwise: a time to live of 0 ms. */
  migrate(options?: MigrateOptions): Promise<MigrationReport>;
  /** The versions of the tenant keys in the keyring, ascending. */
  versions(): Promise<readonly number[]>;
}

export async function createOperator(site: TestSite, client?: TestClient): Promise<KeyOperator> {
  const operator = client ?? (await site.client());
  const context = await operator.open();
  const editor = editorOf(context.tenant);
  return {
    client: operator,
    editor,
    rotate: () => rotate(editor, context.tenant),
    migrate: (options) => migrateObjects(context.tenant, { editor, ttlMs: 0, ...options }),
    versions: () => versionsOf(editor),
  };
}

export function editorOf(
  context: Tenant,
  rootKey: Uint8Array = TEST_ROOT_KEY,
  store = context.store,
): KeyringEditor {
  const { layout, stamps, random } = context;
  return createKeyringEditor({ store, layout, rootKeys: [envRootKey(rootKey)], clock: stamps.now, random });
}

/** Appends a tenant key, however young the active one is. */
export async function rotate(
  editor: KeyringEditor,
  { stamps, random }: Pick<Tenant, 'stamps' | 'random'>,
): Promise<void> {
  const { record } = await editor.change(({ keyring }) =>
    rotateKeyring(keyring, { random, created: stamps.now() }),
  );
  forget(record.keyring);
}

export async function versionsOf(editor: KeyringEditor): Promise<readonly number[]> {
  const record = await editor.read();
  if (record === undefined) throw new Error('there is no keyring');
  forget(record.keyring);
  return record.keyring.tenantKeys.map(({ version }) => version);
}

/** Seals an object beside the tree, as a holder of the work's keys may. */
export async function putRecord(
  work: Work,
  cls: ObjectClass,
  id: string,
  content: Uint8Array,
): Promise<ObjectKey> {
  const { random } = work.tenant;
  const { keys } = work.keyring;
  const name = classLogicalName(cls, id);
  const sealed = seal({
    keys,
    name,
    content,
    version: newVersion({ mtime: work.tenant.clock(), random }),
    origin: random(16),
    random,
  });
  const key = classKey(work.tenant.layout, cls, id);
  await work.tenant.store.put(key, sealed, { mode: 'overwrite' });
  return key;
}

/** One object of every class beside the tree. */
export async function putEveryClass(work: Work, content: Uint8Array): Promise<readonly ObjectKey[]> {
  return Promise.all(OBJECT_CLASSES.map((cls) => putRecord(work, cls, 'an-id', content)));
}

/** Reads every object below the tenant's prefix, as it lies in the store. */
export async function storedObjects(
  { store }: Pick<Tenant, 'store'>,
  prefix = 'tenants/',
): Promise<ReadonlyMap<ObjectKey, Uint8Array>> {
  const objects = new Map<ObjectKey, Uint8Array>();
  for await (const page of store.list({ prefix })) {
    for (const { key } of page.objects) {
      const stored = await store.get(key);
      if (typeof stored === 'object') objects.set(key, stored.body);
    }
  }
  return objects;
}

/**
 * Answers the version of the tenant key that an object names, by the keyring of the work; undefined for an unknown one.
 */
export function keyVersionOf(work: Work, object: Uint8Array): number | undefined {
  const header = readHeader(object);
  return header && work.keyring.keys.find(header.keyId)?.version;
}
