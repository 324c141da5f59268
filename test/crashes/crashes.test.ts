import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { type CrashSite, describeCrashes } from '../contracts/crashes.ts';
import { describeHistoryCrashes } from '../contracts/history-crashes.ts';
import { amount } from '../runner/thorough.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-crashes-'));
const rootKey = randomBytes(32).toString('base64');
afterAll(() => rmSync(directory, { recursive: true }));

const sites = {
  step: amount({ usual: 7, thorough: 1 }),
  newSite: (tenant: string): CrashSite => {
    const store = `sqlite:${join(directory, `${tenant}.db`)}`;
    return {
      options: { store, tenant, rootKey },
      env: {
        SEALED_MEMORY_STORE: store,
        SEALED_MEMORY_TENANT: tenant,
        SEALED_MEMORY_ROOT_KEY: rootKey,
      },
    };
  },
};

// Side by side, because most of the time they wait for leases to run out.
describe.concurrent('directories, and what history keeps of them,', () => {
  describeCrashes('SQLite', sites);
  describeHistoryCrashes('SQLite', { ...sites, step: amount({ usual: 11, thorough: 1 }) });
});
