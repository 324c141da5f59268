import { type ParseArgsConfig, parseArgs } from 'node:util';

const EXIT_MISUSED = 2;

/**
 * Reads how a program of `npm run` was called. Help goes to standard output; what the program does not know is refused
 * with the usage, before anything is done: both end the process.
 *
 * @param usage begins with `npm run NAME`.
 */
export function readCall<T extends Pick<ParseArgsConfig, 'options' | 'allowPositionals'>>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (asksForHelp(process.argv.slice(2))) {
    process.stdout.write(`${usage.trimEnd()}\n`);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return refuseCall(usage, error instanceof Error ? error.message : String(error));
  }
}

function asksForHelp(given: readonly string[]): boolean {
  const end = given.indexOf('--');
  return (end < 0 ? given : given.slice(0, end)).some((word) => word === '--help' || word === '-h');
}

/** Says in one line what is wrong with the call, then how it is called, and ends the process with 2. */
export function refuseCall(usage: string, why: string): never {
  const name = /npm run (\S+)/.exec(usage)?.[1] ?? 'usage';
  // Node adds how to pass a positional argument, which is of no use here.
  const [sentence] = why.split('. To specify');
  process.stderr.write(`${name}: ${sentence?.replace(/\.$/, '')}.\n\n${usage.trimEnd()}\n`);
  process.exit(EXIT_MISUSED);
}
