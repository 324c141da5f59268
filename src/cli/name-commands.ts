import { MemoryError } from '../errors.ts';
import { openAdmin } from '../open/open-admin.ts';
import type { Invocation } from './invocation.ts';
import { createOperatorLogger } from './operator-log.ts';

/** Prints the object key of the file at a path. */
export async function runEncodeName(path: string, { terminal, signal }: Invocation): Promise<number> {
  await using admin = await openAdmin({ logger: createOperatorLogger(terminal.complain) });
  await terminal.out(`${await admin.encodeName(path, { signal })}\n`);
  return 0;
}

/** Prints the path of the file under an object key. @throws MemoryError `not_found` when it is none of the tenant's. */
export async function runDecodeName(key: string, { terminal, signal }: Invocation): Promise<number> {
  await using admin = await openAdmin({ logger: createOperatorLogger(terminal.complain) });
  const path = await admin.decodeName(key, { signal });
  if (path === undefined)
    throw new MemoryError('not_found', 'that is not the object key of a file of this tenant');
  await terminal.out(`${path}\n`);
  return 0;
}
