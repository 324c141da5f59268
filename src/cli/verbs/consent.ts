import { misconfigured } from '../../errors.ts';
import { readLine } from './operate.ts';
import type { Terminal } from './terminal.ts';

/** Whether something is written, and whether it is asked for before. */
export interface Consent {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Asks, once the plan was shown. @throws MemoryError `misconfigured` for another answer, and without a terminal. */
export async function requireYes(terminal: Terminal): Promise<void> {
  if (!terminal.isInteractive || !terminal.isForEyes) {
    throw misconfigured('this is the plan alone: give --yes to write it; nothing was changed');
  }
  await terminal.out('Type yes to go on: ');
  if ((await readLine(terminal.stdin)) !== 'yes') {
    throw misconfigured('that is not yes; nothing was changed');
  }
}
