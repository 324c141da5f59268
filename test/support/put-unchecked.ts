import { type MemoryPath, parseStoredPath } from '../../src/language/path.ts';
import { confirmedPut } from '../../src/tree/confirmed-put.ts';
import { textWrite } from '../../src/tree/create-file.ts';
import { openToWrite } from '../../src/tree/tenant.ts';
import { bytes, type TestClient } from './test-tree.ts';

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
