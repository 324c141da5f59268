import { describe, expect, it } from 'vitest';
import { migrateObjects } from '../../src/admin/keys/migrate.ts';
import { listRecords } from '../../src/admin/scan.ts';
import { copyOf } from '../../src/format/encoding.ts';
import type { NameMode } from '../../src/format/names.ts';
import { open } from '../../src/format/object.ts';
import { type LogicalName, logicalName, OBJECT_CLASSES } from '../../src/format/object-keys.ts';
import { forget } from '../../src/keys/keyring.ts';
import { openTenant } from '../../src/open/open-memory.ts';
import type { OpenTenant } from '../../src/open/wire-tenant.ts';
import type { ObjectStore, StoredObject } from '../../src/store/port.ts';
import type { Work } from '../../src/tree/tenant.ts';
import { editorOf, putEveryClass, rotate } from '../stage/key-operator.ts';
import { interceptStore, type StoreCall } from '../stage/store-wrappers.ts';
import { at, bytes, TEST_ROOT_KEY } from '../stage/test-tree.ts';
import { readByDataKey, type StaleKey, stolenDataKey } from './stale-key-site.ts';

const TENANT = 'acme';
const FILES: Readonly<Record<string, string>> = {
  '/memories/plan.md': 'the plan',
  '/memories/empty': '',
  '/memories/deep/er/日本.md': 'deep down',
  '/memories/two chunks': 'x'.repeat(70_000),
};
const CLASSES: readonly string[] = OBJECT_CLASSES;
/** The files, a record of every class, and the register of renames, which a rename has made. */
const OBJECTS = Object.keys(FILES).length + CLASSES.length + 1;

/**
 * Describes what a retired tenant key is still good for, on an empty store for each suite. `start` gives the store as
 * one tenant's work uses it.
 */
export function describeStaleKey(title: string, start: () => Promise<ObjectStore>): void {
  describe.each<NameMode>(['plain', 'encrypted'])(`${title} with %s names`, (names) => {
    it.each([
      ['re-bound', false],
      ['encrypted again', true],
    ] as const)(
      'opens nothing any more to who kept the old tenant key, once all is %s and the key retired',
      { timeout: 120_000 },
      async (_, reencrypt) => {
        const store = withOldObjects(await start());
        const first = await openTenantOn(store, names);
        await fill(first.parts);
        const work = await workOn(first.parts);
        const before = await readEverything(work);
        expect([...before.keys()].map(topOf).sort()).toEqual(
          [...Object.keys(FILES).map(topOf), ...CLASSES, 'journal'].sort(),
        );
        const thief = await steal(work);
        const dataKeys = [...before].map(([name, object]) => stolenDataKey(thief, name, object));
        // The theft was real: until here the key opens everything.
        expect(dataKeys.filter((key) => key === undefined)).toEqual([]);

        const { context } = first.parts;
        const editor = editorOf(context);
        await rotate(editor, context);
        const report = await migrateObjects(context, { editor, reencrypt, ttlMs: 0 });
        expect(report).toMatchObject({ retired: [1], rebound: OBJECTS, problems: [], busy: 0 });
        await first.close();

        const second = await openTenantOn(store, names);
        const after = await readEverything(await workOn(second.parts));
        expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
        for (const [name, object] of after) expect(stolenDataKey(thief, name, object)).toBeUndefined();
        // Who read the objects before, too, has kept their data keys; only fresh ones shut them out.
        const readable = [...after.values()].filter((object) =>
          dataKeys.some((key) => key !== undefined && readByDataKey(key, thief.keyringId, object)),
        );
        expect(readable).toHaveLength(reencrypt ? 0 : OBJECTS);
        await expectAllRead(second.parts);
        await second.close();
      },
    );

    it('refuses a version from before that is put back after the retirement', async () => {
      const store = withOldObjects(await start());
      const first = await openTenantOn(store, names);
      await fill(first.parts);
      const { context } = first.parts;
      const path = at('/memories/plan.md');
      const { records } = await listRecords(await workOn(first.parts));
      const key = records.find(({ name }) => name === logicalName(path))?.object.key;
      if (key === undefined) throw new Error('the file is not listed');
      const old = await stored(store, key);
      const editor = editorOf(context);
      await rotate(editor, context);
      await migrateObjects(context, { editor, ttlMs: 0 });
      await first.close();
      await store.put(key, old.body, { mode: 'overwrite' });
      const second = await openTenantOn(store, names);
      await expect(second.parts.tree.read(path)).rejects.toMatchObject({ code: 'integrity' });
      expect((await second.parts.verify()).findings).toEqual([{ kind: 'unknown_key', name: path }]);
      await second.close();
    });
  });
}

function topOf(name: string): string {
  return name.split('/')[1] ?? '';
}

async function openTenantOn(
  store: ObjectStore,
  names: NameMode,
): Promise<{ readonly parts: OpenTenant; close(): Promise<void> }> {
  return openTenant({ store, tenant: TENANT, rootKey: TEST_ROOT_KEY, names });
}

/** Writes the files, one of them by way of a directory rename, and a record of every class. */
async function fill(parts: OpenTenant): Promise<void> {
  const { tree } = parts;
  for (const [path, text] of Object.entries(FILES)) {
    await tree.create(at(path.replace('/er/', '/was/')), bytes(text));
  }
  await tree.rename({ from: at('/memories/deep/was'), to: at('/memories/deep/er') });
  await putEveryClass(await workOn(parts), bytes('a record'));
}

async function workOn({ context }: OpenTenant): Promise<Work> {
  const keyring = await context.keyrings.load();
  if (keyring === undefined) throw new Error('there is no keyring');
  return { tenant: context, keyring, call: { signal: undefined } };
}

async function readEverything(work: Work): Promise<ReadonlyMap<LogicalName, Uint8Array>> {
  const { records } = await listRecords(work);
  const read = records.map(
    async ({ name, object }) => [name, (await stored(work.tenant.store, object.key)).body] as const,
  );
  return new Map(await Promise.all(read));
}

async function stored(store: ObjectStore, key: Parameters<ObjectStore['get']>[0]): Promise<StoredObject> {
  const found = await store.get(key);
  if (typeof found !== 'object') throw new Error('the object is gone');
  return found;
}

/** The bytes of the only tenant key. */
async function steal(work: Work): Promise<StaleKey> {
  const record = await editorOf(work.tenant).read();
  const [only, ...others] = record?.keyring.tenantKeys ?? [];
  if (record === undefined || only === undefined || others.length > 0) throw new Error('not one tenant key');
  const stale = { secret: copyOf(only.secret), keyringId: copyOf(record.keyring.keyringId), tenant: TENANT };
  forget(record.keyring);
  return stale;
}

async function expectAllRead(parts: OpenTenant): Promise<void> {
  const { files } = await parts.tree.list(at('/memories'));
  expect(files.map(({ path }) => path as string).sort()).toEqual(Object.keys(FILES).sort());
  for (const [path, text] of Object.entries(FILES)) {
    const content = await parts.tree.read(at(path));
    expect(new TextDecoder().decode(content)).toBe(text);
  }
  const work = await workOn(parts);
  const { keys } = work.keyring;
  for (const [name, object] of await readEverything(work)) {
    const { content } = open({ keys, name, object });
    if (name.endsWith('/an-id')) expect(content).toEqual(bytes('a record'));
  }
  expect(await parts.verify()).toMatchObject({
    findings: [],
    keyVersions: [{ version: 2, objects: OBJECTS, active: true }],
  });
}

/** All was written twenty minutes before: no writer is at work with it, and no turn. */
function withOldObjects(store: ObjectStore): ObjectStore {
  return interceptStore(store, async (call, proceed) => {
    const answer = await proceed();
    return isObject(call) && isDated(answer)
      ? { ...answer, lastModified: answer.lastModified - 1_200_000 }
      : answer;
  });
}

function isObject(call: StoreCall): boolean {
  return call.verb === 'get' && call.key.startsWith('tenants/');
}

function isDated(answer: unknown): answer is StoredObject {
  return typeof answer === 'object' && answer !== null && 'lastModified' in answer;
}
