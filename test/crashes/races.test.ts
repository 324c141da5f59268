import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';
import { describeRaces } from '../contracts/races.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-races-'));
afterAll(() => rmSync(directory, { recursive: true }));

describeRaces(
  'one SQLite file',
  () => {
    const store = `sqlite:${join(directory, `${randomBytes(6).toString('hex')}.db`)}`;
    const [tenant, rootKey] = ['acme', randomBytes(32).toString('base64')];
    return {
      open: () => openMemory({ store, tenant, rootKey }),
      env: { SEALED_MEMORY_STORE: store, SEALED_MEMORY_TENANT: tenant, SEALED_MEMORY_ROOT_KEY: rootKey },
    };
  },
  { memories: 50, rounds: 10 },
);
