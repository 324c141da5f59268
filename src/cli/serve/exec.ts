import type { Command } from 'commander';
import { isForTheOperator, MemoryError } from '../../errors.ts';
import { openMounted } from '../../open/open-memory.ts';
import { readHarness } from '../../open/options/environment.ts';
import { type ChosenVerb, createOperatorLogger, failureLine, type Invocation } from '../run/invocation.ts';
import { readOptions } from '../run/settings.ts';
import { execJsonLines } from './exec-jsonl.ts';
import { createHarness } from './harness.ts';
import { answerSessionRequest } from './session-requests.ts';

/** Declares `exec`. */
export function declareExec(program: Command, run: ChosenVerb<typeof runExec>): void {
  program
    .command('exec')
    .description('answer tool inputs, one JSON object per line of standard input')
    .requiredOption('--jsonl', 'the protocol: JSON lines')
    .option('--sessions', 'the lines are requests about sessions instead; docs/sessions.md is the guide')
    .action((options: ExecArguments) => run(options));
}

interface ExecArguments {
  /** True where the lines are requests about sessions instead of inputs of the tool. */
  readonly sessions?: boolean;
}

/** Answers the JSON lines of standard input until it ends. Resolves to the exit code. */
export async function runExec(
  { sessions: areSessions = false }: ExecArguments,
  invocation: Invocation,
): Promise<number> {
  const { terminal, signal, flags } = invocation;
  // The answers go to a program, so each failure that is the operator's to mend is logged.
  const logger = createOperatorLogger(terminal, { verbose: flags.verbose, errors: true });
  const opened = await openMounted(readOptions({ ...invocation, logger }));
  await using memory = opened.openMemory();
  await execJsonLines({
    input: terminal.stdin,
    write: (line) => terminal.out(line),
    execute: areSessions
      ? async (request, either) => {
          const content = await answerSessionRequest(memory.sessions, { request, signal: either });
          return { isError: false, content };
        }
      : (input, either) => memory.execute(input, { signal: either }),
    signal,
    harness: readHarness() && !areSessions ? createHarness(opened.own) : undefined,
    onThrown: (error) => {
      if (!(error instanceof MemoryError) || isForTheOperator(error)) terminal.complain(failureLine(error));
    },
  });
  return 0;
}
