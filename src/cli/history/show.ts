import type { Command } from 'commander';
import { runOnAdmin } from '../run/admin.ts';
import { type ChosenVerb, forReaders, type Invocation } from '../run/invocation.ts';
import { ofAdmin, tellHistoryOff } from '../run/tenant-state.ts';
import { pathArgument, versionArgument } from '../run/typed.ts';
import { contentFields, textFor } from '../show/shown.ts';

/** Declares `show`. */
export function declareShow(program: Command, run: ChosenVerb<typeof runShow>): void {
  program
    .command('show')
    .addArgument(pathArgument('<path>'))
    .addArgument(versionArgument('<version>'))
    .description('print one version of a file (name it as in "log")')
    .action((path: string, version: string) => run({ path, version }));
}

/** Prints the bytes of a version as they are, as `cat` prints those of a file. */
export function runShow(
  { path, version }: { readonly path: string; readonly version: string },
  invocation: Invocation,
): Promise<number> {
  return forReaders(() =>
    runOnAdmin(
      async (run) => {
        const { admin, report, signal } = run;
        const { terminal, flags } = invocation;
        const state = await tellHistoryOff(ofAdmin(run, invocation));
        const found = await report.during('reading the history', () =>
          admin.history.read({ path, version }, { signal }),
        );
        const { bytes } = found;
        if (flags.json === true) {
          const content = contentFields(bytes);
          await report.done({ path: found.path, version: found.version, ...content, ...state });
        } else await terminal.out(terminal.isForEyes ? textFor(bytes, path) : bytes);
        return 0;
      },
      { invocation },
    ),
  );
}
