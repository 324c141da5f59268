import { readAssets } from '../../page/assets.ts';
import { servePage } from '../../page/serve-page.ts';
import { openTenantView } from '../../page/tenant-view.ts';
import { browserFor } from './browser.ts';
import { findingLine } from './finding-lines.ts';
import type { Invocation } from './invocation.ts';
import { readMemoryOptions } from './settings.ts';

export interface OpenArguments {
  readonly port?: number;
  /** False: the address is printed alone. */
  readonly browser: boolean;
  /** The page may change the memory. */
  readonly write?: boolean;
}

/** Written by `infra/bundle-page.ts`, beside the verbs. */
const ASSETS = new URL('../page/', import.meta.url);

/** Shows the configured memory on a page on loopback until a signal. Resolves to the exit code. */
export async function runOpen(
  { port = 0, browser: wanted, write: canWrite = false }: OpenArguments,
  invocation: Invocation,
): Promise<number> {
  const { terminal, report, signal } = invocation;
  const assets = readAssets(ASSETS);
  const options = readMemoryOptions(invocation);
  await using view = await report.during('opening the memory', () =>
    openTenantView(options, { lineOf: findingLine, canWrite }),
  );
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
