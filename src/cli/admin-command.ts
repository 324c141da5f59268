import { MemoryError } from '../errors.ts';
import { openAdmin, type TenantAdmin } from '../open-admin.ts';
import { createEventLines, type EventLines } from './event-lines.ts';
import type { Invocation } from './invocation.ts';
import { createOperatorLogger } from './operator-log.ts';

export interface AdminRun {
  readonly admin: TenantAdmin;
  readonly events: EventLines;
  readonly signal: AbortSignal;
}

/** Runs one command on the configured tenant. Resolves to the exit code. */
export async function runOnAdmin(
  command: (run: AdminRun) => Promise<number>,
  { json, invocation }: { readonly json: boolean; readonly invocation: Invocation },
): Promise<number> {
  const { terminal, signal } = invocation;
  const events = createEventLines(terminal, { json });
  await using admin = await openAdmin({ logger: createOperatorLogger(terminal.complain) });
  try {
    return await command({ admin, events, signal });
  } catch (error) {
    if (signal.aborted) {
      await events.cutOff('interrupted', {});
      terminal.complain('interrupted: what is done stays done, and the same command goes on from there');
    } else {
      await events.cutOff('failed', error instanceof MemoryError ? { code: error.code } : {});
    }
    throw error;
  }
}
