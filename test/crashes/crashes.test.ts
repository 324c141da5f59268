import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { describeCrashes } from '../contracts/crashes.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-crashes-'));
const rootKey = randomBytes(32).toString('base64');
afterAll(() => rmSync(directory, { recursive: true }));

describeCrashes('SQLite', {
  everyRequest: true,
  newSite: (tenant) => {
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
});
