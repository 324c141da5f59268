import { writeSync } from 'node:fs';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';
import { readSettings, requireTenant } from '../../src/open/options/settings.ts';
import { wireTenant } from '../../src/open/wire-tenant.ts';
import { openFatedStore } from '../stage/fated-store.ts';

// node crash-process.ts COMMAND [ACTION REQUEST SIDE]: executes one command of the memory tool, given as JSON, in a
// memory from the environment, and sends itself the signal ACTION before or after (SIDE) its request of that number.
// Prints a line `stopped` before it stops, and at the end, as JSON, its requests and the command's result.

const [command = '', ...fate] = process.argv.slice(2);
const settings = readSettings(optionsFromEnvironment());
const tenant = requireTenant(settings);
const { base, requests } = openFatedStore({ settings, fate });
const parts = await wireTenant({ settings, base, tenant });
const result = await parts.openMemory(async () => {}).execute(JSON.parse(command));
const code = result.isError ? result.error.code : undefined;
writeSync(1, `${JSON.stringify({ requests, content: result.content, code })}\n`);
process.exit(0);
