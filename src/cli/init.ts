import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';

import { createRootKeyFile } from '../open/root-key-file.ts';

export const DEFAULT_KEY_FILE = '.sealed-memory/root.key';

/**
 * Creates a root key file (mode 0600) and returns what to tell the user: where it is and the next step.
 *
 * @throws MemoryError `misconfigured` when anything lies at the path already, or it cannot be written.
 */
export function createKeyFile(path: string): string {
  createRootKeyFile(path, `${randomBytes(32).toString('base64')}\n`);
  return [
    `Root key created in ${path}; only you may read it.`,
    'Keep a copy in a safe place: without this key nothing that is stored under it can be read again.',
    '',
    'Next, say where the memory lies and whose it is, then let doctor check it:',
    `  export SEALED_MEMORY_ROOT_KEY_FILE=${quoted(resolve(path))}`,
    '  export SEALED_MEMORY_STORE=sqlite:.sealed-memory/store.sqlite   # or s3://bucket/prefix',
    '  export SEALED_MEMORY_TENANT=my-agent',
    '  sealed-memory doctor',
    '',
  ].join('\n');
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
