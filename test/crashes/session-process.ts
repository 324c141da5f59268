import { writeSync } from 'node:fs';
import { hasCode } from '../../src/errors.ts';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';
import { readSettings, requireTenant } from '../../src/open/options/settings.ts';
import { wireTenant } from '../../src/open/wire-tenant.ts';
import { openFatedStore } from '../stage/fated-store.ts';
import { batchesOf, COUNT, KEY } from '../units/sessions/session-load.ts';

// node session-process.ts WORKER [ACTION REQUEST SIDE]: appends the batches of a worker to a session of the
// environment's memory, and dies as crash-process.ts does. Prints a line `stored` for each batch that it was told is
// stored, and at the end, as JSON, its requests.

const [worker = '', ...fate] = process.argv.slice(2);
const settings = readSettings(optionsFromEnvironment());
const tenant = requireTenant(settings);
const { base, requests } = openFatedStore({ settings, fate });
const { sessions } = (await wireTenant({ settings, base, tenant })).openMemory(async () => {});
for (const lines of batchesOf(worker)) {
  while (!(await isStored(lines)));
  writeSync(1, 'stored\n');
}
writeSync(1, `${JSON.stringify({ requests })}\n`);
process.exit(0);

/** False when other processes were in the way: the caller sends the lines again, as the Agent SDK does. */
async function isStored(lines: readonly string[]): Promise<boolean> {
  try {
    await sessions.append(KEY, lines, { fold: COUNT });
    return true;
  } catch (error) {
    if (hasCode(error, 'version_conflict', 'unavailable')) return false;
    throw error;
  }
}
