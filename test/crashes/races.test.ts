import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';
import { sensitiveInformation } from '../../src/policy/index.ts';
import { describeRaces } from '../contracts/races.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-races-'));
afterAll(() => rmSync(directory, { recursive: true }));

const KEPT = { options: { history: { days: 30 } }, env: { SEALED_MEMORY_HISTORY_DAYS: '30' } };
const JUDGED = {
  options: { policy: sensitiveInformation({ personal: ['email'], action: 'redact' }) },
  env: { SEALED_MEMORY_POLICY: 'secrets,email,redact' },
};

const SETTINGS = {
  'one SQLite file': { options: {}, env: {} },
  'one SQLite file that keeps history': KEPT,
  'one SQLite file under a policy': JUDGED,
};

for (const [title, settings] of Object.entries(SETTINGS)) {
  describeRaces(
    title,
    () => {
      const store = `sqlite:${join(directory, `${randomBytes(6).toString('hex')}.db`)}`;
      const [tenant, rootKey] = ['acme', randomBytes(32).toString('base64')];
      return {
        open: () => openMemory({ store, tenant, rootKey, ...settings.options }),
        env: {
          SEALED_MEMORY_STORE: store,
          SEALED_MEMORY_TENANT: tenant,
          SEALED_MEMORY_ROOT_KEY: rootKey,
          ...settings.env,
        },
      };
    },
    { memories: 50, rounds: 10 },
  );
}
