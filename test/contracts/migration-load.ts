import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { migrateObjects } from '../../src/admin/keys/migrate.ts';
import type { NameMode } from '../../src/format/names.ts';
import { openTenant } from '../../src/open/open-memory.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { editorOf, rotate } from '../stage/key-operator.ts';
import {
  countCalls,
  interceptStore,
  laterStore,
  recordInto,
  type StoreCall,
} from '../stage/store-wrappers.ts';
import { at, bytes, TEST_ROOT_KEY } from '../stage/test-tree.ts';
import { compareWithFiles, NO_DISCREPANCY, runEdits } from './edit-load.ts';

const FILES = Array.from({ length: 40 }, (_, index) => `/memories/${index % 4}/file ${index}`);
const EDITED = FILES.slice(0, 6);
const WORKERS = 4;
const EDITS = 15;
/**
 * A migration leaves alone what a writer may still take back. The operators here run two minutes later, so nothing is
 * that young to them.
 */
const later = (store: ObjectStore): ObjectStore => laterStore(store, 120_000);

/** A migration on a real store; `start` gives an empty one as one tenant's work uses it. */
export function describeMigration(title: string, start: () => Promise<ObjectStore>): void {
  describe.each<NameMode>(['plain', 'encrypted'])(`a migration of ${title} with %s names`, (names) => {
    const openOn = (store: ObjectStore) =>
      openTenant({ store, tenant: 'acme', rootKey: TEST_ROOT_KEY, names });
    type Tenant = Awaited<ReturnType<typeof openOn>>;

    async function fill({ parts }: Tenant): Promise<void> {
      await Promise.all(FILES.map((path) => parts.tree.create(at(path), bytes(''))));
    }

    async function textOf({ parts }: Tenant, path: string): Promise<string> {
      return new TextDecoder().decode(await parts.tree.read(at(path)));
    }

    it('reads and writes each object once, and only lists what it knows', { timeout: 60_000 }, async () => {
      const store = await start();
      const tenant = await openOn(store);
      await fill(tenant);
      await rotate(editorOf(tenant.parts.context), tenant.parts.context);
      const calls: StoreCall[] = [];
      const counted = await openOn(later(interceptStore(store, recordInto(calls))));
      const { context } = counted.parts;
      const report = await migrateObjects(context, { editor: editorOf(context) });
      expect(report).toMatchObject({ passes: 2, rebound: FILES.length, objects: FILES.length, retired: [] });
      const below = calls.filter((call) => !('key' in call) || call.key.startsWith('tenants/'));
      // One GET more: whether a directory is being renamed.
      const { get = 0, ...others } = countCalls(below);
      expect(others).toEqual({ list: 2, put: FILES.length });
      expect(get - FILES.length).toBeGreaterThanOrEqual(1);
      expect(get - FILES.length).toBeLessThanOrEqual(10);
      await Promise.all([tenant.close(), counted.close()]);
    });

    it('loses no edit of workers that write meanwhile, before and after they know of the new key', {
      timeout: 120_000,
    }, async () => {
      const store = await start();
      const workers = await Promise.all(Array.from({ length: WORKERS }, () => openOn(store)));
      const [first] = workers;
      if (first === undefined) throw new Error('there are no workers');
      await fill(first);
      // All of them hold the keyring of before the rotation.
      for (const worker of workers) await textOf(worker, FILES[0] ?? '');
      const operator = await openOn(later(store));
      const { context } = operator.parts;
      const editor = editorOf(context);
      await rotate(editor, context);
      const newcomer = await openOn(store);

      const memories = [...workers, newcomer].map(({ parts }) => parts.openMemory(async () => {}));
      let ended = false;
      const editing = runEdits({ memories, paths: EDITED, edits: EDITS }).finally(() => {
        ended = true;
      });
      const migrations: number[] = [];
      for (; !ended; await sleep(5)) migrations.push((await migrateObjects(context, { editor })).rebound);
      const load = await editing;
      expect(load.acknowledged).toHaveLength((WORKERS + 1) * EDITS);
      expect(migrations[0]).toBeGreaterThanOrEqual(FILES.length - EDITED.length);

      const last = await migrateObjects(context, { editor, ttlMs: 0 });
      expect(last).toMatchObject({ retired: [1], problems: [], objects: FILES.length });
      const reader = await openOn(store);
      const texts = await Promise.all(FILES.map((path) => textOf(reader, path)));
      const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line !== '');
      expect(compareWithFiles(load, lines)).toEqual(NO_DISCREPANCY);
      expect(await reader.parts.verify()).toMatchObject({
        findings: [],
        keyVersions: [{ version: 2, objects: FILES.length }],
      });
      await Promise.all([...workers, operator, newcomer, reader].map((tenant) => tenant.close()));
    });
  });
}
