import { openAdmin } from '../../open/open-admin.ts';
import type { TenantAdmin } from '../../open/tenant-admin.ts';
import type { ObjectStore } from '../../store/port.ts';
import type { Report } from '../show/report.ts';
import { type Interrupted, type Invocation, tellInterruption } from './invocation.ts';
import { readMemoryOptions, readOptions } from './settings.ts';

export interface AdminRun {
  readonly admin: TenantAdmin;
  readonly report: Report;
  readonly signal: AbortSignal;
}

interface AdminRunOptions {
  readonly invocation: Invocation;
  /** The store in place of the configured one; the caller closes a store that is an object. */
  readonly store?: string | ObjectStore;
  /** The state in which an interruption leaves the work, in words for people; absent for a command that only looks. */
  readonly interrupted?: Interrupted;
}

/** Runs one command on the configured tenant. Resolves to the exit code. */
export async function runOnAdmin(
  command: (run: AdminRun) => Promise<number>,
  { invocation, store, interrupted }: AdminRunOptions,
): Promise<number> {
  const { report, signal } = invocation;
  const options = store === undefined ? readMemoryOptions(invocation) : readOptions(invocation, { store });
  await using admin = await report.during('opening the memory', () => openAdmin(options));
  try {
    return await command({ admin, report, signal });
  } catch (error) {
    tellInterruption(error, invocation, interrupted);
    throw error;
  }
}
