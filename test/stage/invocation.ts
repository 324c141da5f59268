import type { Flags, Invocation } from '../../src/cli/run/invocation.ts';
import { createReport } from '../../src/cli/show/report.ts';

/**
 * An invocation by a caller who types `typed`, at a screen or not, and what it said; a function runs when the caller is
 * asked. Progress is shown to no one.
 */
export function invocationOf({
  flags = {},
  isForEyes = false,
  typed = '',
}: {
  readonly flags?: Flags;
  readonly isForEyes?: boolean;
  readonly typed?: string | (() => Promise<string>);
}): { readonly invocation: Invocation; readonly shown: string[]; readonly complaints: string[] } {
  const shown: string[] = [];
  const complaints: string[] = [];
  const terminal: Invocation['terminal'] = {
    stdin: (async function* () {
      yield new TextEncoder().encode(typeof typed === 'string' ? typed : await typed());
    })(),
    out: async (said) => void shown.push(Buffer.from(said as string).toString()),
    complain: (line) => complaints.push(line),
    note: (line) => complaints.push(line),
    style: (_, text) => text,
    progressStream: undefined,
    isInteractive: isForEyes,
    isForEyes,
    columns: 80,
  };
  const report = createReport({ ...terminal, note: () => {} }, { json: flags.json === true });
  const { signal } = new AbortController();
  const ignore = (): void => {};
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  return {
    invocation: { flags, terminal, report, logger, signal, ignoreCtrlC: ignore },
    shown,
    complaints,
  };
}
