import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { bundlePage } from '../infra/bundle-page.ts';
import { findChromium, launchChromium } from '../infra/local/programs/chromium.ts';
import { openMemory } from '../src/open/open-memory.ts';
import type { MemoryOptions } from '../src/open/options/options.ts';
import { type Asset, readAssets, servePage } from '../src/page/server/serve-page.ts';
import { openTenantView } from '../src/page/server/tenant-view.ts';
import { openSqliteObjectStore } from '../src/store/sqlite/sqlite-store.ts';
import { type Lab, temporaryFolder } from './lab.ts';
import type { Round } from './report/row.ts';
import { inTurns } from './rounds.ts';
import { ROOT_KEY } from './stores.ts';

const DIRECTORIES = 50;
const FEW = '100 files';
const MANY = '10,000 files';
const COUNTS: Readonly<Record<string, number>> = { [FEW]: 100, [MANY]: 10_000 };
const FIRST_ROWS = '[role="treeitem"][aria-level="2"]';
const WHOLE_TREE = '.live[data-on="true"]';
/** The most that the first rows of many files may take, as a ratio to those of few. */
const MOST_RATIO = 1.25;

/** From the navigation of a browser to the first rows of the page, and to its whole tree. */
export async function page(lab: Lab): Promise<void> {
  const chromium = await findChromium(process.env);
  if ('reason' in chromium) return lab.lacks('the page', chromium.reason);
  const browser = await launchChromium(chromium);
  lab.stack.defer(() => browser.close());
  const folder = join(await temporaryFolder(lab), 'page');
  await bundlePage(folder);
  const assets = readAssets(pathToFileURL(`${folder}/`));
  const memories = new Map<string, MemoryOptions>();
  for (const [name, count] of Object.entries(COUNTS)) memories.set(name, await filled(lab, count));
  const whole: Round[] = [];
  const measured = await inTurns([FEW, MANY], (lab.isQuick ? 3 : 21) + 1, async (name, round) => {
    const options = memories.get(name);
    if (options === undefined) return undefined;
    const times = await timesOf(browser, { options, assets });
    whole[round] = new Map([...(whole[round] ?? []), [name, { wall: times.whole }]]);
    return { wall: times.rows };
  });
  // The first round warms up.
  const shown = { reference: FEW, time: 'wall' } as const;
  lab.compare({
    ...shown,
    work: 'the first rows of the page',
    rounds: measured.slice(1),
    goals: { [MANY]: MOST_RATIO },
  });
  lab.compare({ ...shown, work: 'the whole tree of the page', rounds: whole.slice(1) });
}

async function filled(lab: Lab, count: number): Promise<MemoryOptions> {
  const store = lab.stack.use(openSqliteObjectStore({ path: ':memory:' }));
  const options = { store, tenant: 'bench', rootKey: ROOT_KEY };
  await using memory = await openMemory(options);
  for (let n = 0; n < count; n += 1) {
    await memory.files.write(`/memories/d${n % DIRECTORIES}/note-${n}.md`, `# Note ${n}\n`);
  }
  return options;
}

/** Shows a memory in a context of its own, from a server that has just started. Times are in milliseconds. */
async function timesOf(
  browser: Browser,
  { options, assets }: { readonly options: MemoryOptions; readonly assets: ReadonlyMap<string, Asset> },
): Promise<{ readonly rows: number; readonly whole: number }> {
  await using view = await openTenantView(options, { lineOf: ({ kind }) => kind });
  const ending = new AbortController();
  const address = Promise.withResolvers<string>();
  const onListening = async (found: string): Promise<void> => address.resolve(found);
  const served = servePage({ ...view, port: 0, assets, onListening, signal: ending.signal });
  const context = await browser.newContext({ viewport: { width: 1440, height: 860 } });
  try {
    const tab = await context.newPage();
    await tab.goto(await address.promise, { waitUntil: 'commit' });
    const [rows, whole] = await Promise.all([FIRST_ROWS, WHOLE_TREE].map((part) => seenAt(tab, part)));
    if (rows === undefined || whole === undefined) throw new Error('The page told no times.');
    return { rows, whole };
  } finally {
    await context.close();
    ending.abort();
    await served;
  }
}

/** Tells when a frame with a part of the page was about to be painted, in milliseconds since the navigation. */
async function seenAt(tab: Page, selector: string): Promise<number> {
  // The page keeps the time: this process has the server to run.
  const seen = await tab.waitForFunction((wanted) => {
    const { document } = globalThis as unknown as { document: { querySelector(wanted: string): unknown } };
    return document.querySelector(wanted) !== null && performance.now();
  }, selector);
  return Number(await seen.jsonValue());
}
