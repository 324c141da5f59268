import { writeSync } from 'node:fs';
import { exportTree } from '../../src/admin/export/export-tree.ts';
import { migrateObjects } from '../../src/admin/keys/migrate.ts';
import { rewrapRoot, rotateKey } from '../../src/admin/keys/rotate.ts';
import { shredTenant } from '../../src/admin/keys/shred.ts';
import { MemoryError } from '../../src/errors.ts';
import { createKeyringEditor } from '../../src/keys/keyring-editor.ts';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';
import { readSettings, requireTenant } from '../../src/open/options/settings.ts';
import { wireTenant } from '../../src/open/wire-tenant.ts';
import type { DatedMeta } from '../../src/store/port.ts';
import { LEASE_MS } from '../../src/tree/rename/register.ts';
import { openFatedStore } from '../stage/fated-store.ts';
import type { Around } from '../stage/store-wrappers.ts';
import type { LifecycleTask } from './lifecycle-task.ts';

// node lifecycle-process.ts TASK [ACTION REQUEST SIDE]: runs one verb on the tenant of the environment, as
// crash-process.ts a command. Prints at the end, as JSON, its requests and the verb's report, or its failure's code.

const [text = '', ...fate] = process.argv.slice(2);
const task: LifecycleTask = JSON.parse(text);
const settings = readSettings(optionsFromEnvironment());
const tenant = requireTenant(settings);
const { base, requests } = openFatedStore({ settings, fate, around: agedBy(task) });
const { context, rootKeys, versions, verify } = await wireTenant({ settings, base, tenant });
const { store, layout, clock, random, pause } = context;
const editor = createKeyringEditor({ store, layout, rootKeys, clock, random });

let [content, code]: [unknown, string | undefined] = [undefined, undefined];
try {
  content = await run();
} catch (error) {
  if (!(error instanceof MemoryError)) throw error;
  code = error.code;
}
writeSync(1, `${JSON.stringify({ requests, content, code })}\n`);
process.exit(0);

async function run(): Promise<unknown> {
  switch (task.verb) {
    case 'rotate':
      return rotateKey({ editor, clock, random }, task);
    case 'migrate':
      return migrateObjects(context, { editor, ...task });
    case 'rewrap-root':
      return rewrapRoot({ editor, rootKeys });
    case 'shred':
      return shredTenant({ store, layout, versions, clock, pause }, task);
    case 'verify':
      return verify(task);
    case 'restore':
      return exportTree(context, task);
  }
}

/**
 * Everything below the tenant's prefix is older by so much than it is. Not so the keyring, whose age decides what may
 * be retired, and, where others are at work, a register whose lease may be alive.
 */
function agedBy({ aheadMs: ms = 0, amongOthers = false }: LifecycleTask): Around {
  return async (call, proceed) => {
    const answer = await proceed();
    if (!('key' in call) || call.verb === 'put') return aged(answer, ms);
    if (call.key.includes('keyrings/')) return answer;
    const isAlive = amongOthers && call.key.endsWith('/journal/register') && ageOf(answer) < 2 * LEASE_MS;
    return isAlive ? answer : aged(answer, ms);
  };
}

function ageOf(answer: unknown): number {
  const { servedAt = 0, lastModified = 0 } = answer === undefined ? {} : (answer as Partial<DatedMeta>);
  return servedAt - lastModified;
}

function aged<T>(answer: T, ms: number): T {
  if (typeof answer !== 'object' || answer === null) return answer;
  if ('value' in answer) return { ...answer, value: aged(answer.value, ms) };
  if ('servedAt' in answer && typeof answer.servedAt === 'number') {
    return { ...answer, servedAt: answer.servedAt + ms };
  }
  return answer;
}
