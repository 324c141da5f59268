import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import type { TenantAdmin } from '../../src/open/tenant-admin.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { roundsDuring } from '../stage/measures.ts';

const FILES = 1_000;
const SESSION = { projectKey: 'p', sessionId: 's' };
/** Between two rounds of the event loop, on the average, in milliseconds of the processor. */
const MOST_MS = 60;

interface Site {
  readonly memory: Memory;
  readonly admin: TenantAdmin;
  /** The folder to which a verb may write. */
  readonly folder: string;
}

const pathOf = (index: number): string => `/memories/d${index % 4}/${index}.md`;
async function each(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let index = 0; index < count; index++) await work(index);
}

/** Chains of calls that wait for nothing but the store, in an order in which one finds what the other left. */
const CHAINS: readonly (readonly [string, (site: Site) => Promise<unknown>])[] = [
  ['history on', ({ admin }) => admin.switchHistory('on')],
  ['writes', ({ memory }) => each(FILES, (i) => memory.files.write(pathOf(i), `text ${i}\n`.repeat(40)))],
  ['reads', ({ memory }) => each(2 * FILES, (i) => memory.files.read(pathOf(i % FILES)))],
  ['reads of one file', ({ memory }) => each(2 * FILES, () => memory.files.read(pathOf(1)))],
  [
    'views of the root',
    ({ memory }) => each(10, () => memory.execute({ command: 'view', path: '/memories' })),
  ],
  [
    'edits',
    ({ memory }) =>
      each(300, (i) =>
        memory.execute({ command: 'insert', path: pathOf(i), insert_line: 0, insert_text: 'first' }),
      ),
  ],
  ['the history of all', ({ memory }) => each(3, () => memory.history.list('/memories'))],
  ['the state of the keys', ({ admin }) => each(FILES, () => admin.keyStatus())],
  ['a verification', ({ admin }) => admin.verify()],
  ['a checkpoint', ({ admin }) => admin.checkpoint()],
  ['a migration', ({ admin }) => admin.migrate({ reencrypt: true })],
  ['an export', ({ admin, folder }) => admin.export({ to: join(folder, 'out') })],
  ['a rename', ({ memory }) => memory.files.rename('/memories/d1', '/memories/e')],
  [
    'lines of a session',
    ({ memory }) => each(300, (i) => memory.sessions.append(SESSION, [JSON.stringify({ uuid: `u${i}` })])),
  ],
  ['a delete', ({ memory }) => memory.execute({ command: 'delete', path: '/memories/e' })],
];

describe('everything else in the process runs on during', () => {
  const folder = mkdtempSync(join(tmpdir(), 'event-loop-'));
  let site: Site;
  beforeAll(async () => {
    const store = openSqliteObjectStore({ path: ':memory:' });
    const options = { store, tenant: 'acme', rootKey: new Uint8Array(32).fill(7) };
    site = { memory: await openMemory(options), admin: await openAdmin(options), folder };
  });
  afterAll(async () => {
    await site.memory.close();
    await site.admin.close();
    rmSync(folder, { recursive: true });
  });

  it.each(CHAINS)('%s', async (_, chain) => {
    const before = process.cpuUsage();
    const rounds = await roundsDuring(() => chain(site));
    const { user, system } = process.cpuUsage(before);
    // As many stretches as there are rounds between them, and one: a short chain has no round at all.
    expect((user + system) / 1_000 / (rounds + 1)).toBeLessThan(MOST_MS);
  });
});
