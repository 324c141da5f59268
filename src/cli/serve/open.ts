import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { misconfigured } from '../../errors.ts';
import type { PageView } from '../../page/server/answer-questions.ts';
import { openExportView } from '../../page/server/export-view.ts';
import { readAssets, servePage } from '../../page/server/serve-page.ts';
import { openTenantView } from '../../page/server/tenant-view.ts';
import type { ChosenVerb, Invocation } from '../run/invocation.ts';
import { readFileLimit, readMemoryOptions } from '../run/settings.ts';
import { PORT, wholeNumber } from '../run/typed.ts';
import { findingLine } from '../show/finding-lines.ts';
import { browserFor } from './browser.ts';

/** Declares `open`. */
export function declareOpen(program: Command, run: ChosenVerb<typeof runOpen>): void {
  program
    .command('open [export]')
    .description(
      'show the memory, and what the store holds of it, on a page in your browser; or an export, without a store',
    )
    .option('--port <port>', 'the port on 127.0.0.1; default: any free one', wholeNumber(PORT))
    .option('--no-browser', 'print the address and open nothing')
    .option('--write', 'let the page change the memory; without it, it only shows')
    .option('--identity <file>', 'the secret key that opens an encrypted export, as "age-keygen" writes it')
    .action((archive: string | undefined, options: OpenArguments) => run(archive, options));
}

interface OpenArguments {
  readonly port?: number;
  /** False: the address is printed alone. */
  readonly browser: boolean;
  /** The page may change the memory. */
  readonly write?: boolean;
  /** The file with the secret key of an archive's recipient. */
  readonly identity?: string;
}

/**
 * Shows the configured memory, or an export, on a page on loopback until a signal. Resolves to the exit code.
 *
 * @param archive a folder or an archive that `export` wrote.
 */
export async function runOpen(
  archive: string | undefined,
  options: OpenArguments,
  invocation: Invocation,
): Promise<number> {
  const { terminal, report, signal } = invocation;
  const { port = 0, browser: wanted } = options;
  // `infra/bundle-page.ts` writes the page beside the verbs.
  const assets = readAssets(new URL('../page/', import.meta.url));
  await using view = await (archive === undefined
    ? openMemoryView(options, invocation)
    : readExportView(archive, options, invocation));
  await using browser = browserFor(process.platform, { wanted });
  await servePage({
    port,
    assets,
    questions: view.questions,
    maxQuestionBytes: view.maxQuestionBytes,
    signal,
    async onListening(address) {
      await report.entry({ address }, `${address}\nIt opens in one browser, once. Ctrl-C ends it.`);
      if ((await browser.open(address)) === 'failed') {
        terminal.note('no browser could be opened: open the address in one of this machine yourself');
      }
    },
    onOpened: () => browser.opened(),
  });
  return 0;
}

function openMemoryView(
  { write: canWrite = false, identity }: OpenArguments,
  invocation: Invocation,
): Promise<PageView> {
  if (identity !== undefined) throw misconfigured('--identity is for an archive: name it after "open".');
  const options = readMemoryOptions(invocation);
  return invocation.report.during('opening the memory', () =>
    openTenantView(options, { lineOf: findingLine, canWrite }),
  );
}

/** Reads an export for the page, without a store or a key. */
async function readExportView(
  archive: string,
  { write, identity }: OpenArguments,
  invocation: Invocation,
): Promise<PageView> {
  if (write) throw misconfigured('An export cannot be changed: --write is for a memory.');
  const { readExport } = await import('../files/read-export.ts');
  const { report, signal } = invocation;
  const maxBytes = readFileLimit(invocation);
  const files = await report.during('reading the export', () =>
    readExport(archive, { ...(identity !== undefined && { identity }), maxBytes, signal }),
  );
  return openExportView(files, { name: basename(resolve(archive)), maxBytes });
}
