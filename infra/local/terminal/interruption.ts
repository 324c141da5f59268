/**
 * The time within which two signals are one keystroke: npm passes on to its script a signal that the terminal has sent
 * to both of them.
 */
const SAME_KEYSTROKE_MS = 1_000;

const STOPPING = '\ncloud: stopping what was started and removing its folders; Ctrl-C again leaves at once\n';

/**
 * Makes a signal that Ctrl-C, SIGTERM, a closed terminal and an output without a reader abort, which also set the exit
 * code. A second signal ends the process at once.
 */
export function onInterruption(): AbortSignal {
  const interruption = new AbortController();
  let first: number | undefined;
  for (const output of [process.stdout, process.stderr]) {
    output.on('error', () => {
      process.exitCode ??= 1;
      interruption.abort();
    });
  }
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(name, () => {
      if (first === undefined && name !== 'SIGHUP') process.stderr.write(STOPPING);
      first ??= performance.now();
      if (performance.now() - first > SAME_KEYSTROKE_MS) process.exit(code);
      process.exitCode = code;
      interruption.abort();
    });
  }
  return interruption.signal;
}

/** Runs to the end or the interruption; an error becomes one sentence and exit code 1. */
export async function runUntil(
  signal: AbortSignal,
  main: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  // An abort signal alone does not keep the process up.
  const upright = setInterval(() => {}, 60_000);
  try {
    await main(signal);
  } catch (error) {
    if (signal.aborted) return;
    const sentence = error instanceof Error ? error.message : String(error);
    process.stderr.write(`cloud: ${sentence.replaceAll(/\s+/g, ' ')}\n`);
    process.exitCode = 1;
  } finally {
    clearInterval(upright);
  }
}
