import type { Line } from '../../infra/local/terminal/screen.ts';
import { HEADER_BYTES } from '../../src/format/header.ts';
import { createLayout, type Layout, type ObjectKey } from '../../src/format/object-keys.ts';
import type { Environment } from '../../src/open/options/environment.ts';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';
import { readSettings, requireTenant } from '../../src/open/options/settings.ts';
import { openBaseStore } from '../../src/store/open-store.ts';
import type { ETag, ObjectStore } from '../../src/store/port.ts';

/** An object as a reader of the store without a key sees it. */
interface RawObject {
  /** The object key below the tenant's prefix; `keyring` for the keyring, which lies elsewhere. */
  readonly name: string;
  readonly etag: ETag;
  readonly body: Uint8Array;
}

/** A look at the store from outside: past the keys, past the library's view of it. */
export interface StoreView extends AsyncDisposable {
  /** Every object of the tenant, its keyring included. */
  objects(): Promise<readonly RawObject[]>;
  /** Lists what is new, rewritten or gone since the last call, as lines to print. */
  changes(): Promise<readonly Line[]>;
}

const SAMPLE_BYTES = 8;

/** Opens the configured store again. @throws MemoryError `misconfigured`. */
export async function openStoreView(env: Environment): Promise<StoreView> {
  const settings = readSettings(optionsFromEnvironment(env));
  const layout = createLayout({ prefix: settings.prefix, tenant: requireTenant(settings) });
  const base = await openBaseStore(settings);
  const store = base.forTenant(layout);
  let before: readonly RawObject[] = [];
  return {
    objects: () => readAll(store, layout),
    async changes() {
      const now = await readAll(store, layout);
      const lines = describeChanges(before, now);
      before = now;
      return lines;
    },
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  };
}

async function readAll(store: ObjectStore, layout: Layout): Promise<readonly RawObject[]> {
  const keys: ObjectKey[] = [layout.keyring];
  for await (const { objects } of store.list({ prefix: layout.tenantPrefix })) {
    keys.push(...objects.map(({ key }) => key));
  }
  const found = await Promise.all(
    keys.map(async (key) => {
      const object = await store.get(key);
      if (typeof object !== 'object') return [];
      const name = key === layout.keyring ? 'keyring' : key.slice(layout.tenantPrefix.length);
      return [{ name, etag: object.etag, body: object.body }];
    }),
  );
  return found.flat();
}

function describeChanges(before: readonly RawObject[], now: readonly RawObject[]): readonly Line[] {
  const known = new Map(before.map(({ name, etag }) => [name, etag]));
  const left = new Set(now.map(({ name }) => name));
  const gone = before.filter(({ name }) => !left.has(name));
  const written = now.filter(({ name, etag }) => known.get(name) !== etag);
  return [
    ...gone.map(({ name }): Line => ({ text: `- ${name}`, hang: 2, style: 'red' })),
    ...written
      .filter(({ name }) => isBeside(name))
      .map(
        ({ name, body }): Line => ({
          text: `+ ${name.slice(0, name.indexOf('/'))}: a sealed record of ${body.length} bytes`,
          hang: 2,
          style: 'green',
        }),
      ),
    ...written
      .filter(({ name }) => !isBeside(name))
      .flatMap(({ name, body }): readonly Line[] => [
        known.has(name)
          ? { text: `~ ${name}`, hang: 2, style: 'cyan' }
          : { text: `+ ${name}`, hang: 2, style: 'green' },
        { text: `${body.length} bytes: ${sample(body)}`, indent: 2 },
      ]),
  ];
}

/** Tells a record beside the files from a file: a version that was replaced, say, or who wrote one. */
function isBeside(name: string): boolean {
  return name.includes('/') && !name.startsWith('data/');
}

/** The first bytes behind the header, in hex: what has become of the text. */
function sample(body: Uint8Array): string {
  const bytes = body.subarray(HEADER_BYTES, HEADER_BYTES + SAMPLE_BYTES);
  return `… ${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ')} …`;
}
