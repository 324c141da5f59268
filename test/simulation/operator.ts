import { expireTree } from '../../src/admin/expiry/expire.ts';
import { type ExportReport, exportTree } from '../../src/admin/export/export-tree.ts';
import type { NewFolder } from '../../src/admin/export/new-folder.ts';
import { migrateObjects } from '../../src/admin/keys/migrate.ts';
import { rotateKey } from '../../src/admin/keys/rotate.ts';
import { turnTenantHistory } from '../../src/admin/keys/turn-history.ts';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyringEditor } from '../../src/keys/keyring-editor.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { buryOldTombstones } from '../../src/store/tombstones.ts';
import type { Tenant } from '../../src/tree/tenant.ts';
import type { StoreClass } from './sim-store.ts';
import { LAYOUT, ROOT_KEY } from './tenant.ts';

export type Chore = 'rotate' | 'migrate' | 'reencrypt' | 'repair' | 'bury' | 'expire' | 'restore' | 'history';

export const CHORES: readonly Chore[] = [
  'rotate',
  'rotate',
  'migrate',
  'migrate',
  'migrate',
  'reencrypt',
  'reencrypt',
  'repair',
  'bury',
  'expire',
  'restore',
];

/** The shortest time to live of a keyring in the caches of a tenant, so that keys retire within a simulation. */
export const TTL_MS = 60_000;
/** The least age at which a tombstone may be buried. */
const BURIAL_AGE_MS = 180_000;
/** The age that is added to objects, so that a migration leaves none to the next pass. */
const AGED_MS = 120_000;

export function createOperator(parts: {
  readonly context: Tenant;
  /** The store below the wrapper that guards deletes. */
  readonly plain: ObjectStore;
  readonly storeClass: StoreClass;
  readonly wallClock: () => number;
  /**
   * Tells whether an object may be refused by now: one came late under a key that is gone, or was put back by a late
   * create.
   */
  readonly maySeeDamage: () => boolean;
}): (chore: Chore) => Promise<void> {
  const { context, plain, storeClass, wallClock, maySeeDamage } = parts;
  const { store, clock, monotonic, random, pause } = context;
  const rootKeys = [envRootKey(ROOT_KEY, { random })];
  const editor = createKeyringEditor({ store, layout: LAYOUT, rootKeys, clock, random });
  // A migration that takes no account of age: taking back has to stand it, too.
  const hasty: Tenant = { ...context, store: aged(store) };

  /**
   * Refuses findings of an export that runs beside renames, migrations and deletes: each file that it comes upon can be
   * opened, or is gone.
   */
  const expectNoDamage = ({ findings }: ExportReport): void => {
    const damaged = findings.filter(({ kind }) => kind === 'damaged');
    if (damaged.length > 0 && !maySeeDamage()) throw new Error('a restore found a damaged file');
  };

  const run = async (chore: Chore): Promise<unknown> => {
    switch (chore) {
      case 'rotate':
        return rotateKey({ editor, clock, random }, { force: true });
      case 'migrate':
      case 'reencrypt':
        return migrateObjects(hasty, { editor, reencrypt: chore === 'reencrypt', ttlMs: TTL_MS });
      case 'repair':
        return verifyTree(context, { repair: true });
      case 'expire':
        return expireTree(context, { afterDays: 1 });
      case 'history':
        return turnTenantHistory({ editor, stamps: context.stamps }, 'on');
      case 'restore':
        return exportTree(context, { to: 'memory' }, async () => MEMORY_FOLDER).then(expectNoDamage);
      case 'bury':
        if (storeClass === 'guarded') return undefined;
        return buryOldTombstones({
          store: plain,
          prefix: LAYOUT.tenantPrefix,
          olderThanMs: BURIAL_AGE_MS,
          random,
          time: { clock: monotonic, wallClock, pause },
        });
    }
  };
  return async (chore) => {
    await run(chore);
  };
}

/** Takes what is exported and keeps nothing of it. */
const MEMORY_FOLDER: NewFolder = {
  write: async () => undefined,
  finish: async () => {},
  abandon: async () => {},
};

/** Wraps the store, and shows its files as older than they are. */
function aged(store: ObjectStore): ObjectStore {
  const older = <T extends { readonly lastModified: number }>(object: T): T => ({
    ...object,
    lastModified: object.lastModified - AGED_MS,
  });
  return {
    ...store,
    async get(key, options) {
      const found = await store.get(key, options);
      return typeof found === 'object' && key.startsWith(LAYOUT.data) ? older(found) : found;
    },
    async *list(options) {
      for await (const page of store.list(options)) {
        const objects = page.objects.map((object) =>
          object.key.startsWith(LAYOUT.data) ? older(object) : object,
        );
        yield { ...page, objects };
      }
    },
  };
}
