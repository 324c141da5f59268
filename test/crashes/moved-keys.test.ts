import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { describeMovedKeys } from '../contracts/moved-keys.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-moved-'));
afterAll(() => rmSync(directory, { recursive: true }));

describeMovedKeys(
  'SQLite',
  ({ tenant, names, rootKeys }) => {
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
  },
  { step: process.env['KILLS'] === 'all' ? 1 : 2 },
);
