import { basename, resolve } from 'node:path';
import { misconfigured } from '../../errors.ts';
import { exportQuestions } from '../../page/server/export-view.ts';
import { readAssets, servePage } from '../../page/server/serve-page.ts';
import { openTenantView, type PageView, QUESTION_BYTES } from '../../page/server/tenant-view.ts';
import type { Invocation } from '../run/invocation.ts';
import { readFileLimit, readMemoryOptions } from '../run/settings.ts';
import { findingLine } from '../show/finding-lines.ts';
import { browserFor } from './browser.ts';

export interface OpenArguments {
  readonly port?: number;
  /** False: the address is printed alone. */
  readonly browser: boolean;
  /** The page may change the memory. */
  readonly write?: boolean;
  /** The file with the secret key of an archive's recipient. */
  readonly identity?: string;
}

/** Written by `infra/bundle-page.ts`, beside the verbs. */
const ASSETS = new URL('../page/', import.meta.url);

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
  const assets = readAssets(ASSETS);
  await using view = await (archive === undefined
    ? openMemoryView(options, invocation)
    : openExportView(archive, options, invocation));
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
  if (identity !== undefined) throw misconfigured('--identity is for an archive: name it behind "open".');
  const options = readMemoryOptions(invocation);
  return invocation.report.during('opening the memory', () =>
    openTenantView(options, { lineOf: findingLine, canWrite }),
  );
}

/** Neither a store nor a key is needed, and none is asked. */
async function openExportView(
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
  return {
    questions: exportQuestions(files, { name: basename(resolve(archive)), maxBytes }),
    maxQuestionBytes: QUESTION_BYTES,
    async [Symbol.asyncDispose]() {},
  };
}
