import { hasCode, isForTheOperator, keyHolderOf, MemoryError } from '../../errors.ts';
import type { LogFields, Logger } from '../../logger.ts';
import { createReport, type Report } from '../show/report.ts';
import { isReaderGone, processTerminal, type Terminal } from '../show/terminal.ts';
import { watchStarter } from './starter.ts';
import { tellWaits } from './waits.ts';

/**
 * 1: refused, or something is left to do. 2: wrong call or setting. 3: nothing is wrong, and something cannot be told.
 * 4: the root key that the settings of the tenant name is withheld. 130: interrupted by the user.
 */
export const EXIT_FAILED = 1;
const EXIT_MISUSED = 2;
export const EXIT_UNTOLD = 3;
const EXIT_KEY_WITHHELD = 4;
const EXIT_INTERRUPTED = 130;
/** Ctrl-C, a request to end, and the end of the terminal. */
const INTERRUPTIONS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The time, in milliseconds, in which a command has to end after its starter has gone. */
const LONGEST_ENDING_MS = 10_000;

/** The state in which an interruption leaves the work of most verbs. */
export const CONTINUES = 'what is done stays done, and the same command continues from there';
/** The state in which an interruption leaves a verb that has begun no change, as at a question. */
export const NOTHING_CHANGED = 'nothing was changed';

/**
 * The state in which an interruption leaves the work; a verb that changes something derives it from the failure that it
 * ended with.
 */
export type Interrupted = string | ((failure: unknown) => string);

/** Says in which state an interruption leaves a verb that makes one change. */
export function ofOneChange(failure: unknown): string {
  return hasCode(failure, 'outcome_unknown')
    ? 'the change may have been made: look before you run it again'
    : NOTHING_CHANGED;
}

/** Says at Ctrl-C what became of the work; of a verb that only looks there is nothing to say. */
export function tellInterruption(
  failure: unknown,
  { signal, terminal }: Pick<Invocation, 'signal' | 'terminal'>,
  interrupted: Interrupted | undefined,
): void {
  if (!signal.aborted || interrupted === undefined) return;
  terminal.complain(`interrupted: ${typeof interrupted === 'string' ? interrupted : interrupted(failure)}`);
}

/** The flags that every verb takes. */
export interface Flags {
  readonly store?: string;
  readonly tenant?: string;
  readonly rootKeyFile?: string;
  readonly profileName?: string;
  /** Mounts, each `PATH=TENANT` or `PATH=TENANT:ro`. */
  readonly mount?: readonly string[];
  readonly readOnly?: boolean;
  /** Words, as of the option. */
  readonly policy?: string;
  /** Limits, as they were typed. */
  readonly maxFileBytes?: string;
  readonly maxFiles?: string;
  readonly maxTenantBytes?: string;
  /** The file for events. */
  readonly events?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

export interface Invocation {
  readonly flags: Flags;
  readonly terminal: Terminal;
  readonly report: Report;
  /** Prints warnings; with `--verbose` everything that is logged. */
  readonly logger: Logger;
  /**
   * Fires at the first Ctrl-C, SIGTERM or end of the terminal, and when the npx that started the program has ended; a
   * second Ctrl-C ends the process at once.
   */
  readonly signal: AbortSignal;
  /**
   * Leaves Ctrl-C from now on to a program that is started, such as an editor; what was typed in it is not thrown away.
   */
  ignoreCtrlC(): void;
}

/**
 * The work that a command line asks for. Resolves to the exit code; any error that it throws is explained on standard
 * error.
 */
export type Action = (invocation: Invocation) => Promise<number>;

/**
 * Takes what was typed for a verb, which runs once the whole line was understood: all that it takes but the invocation.
 */
export type ChosenVerb<Run> = Run extends (...taken: [...infer Typed, Invocation]) => Promise<number>
  ? (...typed: Typed) => void
  : never;

/** Runs a verb that only shows: a reader that has seen enough, such as `head`, is no failure. */
export async function forReaders(show: () => Promise<number>): Promise<number> {
  try {
    return await show();
  } catch (error) {
    if (isReaderGone(error)) return 0;
    throw error;
  }
}

export async function runAction(action: Action, flags: Flags): Promise<number> {
  const screen = processTerminal(flags);
  const report = createReport(screen, { json: flags.json === true });
  const alone =
    (say: (line: string) => void) =>
    (line: string): void => {
      report.clear();
      say(line);
    };
  const terminal = { ...screen, complain: alone(screen.complain), note: alone(screen.note) };
  const logger = createOperatorLogger(terminal, flags);
  const interruption = new AbortController();
  const { signal } = interruption;
  const interrupt = (): void => {
    interruption.abort();
    process.stdin.destroy();
  };
  let isIgnored = false;
  const ignoreCtrlC = (): void => {
    isIgnored = true;
  };
  const onSignal = (name: NodeJS.Signals): void => {
    if (isIgnored && name === 'SIGINT') return;
    if (signal.aborted) {
      process.exit(EXIT_INTERRUPTED);
    }
    interrupt();
  };
  const stopWatching = watchStarter(() => {
    terminal.complain('interrupted: the npm or npx that started this program has ended');
    interrupt();
    // Nobody is left who could ask a second time.
    setTimeout(() => process.exit(EXIT_INTERRUPTED), LONGEST_ENDING_MS).unref();
  });
  for (const name of INTERRUPTIONS) process.on(name, onSignal);
  const stopTelling = tellWaits(terminal);
  try {
    const code = await action({ flags, terminal, report, logger, signal, ignoreCtrlC });
    return signal.aborted ? EXIT_INTERRUPTED : code;
  } catch (error) {
    if (signal.aborted || hasCode(error, 'aborted')) {
      await report.cutOff('interrupted', {});
      return EXIT_INTERRUPTED;
    }
    return explain(error, { terminal, report });
  } finally {
    stopWatching();
    stopTelling();
    for (const name of INTERRUPTIONS) process.off(name, onSignal);
    // An open standard input would keep the process alive.
    process.stdin.destroy();
  }
}

const WRONG_CALL = 'wrong_call';

/** Makes the error for a call that only another call mends: it is told without a code before it. */
export function wrongCall(message: string): MemoryError {
  return new MemoryError('misconfigured', message, { details: { reason: WRONG_CALL } });
}

/** Says in one line why the command failed. Resolves to the exit code. */
export async function explain(
  error: unknown,
  { terminal, report }: Pick<Invocation, 'terminal' | 'report'>,
): Promise<number> {
  // The reader of standard output is gone, so there is no one to explain the failure to.
  if (isReaderGone(error)) return EXIT_FAILED;
  const line = failureLine(error);
  const keyHolder = keyHolderOf(error);
  const told = error instanceof MemoryError && { code: error.code, message: line };
  await report.cutOff('failed', { ...told, ...(keyHolder && { keyHolder }) });
  terminal.complain(line);
  return exitCodeFor(error);
}

function exitCodeFor(error: unknown): number {
  if (keyHolderOf(error) !== undefined) return EXIT_KEY_WITHHELD;
  return error instanceof MemoryError && error.code === 'misconfigured' ? EXIT_MISUSED : EXIT_FAILED;
}

/**
 * Words a failure in one line. Its code comes first where it is a matter for the operator, unless the call alone is
 * wrong.
 */
export function failureLine(error: unknown): string {
  if (error instanceof MemoryError) {
    const isPlain = error.details['reason'] === WRONG_CALL || !isForTheOperator(error);
    return oneLine(isPlain ? error.message : `${error.code}: ${error.message}`);
  }
  // A defect of ours. Its message may hold anything, so only its kind and place are shown.
  const [name, stack] = error instanceof Error ? [error.name, error.stack] : [typeof error, undefined];
  const place = stack
    ?.split('\n')
    .find((line) => /^\s+at /.test(line))
    ?.trim();
  return oneLine(`unexpected failure: ${[name, place].filter(Boolean).join(' ')}`);
}

/**
 * Prints warnings, which `--quiet` leaves as well, and with `verbose` everything. Errors of single commands are left to
 * the line that explains why the whole failed, unless `errors` are wanted.
 */
export function createOperatorLogger(
  terminal: Pick<Terminal, 'complain'>,
  {
    verbose = false,
    errors = verbose,
  }: { readonly verbose?: boolean | undefined; readonly errors?: boolean },
): Logger {
  const at =
    (level: string, print: (line: string) => void) =>
    (message: string, fields: LogFields = {}): void => {
      const facts = Object.entries(fields).flatMap(([name, value]) =>
        value === undefined ? [] : [` ${name}=${value}`],
      );
      print(oneLine(`${level}: ${message}${facts.join('')}`));
    };
  const more = verbose ? terminal.complain : () => {};
  return {
    debug: at('debug', more),
    info: at('info', more),
    warn: at('warning', terminal.complain),
    error: at('error', errors ? terminal.complain : () => {}),
  };
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}
