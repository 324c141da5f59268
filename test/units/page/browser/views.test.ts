import { expect, it } from 'vitest';
import { THOROUGH } from '../../../runner/thorough.ts';
import { contrastFaultsOn, layoutFaultsOn } from './layout-faults.ts';
import { describePage, violationsOf } from './stage.ts';
import { filesOfViews, VIEWS, WITH_HISTORY } from './views.ts';

/** High enough for every row of the tree. */
const SIZE = { width: 1440, height: 1_600 };
const WIDTHS = [480, 1024, 1280, 1600] as const;
/** All views in one walk: a busy machine may take its time. */
const WALK = { timeout: 600_000 };
const THEMES = ['light', 'dark'] as const;
/** Tells whether axe is asked: in the usual run of one pane at a time, and of all where they have least room. */
const isAsked = (width: number, theme: (typeof THEMES)[number]): boolean =>
  THOROUGH || width === 1280 || (width === 480 && theme === 'light');

describePage('every view of the page, in Chromium', ({ browser, stack, show }) => {
  it(
    'fits into four widths in both themes: nothing is cut unsaid, lies over another or is too faint, and axe finds nothing',
    WALK,
    async () => {
      const { agent, served, page, strays } = await show(filesOfViews, {
        ...SIZE,
        canWrite: true,
        memory: WITH_HISTORY,
      });
      const found: string[] = [];
      const look = async (name: string, on = page): Promise<void> => {
        for (const width of WIDTHS) {
          const faults = [...(await layoutFaultsOn(on, width))];
          for (const colorScheme of THEMES.filter((theme) => isAsked(width, theme))) {
            await on.emulateMedia({ colorScheme });
            // Contrast is all that a theme changes.
            const told = colorScheme === 'light' ? await violationsOf(on) : await contrastFaultsOn(on);
            faults.push(...told.map((fault) => `${colorScheme}: ${fault}`));
          }
          found.push(...faults.map((fault) => `${name}, ${width} px: ${fault}`));
        }
        await on.setViewportSize(SIZE);
      };
      for (const { name, reach } of VIEWS) {
        await reach(page, agent);
        await look(name);
      }
      const second = await browser().newContext();
      stack().defer(() => second.close());
      const late = await second.newPage();
      await late.goto(served.address);
      await late.getByRole('heading', { name: 'This address was used already' }).waitFor();
      await look('an address that was used', late);
      expect(strays).toEqual([]);
      await served[Symbol.asyncDispose]();
      await page.getByRole('heading', { name: 'The page has ended' }).waitFor();
      await look('the end');
      expect(found).toEqual([]);
    },
  );
});
