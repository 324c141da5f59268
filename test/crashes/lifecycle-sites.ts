import { join } from 'node:path';
import type { CrashSite } from '../contracts/crashes.ts';
import type { LifecycleSite } from '../contracts/lifecycle-crashes.ts';
import { s3Environment, type TestBucket } from '../stage/s3.ts';

/** Places tenants below a folder of a bucket. */
export function siteInBucket(
  { bucket, storeOptions }: TestBucket,
  folder: string,
): (site: LifecycleSite) => CrashSite {
  const { endpoint, region, forcePathStyle, credentials } = storeOptions;
  return siteOn(() => `s3://${bucket}/${folder}`, {
    options: { credentials, s3: { endpoint, region, forcePathStyle } },
    env: s3Environment(storeOptions),
  });
}

/** Places each tenant in an SQLite file of its own in a directory. */
export function siteInDirectory(directory: string): (site: LifecycleSite) => CrashSite {
  return siteOn((tenant) => `sqlite:${join(directory, `${tenant}.db`)}`, { options: {}, env: {} });
}

function siteOn(
  storeOf: (tenant: string) => string,
  { options, env }: { readonly options: Partial<CrashSite['options']>; readonly env: CrashSite['env'] },
): (site: LifecycleSite) => CrashSite {
  return ({ tenant, names, rootKeys }) => {
    const store = storeOf(tenant);
    return {
      options: { ...options, store, tenant, names, rootKey: rootKeys },
      env: {
        SEALED_MEMORY_STORE: store,
        SEALED_MEMORY_TENANT: tenant,
        SEALED_MEMORY_NAMES: names,
        SEALED_MEMORY_ROOT_KEY: rootKeys.join(','),
        ...env,
      },
    };
  };
}
