import { randomBytes } from 'node:crypto';
import { hasCode, MemoryError, type MemoryErrorCode } from '../errors.ts';
import { createLayout, type Layout } from '../format/object-keys.ts';
import { loadSodium } from '../format/sodium.ts';
import { createKeyringCache } from '../keys/keyring-cache.ts';
import type { RootKey } from '../keys/root-key.ts';
import { type Config, readConfig } from '../open/environment.ts';
import { openRootKeys } from '../open/open-root-keys.ts';
import type { StoreLocation } from '../open/store-location.ts';
import type { ObjectStore } from '../store/port.ts';
import { openS3ObjectStore } from '../store/s3/s3-store.ts';
import { openSqliteObjectStore } from '../store/sqlite/sqlite-store.ts';
import { type Finding, probeConditions } from './condition-probe.ts';
import { operatorLine } from './terminal.ts';

interface DoctorOptions {
  readonly print: (line: string) => Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Checks, in this order and up to the first failure that leaves nothing more to check: the configuration, the root
 * keys, the store, its conditions, the tenant's keyring. Prints one line for each; resolves to whether all are well.
 * Writes scratch objects only, beside the tenant's probe, and removes them.
 */
export async function runDoctor(options: DoctorOptions): Promise<boolean> {
  let isWell = true;
  try {
    for await (const { ok, what, advice } of examine(options)) {
      isWell &&= ok;
      await options.print(ok ? `ok    ${what}` : `FAIL  ${what} — ${advice ?? 'see above'}`);
    }
  } catch (error) {
    if (!(error instanceof Failed)) {
      throw error;
    }
    isWell = false;
    await options.print(`FAIL  ${error.what} — ${adviceFor(error.cause)}`);
  }
  return isWell;
}

async function* examine({ signal }: DoctorOptions): AsyncGenerator<Finding> {
  const { config, location, layout } = await attempt('configuration', () => requireAll(readConfig()));
  yield { ok: true, what: `configuration: ${storeWords(location)}, tenant and root key are set` };

  await loadSodium();
  const rootKeys = await attempt('root key', () => openRootKeys(config.rootKeys).keys);
  yield {
    ok: true,
    what: rootKeys.length === 1 ? 'root key: one' : `root keys: ${rootKeys.length}, the first wraps`,
  };

  await using store = await attempt('store', () => openPlainStore(location, config));
  await attempt('store', () => reach(store, layout, signal));
  yield { ok: true, what: 'store: reachable' };

  const isCustom = location.kind === 's3' && config.s3.endpoint !== undefined;
  const probe = probeConditions({
    store,
    scratch: `${layout.probe}-${randomBytes(6).toString('hex')}`,
    isTrustedGuarded: location.kind === 's3' ? (config.s3.guarded ?? !isCustom) : true,
    signal,
  });
  const next = (): Promise<IteratorResult<Finding>> => attempt('conditions', () => probe.next());
  for (let finding = await next(); finding.done !== true; finding = await next()) {
    yield finding.value;
  }

  yield await attempt('keyring', () => openKeyring({ store, layout, rootKeys, config, signal }));
}

function requireAll(config: Config): {
  readonly config: Config;
  readonly location: StoreLocation;
  readonly layout: Layout;
} {
  if (config.store === undefined || config.tenant === undefined) {
    throw new MemoryError('misconfigured', 'SEALED_MEMORY_STORE and SEALED_MEMORY_TENANT must be set.');
  }
  const prefix = config.store.kind === 's3' ? config.store.prefix : '';
  return { config, location: config.store, layout: createLayout({ prefix, tenant: config.tenant }) };
}

/** Without wrappers, so that the server itself is seen; conditional deletes are sent as such. */
function openPlainStore(location: StoreLocation, config: Config): ObjectStore {
  switch (location.kind) {
    case 'memory':
      return openSqliteObjectStore({ path: ':memory:' });
    case 'sqlite':
      return openSqliteObjectStore({ path: location.path });
    case 's3':
      return openS3ObjectStore({ bucket: location.bucket, ...config.s3, guarded: true });
  }
}

async function reach(store: ObjectStore, layout: Layout, signal: AbortSignal | undefined): Promise<void> {
  for await (const _page of store.list({ prefix: layout.data, maxKeys: 1, signal })) {
    return;
  }
}

async function openKeyring(given: {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly rootKeys: readonly RootKey[];
  readonly config: Config;
  readonly signal: AbortSignal | undefined;
}): Promise<Finding> {
  const { store, layout, rootKeys, config, signal } = given;
  const nameMode = config.names;
  const keyrings = createKeyringCache({
    ...{ store, layout, rootKeys },
    ...config.keyring,
    ...(nameMode && { nameMode }),
  });
  try {
    const loaded = await keyrings.load({ ...(signal && { signal }) });
    const what =
      loaded === undefined ? 'this tenant has none yet; its first write makes it' : 'opens with the root key';
    return { ok: true, what: `keyring: ${what}` };
  } finally {
    keyrings.close();
  }
}

/** A step that cannot go on; `what` names it. */
class Failed extends Error {
  readonly what: string;

  constructor(what: string, cause: unknown) {
    super(what, { cause });
    this.what = what;
  }
}

async function attempt<T>(what: string, action: () => T | Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw hasCode(error, 'aborted') ? error : new Failed(what, error);
  }
}

function adviceFor(error: unknown): string {
  if (!(error instanceof MemoryError)) {
    return operatorLine(error) ?? 'unexpected failure';
  }
  const advice = ADVICE[error.code];
  const reason = error.message.replace(/\.$/, '');
  return advice === undefined ? reason : `${reason}: ${advice}`;
}

/** Where the message does not say itself what to do. */
const ADVICE: Partial<Record<MemoryErrorCode, string>> = {
  unavailable: 'check the endpoint and the network, then try again',
  timeout: 'check the endpoint and the network, then try again',
  integrity: 'the keyring is not what this root key sealed for this tenant; restore it from a backup',
  unsupported_format: 'use the version of sealed-memory that wrote it',
};

function storeWords(location: StoreLocation): string {
  switch (location.kind) {
    case 'memory':
      return 'a store that ends with the process';
    case 'sqlite':
      return 'an SQLite file';
    case 's3':
      return 'a bucket';
  }
}
