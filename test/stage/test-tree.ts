import { describe, onTestFinished } from 'vitest';
import type { NameMode } from '../../src/format/names.ts';
import { createLayout, type Layout, parseTenantId } from '../../src/format/object-keys.ts';
import { loadSodium } from '../../src/format/sodium.ts';
// Loads now what is otherwise loaded at its first use: virtual time would pass meanwhile.
import { VERSION_SAVER } from '../../src/history/save/version-saver.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyringCache } from '../../src/keys/keyring-cache.ts';
import type { RootKey } from '../../src/keys/root-key.ts';
import { type MemoryPath, parseMemoryPath } from '../../src/language/path.ts';
import type { LogFields } from '../../src/logger.ts';
import { guardDeletes } from '../../src/store/guarded-delete.ts';
import type { ObjectStore } from '../../src/store/port.ts';

import {
  createQuota,
  createTenantUsage,
  type TenantLimits,
  type TenantUsage,
} from '../../src/tree/admission/quota.ts';
import '../../src/tree/list-parts.ts';
import '../../src/tree/remove.ts';
import type { LeasedWork } from '../../src/tree/rename/lease.ts';
import '../../src/tree/rename/lease.ts';
import '../../src/tree/rename/rename-directory.ts';
import '../../src/tree/rename/rename.ts';
import { createStamps, type Stamps } from '../../src/stamps.ts';
import { createSightings } from '../../src/tree/sightings.ts';
import type { Tenant, Work } from '../../src/tree/tenant.ts';
import { createTree, type Tree } from '../../src/tree/tree.ts';
import { createVersionCaches, DEFAULT_CACHE_BYTES } from '../../src/tree/version-cache.ts';
import { drawsOf } from '../runner/draws.ts';
import { QUICK } from '../runner/thorough.ts';
import { type HeldStore, openHeldStore } from './held-store.ts';
import {
  type Around,
  delayStore,
  ignoreDeleteConditions,
  interceptStore,
  recordInto,
  type StoreCall,
} from './store-wrappers.ts';
import { createVirtualTime, type VirtualTime } from './virtual-time.ts';

/** A store that honours the condition of a delete, and one that ignores it and needs tombstones. */
export type StoreKind = 'guarded' | 'unguarded';

export const STORE_KINDS: readonly StoreKind[] = ['guarded', 'unguarded'];

/** The kinds that a run tries: both, or in the quick run the one that its seed draws. */
export const TRIED_KINDS: readonly StoreKind[] = QUICK
  ? [drawsOf('kinds of stores')() < 0.5 ? 'guarded' : 'unguarded']
  : STORE_KINDS;

export interface TestSite {
  readonly kind: StoreKind;
  readonly time: VirtualTime;
  /** The store without any wrapper before it. */
  readonly base: ObjectStore;
  /** One more process with caches of its own; the same tenant unless told otherwise. */
  client(options?: ClientOptions): Promise<TestClient>;
}

export interface ClientOptions {
  readonly tenant?: string;
  readonly names?: NameMode;
  /** The first wraps, all unwrap; `TEST_ROOT_KEY` alone unless given. */
  readonly rootKeys?: readonly RootKey[];
  readonly maxFileBytes?: number;
  /** Each request takes a random time of up to so many milliseconds both ways. */
  readonly delayMs?: number;
  /** The bytes that the process may hold of files that it reads and writes. */
  readonly cacheBytes?: number;
  /** The time to live of the keyring in the process's cache. */
  readonly ttlMs?: number;
  /** True for a tenant that keeps history from the moment at which this process creates it. */
  readonly keepsHistory?: boolean;
  readonly limits?: TenantLimits;
  /** The process's count of what the tenant holds; one of its own unless given. */
  readonly usage?: TenantUsage;
  /** The process's own clocks, where they are not the site's. */
  readonly clock?: () => number;
  readonly monotonic?: () => number;
  /** The times that it writes down; by its clocks unless given. */
  readonly stamps?: Stamps;
  /** Stands around the requests below what makes deletes guarded. */
  readonly beneath?: Around;
}

/** One process of a tenant, with the work that it does. */
export interface TestClient {
  readonly tree: Tree;
  readonly tenant: Tenant;
  readonly layout: Layout;
  /** The requests of the work so far, those of the keyring included; emptied by `length = 0`. */
  readonly calls: StoreCall[];
  readonly logged: readonly { readonly message: string; readonly fields: LogFields | undefined }[];
  /** Stands around the requests of this process from now on. */
  intercept(around: Around): void;
  open(signal?: AbortSignal): Promise<Work>;
  /** The text of a file; undefined when there is none. */
  text(path: string): Promise<string | undefined>;
  create(path: string, text: string): Promise<void>;
  /** Appends `text` to the file. */
  append(path: string, text: string, signal?: AbortSignal): Promise<void>;
  rename(from: string, to: string, signal?: AbortSignal): Promise<void>;
  remove(path: string): Promise<void>;
  /** The paths of all files, sorted. */
  paths(directory?: string): Promise<readonly string[]>;
}

export const TEST_ROOT_KEY: Uint8Array = new Uint8Array(32).fill(7);

/**
 * @param dress puts something before the store that every process then has before it, or another store in its place.
 * @param start The time at which the site begins, in milliseconds since the epoch; the same for all unless given.
 */
export async function createSite<Base extends ObjectStore = ObjectStore>(
  kind: StoreKind = 'guarded',
  seed = 1,
  dress: (store: HeldStore, time: VirtualTime) => Base = (store) => store as ObjectStore as Base,
  start?: number,
): Promise<TestSite & { readonly base: Base }> {
  await loadSodium();
  const time = createVirtualTime(seed, start);
  const held = openHeldStore(time.clock);
  const base = dress(held, time);
  return { kind, time, base, client: (options = {}) => createClient({ kind, time, base }, options) };
}

/** Makes a site as `createSite` does, for as long as the test that opens it runs. */
export async function openSite(...options: Parameters<typeof createSite>): Promise<TestSite> {
  const site = await createSite(...options);
  onTestFinished(() => site.base[Symbol.asyncDispose]());
  return site;
}

/** Declares a suite for a guarded and for an unguarded store, as far as the run tries both; every test gets an empty one. */
export function describeOnBothKinds(title: string, body: (site: () => Promise<TestSite>) => void): void {
  for (const kind of TRIED_KINDS) {
    describe(`${title} on ${kind === 'guarded' ? 'a guarded' : 'an unguarded'} store`, () => {
      body(() => openSite(kind));
    });
  }
}

async function createClient(site: Omit<TestSite, 'client'>, options: ClientOptions): Promise<TestClient> {
  const { kind, time, base } = site;
  const layout = createLayout({ prefix: '', tenant: parseTenantId(options.tenant ?? 'acme') });
  const calls: StoreCall[] = [];
  const logged: { message: string; fields: LogFields | undefined }[] = [];
  const log = (message: string, fields?: LogFields): void => {
    logged.push({ message, fields });
  };
  let around: Around = (_, proceed) => proceed();
  const { pause, randomBytes: random } = time;
  const { clock = time.clock, monotonic = time.clock } = options;
  const { stamps = createStamps({ clock, monotonic }) } = options;
  const wire = interceptStore(base, options.beneath ?? ((_, proceed) => proceed()));
  const slow = options.delayMs === undefined ? wire : delayStore(wire, time, options.delayMs);
  const dressed =
    kind === 'guarded'
      ? slow
      : guardDeletes(ignoreDeleteConditions(slow), { clock: time.clock, pause, random });
  const record = recordInto(calls);
  const store = interceptStore(dressed, (call, proceed) => record(call, () => around(call, proceed)));
  const keyrings = createKeyringCache({
    store,
    layout,
    rootKeys: options.rootKeys ?? [envRootKey(TEST_ROOT_KEY)],
    nameMode: options.names,
    ttlMs: options.ttlMs,
    keepsHistory: options.keepsHistory,
    clock,
    monotonic,
    stamp: stamps.now,
    random,
  });
  const context: Tenant = {
    store,
    layout,
    keyrings,
    sightings: createSightings(),
    cache: createVersionCaches(options.cacheBytes ?? DEFAULT_CACHE_BYTES)(),
    maxFileBytes: options.maxFileBytes ?? 1_048_576,
    quota:
      options.limits &&
      createQuota(options.usage ?? createTenantUsage(), options.limits, { clock, monotonic }),
    clock,
    monotonic,
    stamps,
    concurrency: 32,
    concurrentBytes: 33_554_432,
    random,
    pause,
    logger: { debug: log, info: log, warn: log, error: log },
    loadSaver: async () => VERSION_SAVER,
  };
  const tree = createTree(context);

  return {
    tree,
    tenant: context,
    layout,
    calls,
    logged,
    intercept(next) {
      around = next;
    },
    async open(signal) {
      const keyring = await keyrings.load({ create: true });
      if (keyring === undefined) throw new Error('there is no keyring');
      return { tenant: context, keyring, call: { signal } };
    },
    async text(path) {
      const content = await tree.read(at(path));
      return content && new TextDecoder().decode(content);
    },
    create: async (path, text) => void (await tree.create(at(path), bytes(text))),
    append: (path, text, signal) =>
      tree.edit(
        at(path),
        (content) => ({ content: bytes(new TextDecoder().decode(content) + text), result: undefined }),
        { signal },
      ),
    rename: (from, to, signal) => tree.rename({ from: at(from), to: at(to) }, { signal }),
    remove: (path) => tree.remove(at(path)),
    async paths(directory = '/memories') {
      const { files } = await tree.list(at(directory));
      return files.map(({ path }) => path as string).sort();
    },
  };
}

export function at(path: string): MemoryPath {
  return parseMemoryPath(path);
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Makes the same work of a tenant that differs in a few things. */
export function withTenant(work: Work, changes: Partial<Tenant>): Work {
  return { ...work, tenant: { ...work.tenant, ...changes } };
}

/** Makes work that counts as leased, for the steps of a rename on their own: its store renews no lease. */
export function leased(work: Work): LeasedWork {
  return work as LeasedWork;
}

/** Makes the stamps of a process whose clock is the store's. */
export function inTime(clock: () => number): Omit<Stamps, 'observe'> {
  return { now: clock, storeTime: clock, skew: () => 0 };
}
