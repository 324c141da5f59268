import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { CrashSite } from '../contracts/crashes.ts';
import { describeLifecycleCrashes, type LifecycleSite } from '../contracts/lifecycle-crashes.ts';
import { describeLifecycleLife } from '../contracts/lifecycle-life.ts';
import { amount } from '../runner/thorough.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-lifecycle-'));
afterAll(() => rmSync(directory, { recursive: true }));

describeLifecycleCrashes('SQLite', { newSite, kills: amount({ usual: 3, thorough: 10 }) });
describeLifecycleLife('SQLite', newSite);

function newSite({ tenant, names, rootKeys }: LifecycleSite): CrashSite {
  const store = `sqlite:${join(directory, `${tenant}.db`)}`;
  return {
    options: { store, tenant, names, rootKey: rootKeys },
    env: {
      SEALED_MEMORY_STORE: store,
      SEALED_MEMORY_TENANT: tenant,
      SEALED_MEMORY_NAMES: names,
      SEALED_MEMORY_ROOT_KEY: rootKeys.join(','),
    },
  };
}
