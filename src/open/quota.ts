import { resolve } from 'node:path';
import type { TenantId } from '../format/object-keys.ts';
import { createRecent } from '../recent.ts';
import { createQuota, createTenantUsage, type TenantUsage } from '../tree/quota.ts';
import type { Quota, Session } from '../tree/session.ts';
import type { Settings } from './settings.ts';
import type { BaseStore } from './store.ts';

/** Tenants that this process counts; of one beyond it is counted once more. */
const MOST_TENANTS = 100_000;

/** One for all memories of the process, so that those of one tenant share what was counted and what they write. */
const usages = createRecent<string, TenantUsage>({ most: MOST_TENANTS });
const stores = new WeakMap<object, number>();
let known = 0;

/** The quota of a tenant in the limits of the settings. */
export function openQuota(
  settings: Settings,
  { base, tenant }: { readonly base: BaseStore; readonly tenant: TenantId },
  clocks: Pick<Session, 'clock' | 'monotonic'>,
): Quota {
  const name = `${placeOf(settings, base)} ${tenant}`;
  const usage = usages.get(name) ?? createTenantUsage();
  usages.set(name, usage);
  return createQuota(usage, settings.limits, clocks);
}

/** The same text for two ways to one store. */
function placeOf({ store, s3 }: Settings, base: BaseStore): string {
  switch (store.kind) {
    case 's3':
      return `s3 ${s3.endpoint ?? ''} ${store.bucket} ${store.prefix}`;
    case 'sqlite':
      return `sqlite ${resolve(store.path)}`;
    default: {
      const opened = store.kind === 'opened' ? store.store : base.plain;
      const id = stores.get(opened) ?? ++known;
      stores.set(opened, id);
      return `opened ${id}`;
    }
  }
}
