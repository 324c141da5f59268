import { wrongCall } from './invocation.ts';
import { readLine } from './operate.ts';
import type { Terminal } from './terminal.ts';

/** Whether something is written, and whether it is asked for before. */
export interface Consent {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

interface Question {
  /** What is said before the question. */
  readonly warning?: string;
  /** What is said where no person can be asked. */
  readonly refusal?: string;
}

/** Asks before anything is changed. @throws MemoryError as `wrongCall`, for another answer, and without a terminal. */
export async function requireYes(
  terminal: Terminal,
  { warning = '', refusal = 'this is the plan alone: give --yes to write it' }: Question = {},
): Promise<void> {
  if (!terminal.isInteractive || !terminal.isForEyes) {
    throw wrongCall(`${refusal}; nothing was changed`);
  }
  await terminal.out(`${warning}Type yes to go on: `);
  if ((await readLine(terminal.stdin)) !== 'yes') {
    throw wrongCall('that is not yes; nothing was changed');
  }
}
