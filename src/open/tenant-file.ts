import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { MemoryError, misconfigured } from '../errors.ts';
import { parseTenantId } from '../format/object-keys.ts';
import { nameFileCode, redactedFileCause } from '../store/failures.ts';
import { holdsSecrets } from './clear-keys.ts';
import type { TenantSource } from './options/options.ts';

/** The most bytes of the file. */
const MAX_FILE_BYTES = 16_777_216;
const OTHERS = 0o077;

/** The content of a file when it was read. */
interface ReadTenants {
  readonly state: string;
  readonly tenants: ReadonlyMap<string, unknown>;
}

/**
 * Answers the settings of tenants from a file of JSON: an object that has a member for each tenant with settings of its
 * own. The file is read again when it has changed. One that holds a root key itself, or credentials, must be readable
 * by its owner alone.
 *
 * The source throws MemoryError `unavailable` for a file that cannot be read, and `misconfigured` for one that holds
 * something else; no message repeats what it holds.
 */
export function openTenantFile(path: string): TenantSource {
  let reading: Promise<ReadTenants | undefined> = Promise.resolve(undefined);
  return async (tenant) => {
    // One after the other: of many tenants that ask at once, the first reads the file for all.
    const read = reading.then((last) => readWhenChanged(path, last));
    reading = read.catch(() => undefined);
    const { tenants } = await read;
    // The pool judges what a tenant has.
    return tenants.get(tenant) as Awaited<ReturnType<TenantSource>>;
  };
}

/** Reads the settings of all tenants of such a file. @throws MemoryError as the source does. */
export async function readTenantFile(path: string): Promise<ReadonlyMap<string, unknown>> {
  return (await readWhenChanged(path)).tenants;
}

async function readWhenChanged(path: string, last?: ReadTenants): Promise<ReadTenants> {
  const file = await openToRead(path);
  try {
    const { mode, size, mtimeMs, ctimeMs, ino } = await file.stat();
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw malformed('is no regular file');
    if (size > MAX_FILE_BYTES) throw malformed(`is larger than ${MAX_FILE_BYTES} bytes`);
    const state = [ino, size, mtimeMs, ctimeMs, mode].join();
    if (last?.state === state) return last;
    const tenants = parseTenants(await file.readFile('utf8'));
    const isOpen = process.platform !== 'win32' && (mode & OTHERS) !== 0;
    if (isOpen && [...tenants.values()].some(holdsSecrets)) {
      throw malformed('holds root keys or credentials and may be read by other users: run "chmod 600" on it');
    }
    return { state, tenants };
  } finally {
    await file.close();
  }
}

async function openToRead(path: string) {
  try {
    // The open does not block: a named pipe is refused instead of being waited for.
    return await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const cause = redactedFileCause(error);
    throw new MemoryError(
      'unavailable',
      `The file of the tenants cannot be opened (${nameFileCode(error)}).`,
      {
        cause,
      },
    );
  }
}

function parseTenants(text: string): ReadonlyMap<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed('is no JSON object');
  const entries = Object.entries(value);
  if (entries.some(([tenant]) => !isTenant(tenant))) throw malformed('names something else than tenants');
  return new Map(entries);
}

function isTenant(text: string): boolean {
  try {
    return parseTenantId(text) === text;
  } catch {
    return false;
  }
}

function malformed(what: string): MemoryError {
  return misconfigured(`The file of the tenants ${what}.`);
}
