import { MemoryError } from '../errors.ts';
import { optionsFromEnvironment } from '../open/environment.ts';
import { openAdmin, type TenantAdmin } from '../open/open-admin.ts';
import type { ObjectStore } from '../store/port.ts';
import { createOperatorLogger, type Invocation, type Terminal } from './terminal.ts';

export interface AdminRun {
  readonly admin: TenantAdmin;
  readonly events: EventLines;
  readonly signal: AbortSignal;
}

interface AdminRunOptions {
  readonly json: boolean;
  readonly invocation: Invocation;
  /** Instead of the configured one; the caller closes a store that is an object. */
  readonly store?: string | ObjectStore;
  /** What an interruption leaves behind, for people. */
  readonly interrupted?: string;
}

const CONTINUES = 'what is done stays done, and the same command continues from there';

/** Runs one command on the configured tenant. Resolves to the exit code. */
export async function runOnAdmin(
  command: (run: AdminRun) => Promise<number>,
  { json, invocation, store, interrupted = CONTINUES }: AdminRunOptions,
): Promise<number> {
  const { terminal, signal } = invocation;
  const events = createEventLines(terminal, { json });
  const logger = createOperatorLogger(terminal.complain);
  await using admin = await openAdmin(optionsFromEnvironment(undefined, { store, logger }));
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

type EventFields = Readonly<Record<string, unknown>>;

/**
 * What a long command says: readable lines on a screen, and otherwise JSON lines, each an object with an `event`:
 * `progress` once a second and when a new stage begins, `done` at the end, `failed` or `interrupted` instead of it.
 */
interface EventLines {
  progress(fields: EventFields, shown: { readonly line: string; readonly stage: string }): void;
  done(fields: EventFields, lines: readonly string[]): Promise<void>;
  /** What cut the command off is explained on standard error; this tells programs. */
  cutOff(event: 'failed' | 'interrupted', fields: EventFields): Promise<void>;
}

const PROGRESS_PAUSE_MS = 1_000;
const STATUS_PAUSE_MS = 100;

export function createEventLines(
  terminal: Terminal,
  { json, now = () => performance.now() }: { readonly json: boolean; readonly now?: () => number },
): EventLines {
  const isJson = json || !terminal.isForEyes;
  const pauseMs = isJson ? PROGRESS_PAUSE_MS : STATUS_PAUSE_MS;
  let last: { readonly at: number; readonly stage: string } | undefined;
  const isDue = (stage: string): boolean => {
    const at = now();
    if (last?.stage === stage && at - last.at < pauseMs) return false;
    last = { at, stage };
    return true;
  };
  const toLine = (event: string, fields: EventFields): string => `${JSON.stringify({ event, ...fields })}\n`;

  return {
    progress(fields, { line, stage }) {
      if (!isDue(stage)) return;
      // A closed standard output is reported when the command ends.
      if (isJson) terminal.out(toLine('progress', fields)).catch(() => {});
      else terminal.status(line);
    },
    async done(fields, lines) {
      terminal.status('');
      await terminal.out(isJson ? toLine('done', fields) : `${lines.join('\n')}\n`);
    },
    async cutOff(event, fields) {
      terminal.status('');
      // The reason for the interruption matters more than a closed standard output.
      if (isJson) await terminal.out(toLine(event, fields)).catch(() => {});
    },
  };
}

/** `1 file`, `2 files`; words that take more than an s bring their plural. */
export function counted(count: number, what: string, several = `${what}s`): string {
  return `${count} ${count === 1 ? what : several}`;
}
