import { MemoryError } from '../errors.ts';
import { openAdmin, type TenantAdmin } from '../open/open-admin.ts';
import type { ObjectStore } from '../store/port.ts';
import { createEventLines, type EventLines } from './event-lines.ts';
import type { Invocation } from './invocation.ts';
import { createOperatorLogger } from './operator-log.ts';

export interface AdminRun {
  readonly admin: TenantAdmin;
  readonly events: EventLines;
  readonly signal: AbortSignal;
}

export interface AdminRunOptions {
  readonly json: boolean;
  readonly invocation: Invocation;
  /** Instead of the configured one; the caller closes a store that is an object. */
  readonly store?: string | ObjectStore;
  /** What an interruption leaves behind, for people. */
  readonly interrupted?: string;
}

const GOES_ON = 'what is done stays done, and the same command goes on from there';

/** Runs one command on the configured tenant. Resolves to the exit code. */
export async function runOnAdmin(
  command: (run: AdminRun) => Promise<number>,
  { json, invocation, store, interrupted = GOES_ON }: AdminRunOptions,
): Promise<number> {
  const { terminal, signal } = invocation;
  const events = createEventLines(terminal, { json });
  await using admin = await openAdmin({ store, logger: createOperatorLogger(terminal.complain) });
  try {
    return await command({ admin, events, signal });
  } catch (error) {
    if (signal.aborted) {
      await events.cutOff('interrupted', {});
      terminal.complain(`interrupted: ${interrupted}`);
    } else {
      await events.cutOff('failed', error instanceof MemoryError ? { code: error.code } : {});
    }
    throw error;
  }
}
