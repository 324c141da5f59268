import { writeSync } from 'node:fs';
import { readSettings } from '../../src/memory-options.ts';
import { checkConditions } from '../../src/objects/condition-check.ts';
import { guardDeletes } from '../../src/objects/guarded-delete.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { openS3ObjectStore } from '../../src/objects/s3-object-store.ts';
import { openSqliteObjectStore } from '../../src/objects/sqlite-object-store.ts';
import { wireTenant } from '../../src/open-memory.ts';
import { type BaseStore, shared } from '../../src/open-object-store.ts';
import { interceptStore, type StoreCall } from './intercepted-store.ts';

// node crash-process.ts COMMAND [ACTION REQUEST SIDE]: executes one command of the memory tool, given as JSON, in a
// memory from the environment, and sends itself the signal ACTION before or after (SIDE) its request of that number.
// Requests are counted as the server gets them, below every wrapper. Prints a line `stopped` before it stops, and at
// the end, as JSON, its requests and the command's result.

const [command = '', action, at, side] = process.argv.slice(2);
const requests: string[] = [];

const settings = readSettings({});
const { store: location, s3, tenant } = settings.config;
const plain = interceptStore(openPlain(), async (call, proceed) => {
  if (!isRequest(call)) return proceed();
  const number = requests.push(nameOf(call));
  meet(number, 'before');
  try {
    return await proceed();
  } finally {
    meet(number, 'after');
  }
});
if (tenant === undefined) throw new Error('SEALED_MEMORY_TENANT is not set');
const parts = await wireTenant({ options: {}, settings, base: dressed(plain), tenant });
const result = await parts.memory(async () => {}).execute(JSON.parse(command));
const code = result.isError ? result.error.code : undefined;
writeSync(1, `${JSON.stringify({ requests, content: result.content, code })}\n`);
process.exit(0);

function meet(number: number, where: string): void {
  if (String(number) !== at || where !== side) return;
  if (action === 'SIGSTOP') writeSync(1, 'stopped\n');
  process.kill(process.pid, action);
}

/** The end of a listing is asked for without a request. */
function isRequest(call: StoreCall): boolean {
  return call.verb !== 'list' || call.page === 1;
}

/** `put data`, `get journal`, `get keyrings`, … */
function nameOf(call: StoreCall): string {
  const key = 'key' in call ? call.key : 'prefix' in call ? call.prefix : (call.targets[0]?.key ?? '');
  const place = key.includes(`tenants/${tenant}/`) ? key.split(`tenants/${tenant}/`)[1] : 'keyring';
  return `${call.verb} ${place?.split('/')[0]}`;
}

function openPlain(): ObjectStore {
  if (location?.kind === 's3') return openS3ObjectStore({ ...s3, bucket: location.bucket });
  if (location?.kind === 'sqlite') return openSqliteObjectStore({ path: location.path });
  throw new Error('a store that outlives the process is needed');
}

/** With what a server needs that does not honour conditions on deletes; SQLite does. */
function dressed(store: ObjectStore): BaseStore {
  if (location?.kind !== 's3') return shared(store);
  return {
    ...shared(store),
    forTenant: (layout) => guardDeletes(checkConditions(store, layout.probe)),
    hidesBelowObjects: true,
  };
}
