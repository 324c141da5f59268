import axe from 'axe-core';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { findChromium, launchChromium } from '../../../../infra/local/programs/chromium.ts';
import type { MemoryOptions } from '../../../../src/open/options/options.ts';
import type { Asset } from '../../../../src/page/server/serve-page.ts';
import { isNotRun } from '../../../runner/not-run.ts';
import {
  type AgentSite,
  builtPage,
  openAgent,
  type ServedPage,
  servePageOf,
} from '../../../stage/page-site.ts';

const SLOW = 120_000;
export const PATIENT = { timeout: 60_000 };

/** Chromium's entry about elements that moved without the user's doing. */
interface Shift {
  readonly hadRecentInput: boolean;
  readonly sources: readonly { readonly node: Node | null }[];
}

interface Shown {
  readonly agent: AgentSite;
  readonly served: ServedPage;
  readonly context: BrowserContext;
  readonly page: Page;
  /** The addresses that the page asked for beside its own origin, and the errors that it told. */
  readonly strays: readonly string[];
}

export interface Stage {
  /** Answers the browser of all tests of the suite. */
  browser(): Browser;
  /** Answers the stack whose resources end with the test. */
  stack(): AsyncDisposableStack;
  show(
    write: (agent: AgentSite) => Promise<unknown>,
    options?: {
      readonly colorScheme?: 'light' | 'dark';
      readonly width?: number;
      readonly height?: number;
      readonly canWrite?: boolean;
      readonly memory?: Partial<MemoryOptions>;
      /** The time zone in which the browser believes to be; this machine's own unless given. */
      readonly timezoneId?: string;
      /** False: the page is given while it loads. */
      readonly isAwaited?: boolean;
    },
  ): Promise<Shown>;
}

const chromium = await findChromium(process.env);
const isMissing = isNotRun('The page in a browser', chromium);

/** Tests of the page in one Chromium. */
export function describePage(name: string, tests: (stage: Stage) => void): void {
  describe.skipIf(isMissing)(name, { timeout: SLOW }, () => {
    let browser: Browser;
    let assets: ReadonlyMap<string, Asset>;
    beforeAll(async () => {
      [browser, assets] = await Promise.all([launchChromium(chromium, ['rebound.example']), builtPage()]);
    }, SLOW);
    afterAll(() => browser?.close(), SLOW);

    let stack = new AsyncDisposableStack();
    afterEach(async () => {
      const used = stack;
      stack = new AsyncDisposableStack();
      await used.disposeAsync();
    }, SLOW);

    const show: Stage['show'] = async (write, options = {}) => {
      const { colorScheme = 'light', width = 1440, height = 860, canWrite = false } = options;
      const agent = stack.use(await openAgent(options.memory));
      await write(agent);
      const served = stack.use(await servePageOf(agent.options, assets, { canWrite }));
      const context = await browser.newContext({
        colorScheme,
        viewport: { width, height },
        reducedMotion: 'reduce',
        ...(options.timezoneId !== undefined && { timezoneId: options.timezoneId }),
      });
      stack.defer(() => context.close());
      context.setDefaultTimeout(PATIENT.timeout);
      const page = await context.newPage();
      const strays: string[] = [];
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(`${served.origin}/`) && !url.startsWith(`blob:${served.origin}/`))
          strays.push(url);
      });
      page.on('dialog', (dialog) => {
        strays.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('console', (message) => {
        if (message.type() === 'error') strays.push(message.text());
      });
      page.on('pageerror', (error) => strays.push(String(error)));
      await page.addInitScript(() => {
        const shifted: string[] = [];
        Object.assign(globalThis, { shifted });
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries() as unknown as readonly Shift[]) {
            const moved = entry.hadRecentInput ? [] : entry.sources.map(({ node }) => node);
            // The words of an age end where they ended, and begin elsewhere when it grows from 9 s to 10 s.
            const astray = moved.filter((node) => node?.parentElement?.className !== 'age');
            shifted.push(
              ...astray.map((node) => (node instanceof Element ? node.outerHTML : (node?.textContent ?? ''))),
            );
          }
        }).observe({ type: 'layout-shift', buffered: true } as PerformanceObserverInit);
      });
      await page.goto(served.address);
      if (options.isAwaited !== false) await page.locator('.live[data-on="true"]').waitFor();
      return { agent, served, context, page, strays };
    };

    tests({ browser: () => browser, stack: () => stack, show });
  });
}

export const content = (page: Page): Locator => page.getByRole('region', { name: 'Content' });
export const bytes = (page: Page): Locator => page.getByRole('region', { name: 'Bytes of the object' });

export const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });
export const dialog = (page: Page): Locator => page.getByRole('dialog');

export const row = (page: Page, name: string): Locator =>
  page.getByRole('treeitem').filter({ hasText: name });

/** Chooses an act of a file that stands behind the three dots of a screen below 1,500 px. */
export const seldom = async (page: Page, name: string): Promise<void> => {
  await button(page, 'More acts').click();
  await page.getByRole('menuitem', { name, exact: true }).click();
};

/** With the keyboard alone. */
export const find = async (page: Page, text: string): Promise<void> => {
  await page.keyboard.press('/');
  await page.locator('.filter input:focus').waitFor();
  await page.keyboard.type(text);
};
export const toTree = async (page: Page): Promise<void> => {
  await page.keyboard.press('1');
  await page.locator('.tree:focus').waitFor();
};

/** Puts axe into a page that is without it. */
export async function loadAxe(page: Page): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
}

/** Answers what is missing for readers of the screen, and where contrast is too low. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  await loadAxe(page);
  return page.evaluate(async () => {
    const loaded = globalThis as unknown as {
      axe: {
        run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    // axe applies every rule, and describes what breaks one alone: the way to each element that is well costs as much.
    const { violations: found } = await loaded.axe.run({ resultTypes: ['violations'] });
    return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}
