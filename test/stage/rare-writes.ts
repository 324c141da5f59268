import { rebind, seal } from '../../src/format/object.ts';
import { fileKey, logicalName } from '../../src/format/object-keys.ts';
import { type MemoryPath, parseStoredPath } from '../../src/language/path.ts';
import { confirmedPut, type Stamp } from '../../src/tree/confirmed-put.ts';
import { textWrite } from '../../src/tree/create-file.ts';
import { readFile } from '../../src/tree/read-file.ts';
import { openToWrite } from '../../src/tree/tenant.ts';
import { at, bytes, type TestClient } from './test-tree.ts';

/** The two ways in which a migration of keys writes a file again: the key alone, or the content too. */
export const MIGRATIONS = ['bound', 'sealed'] as const;

/** Writes one file again as a migration of keys does, however young it is. */
export async function migrateFile(
  client: TestClient,
  path: string,
  how: (typeof MIGRATIONS)[number],
): Promise<void> {
  const work = await client.open();
  const version = await readFile(work, at(path));
  if (version === undefined) throw new Error(`there is nothing at ${path}`);
  const { keys, content, bound, origin, stored } = version;
  const { random } = work.tenant;
  const name = logicalName(at(path));
  const write = (stamp: Stamp): Uint8Array =>
    how === 'bound'
      ? rebind({ ...stamp, keys, object: stored.body, from: name, to: name, random })
      : seal({ ...stamp, keys, name, version, content, origin, random });
  const key = fileKey(work.tenant.layout, work.keyring.names, at(path));
  await confirmedPut(work, { key, seal: write, after: bound, mode: { ifMatch: stored.etag } });
}

/**
 * Puts a file there as another writer with the tenant's keys may: under that very name, and without a look for clashes.
 */
export async function putUnchecked(
  { tenant }: Pick<TestClient, 'tenant'>,
  path: string,
  text = 'text',
): Promise<MemoryPath> {
  const named = parseStoredPath(path);
  if (named === undefined) throw new Error('no writer can give a file that path');
  const work = await openToWrite(tenant, {});
  const { write } = textWrite(work, named, bytes(text));
  await confirmedPut(work, { ...write, mode: 'create' });
  return named;
}
