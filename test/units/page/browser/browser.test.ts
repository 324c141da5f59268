import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { firstOrAll } from '../../../runner/thorough.ts';
import { type AgentSite, listedOnly } from '../../../stage/page-site.ts';
import { blocksOf, keepLook, shareOff } from './look.ts';
import {
  bytes,
  content,
  describePage,
  dialog,
  find,
  PATIENT,
  row,
  seldom,
  toTree,
  violationsOf,
} from './stage.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==',
  'base64',
);
const NOTES = `# Acme Bakery

Code name: **Kestrel** (public)
Budget: 4,500 euros

- Prefers short mails
- Contact: \`ada@acme.example\`

| What | When |
| --- | --- |
| Launch plan | 20 May |
`;

describePage('the page in Chromium', ({ browser, stack, show }) => {
  const someFiles = async ({ memory: { files } }: AgentSite): Promise<void> => {
    await files.write('/memories/customers/acme.md', NOTES);
    await files.write('/memories/plans/kestrel.md', '# Launch\nSpend 4,500 euros.\n');
    await files.write('/memories/preferences.json', '{ "tone": "short" }\n');
    await files.write('/memories/team/logo.png', PNG);
    await files.write('/memories/team/raw.bin', Uint8Array.of(0xff, 0xfe));
  };
  it('shows left what the model reads, and right what the store holds', async () => {
    const { page, strays, served } = await show(someFiles);
    expect(page.url()).toBe(`${served.origin}/`);
    await content(page).getByText("Here're the files and directories").waitFor();
    await expect.poll(() => page.locator('.key-row').count(), PATIENT).toBe(5);
    expect(await page.locator('.store-pane').textContent()).not.toMatch(/acme\.md|kestrel/);
    // Chromium takes for moved by nobody what a click moves half a second later, as on a busy machine.
    expect(await page.evaluate(() => (globalThis as unknown as { shifted: string[] }).shifted)).toEqual([]);
    await row(page, 'acme.md').click();
    await content(page).getByRole('heading', { name: 'Acme Bakery' }).waitFor();
    expect(await content(page).locator('strong, code, td').allTextContents()).toEqual([
      'Kestrel',
      'ada@acme.example',
      'Launch plan',
      '20 May',
    ]);
    await bytes(page).getByText('89 53 4d 31').waitFor();
    expect(await page.locator('.store-pane').textContent()).not.toMatch(/Kestrel|Acme/);
    await expect.poll(() => page.locator('.footer').textContent(), PATIENT).toContain('Last click 2 GET');
    await page.getByRole('button', { name: 'As Claude reads it' }).click();
    await content(page).getByText('with line numbers').waitFor();
    await page.getByRole('button', { name: 'Text', exact: true }).click();
    await content(page).getByText('- Prefers short mails').waitFor();
    await row(page, 'logo.png').click();
    const image = content(page).getByRole('img');
    await expect
      .poll(() => image.evaluate((each) => (each as HTMLImageElement).naturalWidth), PATIENT)
      .toBe(5);
    await row(page, 'raw.bin').click();
    await content(page).getByText('2 bytes that are neither').waitFor();
    for (const [name, expected] of [
      ['raw.bin', Buffer.of(0xff, 0xfe)],
      ['logo.png', PNG],
    ] as const) {
      await row(page, name).click();
      await content(page).getByText(`(${expected.length} bytes`).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        content(page).getByRole('button', { name: 'Download' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(name);
      expect(readFileSync(await download.path())).toEqual(expected);
    }
    expect(strays).toEqual([]);
  });

  it('follows an agent that writes meanwhile', async () => {
    const { agent, page } = await show(someFiles);
    await row(page, 'preferences.json').click();
    await content(page).getByText('"short"').waitFor();
    const before = await bytes(page).textContent();
    await agent.memory.execute({
      command: 'str_replace',
      path: '/memories/preferences.json',
      old_str: 'short',
      new_str: 'shorter',
    });
    await content(page).getByText('"shorter"').waitFor();
    await expect.poll(() => bytes(page).textContent(), PATIENT).not.toBe(before);
    await agent.memory.files.write('/memories/new.md', 'new');
    await row(page, 'new.md').waitFor();
    await agent.memory.files.remove('/memories/preferences.json');
    await row(page, 'preferences.json').waitFor({ state: 'detached' });
    await content(page).getByText('nothing at this path any more').waitFor();
    await page.getByRole('button', { name: 'Show all files' }).click();
    await content(page).getByText("Here're the files and directories").waitFor();
  });

  it('says so while the store does not answer, and goes on when it does', async () => {
    const { agent, page } = await show(someFiles);
    const { store } = agent;
    const { list } = store;
    const next = () => Promise.reject(new MemoryError('unavailable', 'The store did not answer.'));
    Object.assign(store, { list: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) });
    await page.getByText('Not live: The store did not answer.').waitFor();
    Object.assign(store, { list });
    await agent.memory.files.write('/memories/new.md', 'new');
    await row(page, 'new.md').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it('searches the texts, and leads to the line', async () => {
    const { page, strays } = await show(someFiles);
    await find(page, '4,500');
    await page.getByText('No name holds that').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('2 lines in 5 files').waitFor();
    await page.getByRole('button', { name: 'customers/acme.md:4' }).click();
    await page.locator('.line[data-found="true"]').getByText('Budget: 4,500 euros').waitFor();
    expect(strays).toEqual([]);
  });

  it('is used with the keyboard alone', async () => {
    const { page } = await show(someFiles);
    await toTree(page);
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
    await content(page).getByRole('heading', { name: 'Acme Bakery' }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await row(page, 'acme.md').waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowRight');
    await row(page, 'acme.md').waitFor();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await content(page).getByText('"tone"').waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    await page.keyboard.press('3');
    await expect.poll(focused, PATIENT).toBe('Bytes of the object');
    await page.keyboard.press('2');
    await expect.poll(focused, PATIENT).toBe('Content');
    await page.keyboard.press('h');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await content(page).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await find(page, 'acme');
    await expect.poll(() => page.getByRole('treeitem').count(), PATIENT).toBe(3);
  });

  it('has the object keys by the keyboard, and names the row that is chosen only while it is an element', async () => {
    const { page } = await show(async (agent) => {
      await someFiles(agent);
      await listedOnly(agent, 200);
    });
    const chosenIn = (name: string) =>
      page.evaluate((of) => {
        const id = document.querySelector(`[aria-label="${of}"]`)?.getAttribute('aria-activedescendant');
        return id === undefined || id === null ? id : document.getElementById(id)?.textContent;
      }, name);
    const keys = page.getByRole('listbox', { name: 'Object keys' });
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('3');
    await page.locator('.keys:focus').waitFor();
    const options = page.getByRole('option');
    await expect.poll(() => chosenIn('Object keys'), PATIENT).toBe(await options.first().textContent());
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => chosenIn('Object keys'), PATIENT).toBe(await options.nth(1).textContent());
    await page.keyboard.press('End');
    // The last row is laid out only when it was scrolled to.
    await expect
      .poll(async () => [await chosenIn('Object keys'), await options.last().textContent()], PATIENT)
      .toSatisfy(([chosen, last]) => chosen === last);
    await keys.evaluate((each) => each.scrollTo(0, 0));
    await expect.poll(() => chosenIn('Object keys'), PATIENT).toBeNull();
    await page.keyboard.press('Home');
    const first = (await options.first().getAttribute('id'))?.slice('key-'.length);
    await page.keyboard.press('Enter');
    await page.locator('h2.key').getByText(String(first)).waitFor();
    await toTree(page);
    await page.keyboard.press('End');
    await expect.poll(() => chosenIn('Files and directories'), PATIENT).toContain('preferences.json');
    await page.getByRole('tree').evaluate((each) => each.scrollTo(0, 0));
    await expect.poll(() => chosenIn('Files and directories'), PATIENT).toBeNull();
  });

  it('does nothing on keys of one character once they are switched off', async () => {
    const { page } = await show(someFiles);
    await page.keyboard.press('?');
    await page.getByRole('checkbox', { name: 'Keys of one character' }).uncheck();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    for (const key of ['h', '?', 'l', '/']) await page.keyboard.press(key);
    await page.getByRole('button', { name: 'Keys' }).click();
    expect(await page.getByRole('region', { name: /^(Health|History)$/ }).count()).toBe(0);
    await page.getByRole('checkbox', { name: 'Keys of one character' }).check();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('h');
    await page.getByRole('region', { name: 'Health' }).waitFor();
  });

  it('has an address and a title for each view, to which Back, a reload and a bookmark lead, and no path in any', async () => {
    const { page, context, served } = await show(someFiles, { memory: { history: { days: 30 } } });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const kept: string[] = [];
    const isAt = async (title: string): Promise<string> => {
      await expect.poll(() => page.title(), PATIENT).toBe(`${title} · sealed-memory`);
      kept.push(page.url(), await page.title(), await page.evaluate(() => JSON.stringify(history.state)));
      return page.url();
    };
    await isAt('Memory');
    await row(page, 'acme.md').click();
    await content(page).getByRole('heading', { name: 'Acme Bakery' }).waitFor();
    const file = await isAt('File');
    await page.getByRole('button', { name: 'Text', exact: true }).click();
    await content(page).getByText('- Prefers short mails').waitFor();
    const text = await isAt('File, Text');
    await row(page, 'plans').click();
    const directory = await isAt('Directory');
    await page.getByRole('button', { name: 'History' }).click();
    await page.getByRole('region', { name: 'History' }).waitFor();
    const log = await isAt('History');
    expect(new Set([`${served.origin}/`, file, text, directory, log]).size).toBe(5);
    await page.reload();
    await page.getByRole('region', { name: 'History' }).waitFor();
    for (const address of [directory, text]) {
      await page.goBack();
      await expect.poll(() => page.url(), PATIENT).toBe(address);
    }
    await content(page).getByText('- Prefers short mails').waitFor();
    await isAt('File, Text');
    await page.reload();
    await content(page).getByText('- Prefers short mails').waitFor();
    await page.goBack();
    await content(page).getByRole('heading', { name: 'Acme Bakery' }).waitFor();
    await page.goForward();
    await content(page).getByText('- Prefers short mails').waitFor();
    const bookmark = await context.newPage();
    await bookmark.goto(text);
    await content(bookmark).getByText('- Prefers short mails').waitFor();
    await bookmark.goto(`${served.origin}/#/00000000-0000-4000-8000-000000000000/text`);
    await expect.poll(() => bookmark.url(), PATIENT).toBe(`${served.origin}/`);
    await content(bookmark).getByText("Here're the files and directories").waitFor();
    expect([...kept, ...asked].join(' ')).not.toMatch(/acme|customers|plans|kestrel|memories/i);
  });

  it.each(firstOrAll(['light', 'dark'] as const))(
    'folds what the store holds to a strip, which costs nothing: %s',
    async (colorScheme) => {
      const { page } = await show(someFiles, { colorScheme });
      await row(page, 'acme.md').click();
      await bytes(page).getByText('89 53 4d 31').waitFor();
      await page.getByRole('button', { name: 'Fold' }).click();
      const strip = page.getByRole('button', { name: 'What the store holds', expanded: false });
      await expect.poll(() => strip.evaluate((each) => each === document.activeElement), PATIENT).toBe(true);
      expect((await page.locator('.store-pane').boundingBox())?.width).toBeLessThan(40);
      expect(await violationsOf(page)).toEqual([]);
      await row(page, 'preferences.json').click();
      await content(page).getByText('"tone"').waitFor();
      await expect.poll(() => page.locator('.footer').textContent(), PATIENT).toContain('Last click 1 GET');
      await strip.click();
      await bytes(page).getByText('89 53 4d 31').waitFor();
      await page.getByRole('button', { name: 'Fold' }).click();
      await page.keyboard.press('3');
      await page.locator('.hexdump:focus').waitFor();
    },
  );

  it('goes back twice when Back is pressed again before the first place is shown', async () => {
    const { page } = await show(someFiles);
    const addresses: string[] = [];
    for (const name of ['acme.md', 'plans', 'acme.md', 'plans', 'acme.md', 'plans']) {
      addresses.push(page.url());
      await row(page, name).click();
      await expect.poll(() => page.url(), PATIENT).not.toBe(addresses.at(-1));
    }
    for (const address of [addresses[4], addresses[2], addresses[0]]) {
      await page.evaluate(
        () =>
          new Promise((resolve) => {
            const again = () => {
              addEventListener('popstate', resolve, { once: true });
              history.back();
            };
            addEventListener('popstate', again, { once: true });
            history.back();
          }),
      );
      // Whatever the page adds to its past it has added after two frames.
      await page.evaluate(
        () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
      );
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 200)));
      expect(page.url()).toBe(address);
    }
  });

  it('joins directories in a row that hold nothing else, which opens, closes and has an address', async () => {
    const { agent, page, strays } = await show(async ({ memory: { files } }) => {
      await files.write('/memories/acme/billing/2026/may.md', 'May');
      await files.write('/memories/plan.md', 'A plan');
    });
    const joined = page.getByRole('treeitem').filter({ hasText: 'acme/billing/2026' });
    await joined.waitFor();
    expect(await page.getByRole('treeitem').count()).toBe(4);
    expect(await violationsOf(page)).toEqual([]);
    await toTree(page);
    for (const key of ['ArrowDown', 'ArrowLeft']) await page.keyboard.press(key);
    await row(page, 'may.md').waitFor({ state: 'detached' });
    expect(await joined.getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('ArrowRight');
    await row(page, 'may.md').waitFor();
    const before = page.url();
    await page.keyboard.press('Enter');
    await expect.poll(() => joined.getAttribute('aria-selected'), PATIENT).toBe('true');
    await expect.poll(() => page.url(), PATIENT).not.toBe(before);
    await page.reload();
    await expect.poll(() => joined.getAttribute('aria-selected'), PATIENT).toBe('true');
    await joined.locator('.glyph').click();
    await row(page, 'may.md').waitFor({ state: 'detached' });
    await agent.memory.files.write('/memories/acme/offer.md', 'An offer');
    const inner = page.locator('.row .name').getByText('billing/2026', { exact: true });
    await inner.waitFor();
    expect(await page.locator('.row[aria-selected="true"] .name').textContent()).toBe('billing/2026');
    expect(await page.getByRole('treeitem').count()).toBe(5);
    expect(strays).toEqual([]);
  });

  it('reveals in the tree the path that is opened elsewhere', async () => {
    const { page } = await show(async (agent) => {
      await someFiles(agent);
      await listedOnly(agent, 300);
    });
    await toTree(page);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowLeft');
    await row(page, 'acme.md').waitFor({ state: 'detached' });
    await page.keyboard.press('End');
    await row(page, 'preferences.json').waitFor();
    await page.keyboard.press('Control+k');
    await page.locator('.palette input:focus').waitFor();
    await page.keyboard.type('customers/acme');
    await page.keyboard.press('Enter');
    const chosen = page.locator('.row[aria-selected="true"]');
    await chosen.getByText('acme.md').waitFor();
    const tree = await page.getByRole('tree').boundingBox();
    await expect
      .poll(async () => ((await chosen.boundingBox())?.y ?? 0) >= (tree?.y ?? 0), PATIENT)
      .toBe(true);
  });

  it('gives every control in the dark an edge that stands out from its ground', async () => {
    const { page } = await show(someFiles, { colorScheme: 'dark', canWrite: true, width: 1600 });
    await row(page, 'acme.md').click();
    await bytes(page).getByText('89 53 4d 31').waitFor();
    const ratios = await page
      .locator('.filter :is(input, button), .file-acts button, .pane-name button')
      .evaluateAll((all) => {
        const lightOf = (colour: string): number => {
          const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? []).map((part) => {
            const share = Number(part) / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
        };
        return all.map((each) => {
          const pane = each.closest('.pane');
          const ground = pane === null ? '' : getComputedStyle(pane).backgroundColor;
          return lightOf(getComputedStyle(each).borderTopColor) / lightOf(ground);
        });
      });
    expect(ratios.length).toBeGreaterThan(5);
    expect(Math.min(...ratios)).toBeGreaterThanOrEqual(3);
  });

  it('leads to each directory above a file, and cuts the directories before the name', async () => {
    const directory = `/memories/customers/${'a long name '.repeat(6).trim()}`;
    const { page } = await show(
      ({ memory: { files } }) => files.write(`${directory}/acme-bakery.md`, NOTES),
      { width: 1280, canWrite: true, memory: { history: { days: 30 }, actor: 'an agent of some length' } },
    );
    await row(page, 'acme-bakery.md').click();
    const head = page.locator('.file-pane .pane-head');
    const isCut = (part: string) =>
      head.locator(part).evaluateAll((all) => all.map((each) => each.scrollWidth > each.clientWidth));
    await head.getByText('by an agent of some length').waitFor();
    expect([await isCut('.name'), await isCut('.crumb button')]).toEqual([
      [false],
      [expect.anything(), expect.anything(), true],
    ]);
    const boxes = await Promise.all(
      ['.name', '.file-acts', '.looks', '.writer'].map((part) => head.locator(part).boundingBox()),
    );
    expect(boxes.map((box, index) => index === 0 || (box?.x ?? 0) + (box?.width ?? 0) <= 1280)).not.toContain(
      false,
    );
    expect(boxes[2]?.y).toBeGreaterThanOrEqual((boxes[0]?.y ?? 0) + (boxes[0]?.height ?? 0));
    await head.getByRole('button', { name: 'customers' }).click();
    await expect
      .poll(() => page.locator('.row[aria-selected="true"]').textContent(), PATIENT)
      .toContain('customers');
  });

  it.each(firstOrAll(['dark', 'light'] as const))(
    'goes to a file, a view or an act by words of its name, with Ctrl-K: %s',
    async (colorScheme) => {
      const { page } = await show(someFiles, { colorScheme, canWrite: true });
      const go = async (words: string): Promise<void> => {
        await page.keyboard.press('Control+k');
        await page.locator('.palette input:focus').waitFor();
        await page.keyboard.type(words);
      };
      await go('customers acm');
      expect(await page.getByRole('option').allTextContents()).toContain('customers/acme.mdfile');
      const named = page.getByRole('combobox').getAttribute('aria-activedescendant');
      expect(await page.locator(`[id="${await named}"]`).textContent()).toBe('customers/acme.mdfile');
      expect(await violationsOf(page)).toEqual([]);
      await page.keyboard.press('Enter');
      await content(page).getByRole('heading', { name: 'Acme Bakery' }).waitFor();
      await go('edit');
      await page.keyboard.press('Enter');
      await content(page).getByRole('textbox').waitFor();
      await go('no such name');
      await page.getByText('Nothing has that name.').waitFor();
      expect(await violationsOf(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.locator('.palette').waitFor({ state: 'detached' });
      await go('h');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByRole('region', { name: 'Health' }).waitFor();
    },
  );

  it('verifies, and says what to do about a finding', async () => {
    const { agent, page } = await show(someFiles);
    await page.getByRole('button', { name: 'Health' }).click();
    await page.getByText('seals and opens').waitFor();
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('All well: 5 files').waitFor();
    const footer = (await page.locator('.footer .cost').first().textContent())?.replace('Last click ', '');
    await page.getByText(`It took ${footer}.`).waitFor();
    expect(footer).toMatch(/\d+ GET/);
    for await (const { objects } of agent.store.list({ prefix: 'tenants/acme/data/' })) {
      const [first] = objects;
      if (first !== undefined) await agent.store.put(first.key, new Uint8Array(300), { mode: 'overwrite' });
    }
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('1 finding left').waitFor();
    await page.getByText('is damaged — restore its object from a backup').waitFor();
    await page.getByRole('button', { name: 'Look' }).click();
    await page.getByRole('alert').waitFor();
    await bytes(page).getByText('00 00 00').first().waitFor();
  });

  it.each(['light', 'dark'] as const)('looks as it should in the %s theme', async (colorScheme) => {
    const { page } = await show(someFiles, { colorScheme });
    await row(page, 'acme.md').click();
    await content(page).getByRole('heading', { name: 'Acme Bakery' }).waitFor();
    await bytes(page).getByText('89 53 4d 31').waitFor();
    const picture = await page.screenshot();
    const other = colorScheme === 'light' ? 'dark' : 'light';
    const blank = await browser().newPage();
    stack().defer(() => blank.close());
    const blocks = await blocksOf(blank, picture);
    if (process.env['TEST_UPDATE_LOOKS'] === '1') keepLook(blocks, `file-${colorScheme}`);
    expect(shareOff(blocks, `file-${colorScheme}`)).toBeLessThan(0.05);
    expect(shareOff(blocks, `file-${other}`)).toBeGreaterThan(0.5);
  });

  it.each(['light', 'dark'] as const)(
    'has names for screen readers and enough contrast: %s',
    async (colorScheme) => {
      const { page } = await show(someFiles, { colorScheme });
      const violations = () => violationsOf(page);
      await content(page).getByText("Here're the files").waitFor();
      expect(await violations()).toEqual([]);
      await row(page, 'acme.md').click();
      await bytes(page).getByText('89 53 4d 31').waitFor();
      expect(await violations()).toEqual([]);
      await find(page, '4,500');
      await page.keyboard.press('Enter');
      await page.getByText('2 lines in 5 files').waitFor();
      expect(await violations()).toEqual([]);
      await page.getByRole('button', { name: 'Health' }).click();
      await page.getByRole('button', { name: 'Verify' }).click();
      await page.getByText('All well').waitFor();
      expect(await violations()).toEqual([]);
      await page.getByRole('button', { name: 'Keys' }).click();
      await page.getByRole('dialog').waitFor();
      expect(await violations()).toEqual([]);
    },
  );

  it('fits into 60 columns, one pane at a time', async () => {
    const { page } = await show(someFiles, { width: 480, height: 800 });
    const overflows = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    expect(await overflows()).toBe(false);
    await page.getByRole('main').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await row(page, 'acme.md').click();
    await content(page).getByRole('heading', { name: 'Acme Bakery' }).waitFor();
    expect(await row(page, 'acme.md').isVisible()).toBe(false);
    expect(await overflows()).toBe(false);
    expect((await page.locator('.file-pane').boundingBox())?.height).toBeGreaterThan(600);
    const panes = page.getByRole('navigation', { name: 'Panes' });
    await panes.getByRole('button', { name: 'What the store holds' }).click();
    await bytes(page).getByText('89 53 4d 31').waitFor();
    expect(await content(page).isVisible()).toBe(false);
    expect(await overflows()).toBe(false);
    expect(await violationsOf(page)).toEqual([]);
    await panes.getByRole('button', { name: 'Files' }).click();
    expect(await row(page, 'acme.md').isVisible()).toBe(true);
    await page.getByText('Read only', { exact: true }).waitFor();
    const [name, size] = await Promise.all(
      ['.name', '.size'].map((part) => row(page, 'acme.md').locator(part).boundingBox()),
    );
    expect(size?.y).toBeGreaterThanOrEqual((name?.y ?? 0) + (name?.height ?? 0));
    const [list, tabs] = await Promise.all([page.locator('.tree-pane').boundingBox(), panes.boundingBox()]);
    expect(tabs?.y).toBeGreaterThanOrEqual((list?.y ?? 0) + (list?.height ?? 0));
  });

  it('says that it could not be loaded where the app does not come', async () => {
    const { served, context } = await show(async () => {});
    const page = await context.newPage();
    await page.route('**/app.js', (route) => route.abort());
    await page.goto(served.origin);
    await page.getByText('The page could not be loaded.').waitFor();
  });

  it('begins to watch once it is seen, where it was hidden while it was loaded', async () => {
    const { agent, served, context } = await show(({ memory: { files } }) =>
      files.write('/memories/a.md', 'a'),
    );
    const page = await context.newPage();
    await page.addInitScript(() => {
      const seen = { isHidden: true };
      Object.defineProperty(document, 'hidden', { get: () => seen.isHidden });
      Object.assign(globalThis, {
        see: () => {
          seen.isHidden = false;
          document.dispatchEvent(new Event('visibilitychange'));
        },
      });
    });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(served.origin);
    await page.getByRole('tree').waitFor();
    await expect.poll(() => asked.some((url) => url.endsWith('/api/facts')), PATIENT).toBe(true);
    expect(asked.filter((url) => url.endsWith('/api/watch'))).toEqual([]);
    await agent.memory.files.write('/memories/b.md', 'b');
    await page.evaluate(() => (globalThis as unknown as { see(): void }).see());
    await row(page, 'b.md').waitFor();
  });

  it('keeps its tree and an open dialog when it is hidden and seen again', async () => {
    const { page } = await show(
      async ({ memory: { files } }) => {
        for (let n = 0; n < 150; n += 1) await files.write(`/memories/f${n}.md`, NOTES);
      },
      { canWrite: true },
    );
    await row(page, 'f1.md').first().click();
    await seldom(page, 'Rename');
    await dialog(page).waitFor();
    const anew = page.waitForRequest((request) => request.url().endsWith('/api/watch'));
    await page.evaluate(() => {
      const counts: string[] = [];
      const root = document.querySelector('[role="treeitem"] .size');
      new MutationObserver(() => counts.push(root?.textContent ?? 'gone')).observe(document, {
        subtree: true,
        childList: true,
        characterData: true,
      });
      Object.assign(globalThis, { counts });
      const turn = (hidden: boolean): void => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      };
      turn(true);
      setTimeout(() => turn(false), 100);
    });
    await anew;
    await page.waitForTimeout(1_000);
    const counts = await page.evaluate(() => (globalThis as unknown as { counts: string[] }).counts);
    expect(counts.filter((count) => count !== '150')).toEqual([]);
    expect(await dialog(page).count()).toBe(1);
  });

  it('names the first directory of a deep path, the two above the file, and between them what leads further in', async () => {
    const path = '/memories/customers/north/berlin/bakeries/acme/notes.md';
    const { page } = await show(({ memory: { files } }) => files.write(path, NOTES), { width: 1280 });
    await row(page, 'notes.md').click();
    const crumbs = page.locator('.file-pane .crumb button');
    await expect.poll(() => crumbs.allTextContents(), PATIENT).toEqual(['memories', '…', 'bakeries', 'acme']);
    await crumbs.nth(1).click();
    await expect.poll(() => crumbs.allTextContents(), PATIENT).toEqual(['memories', 'customers', 'north']);
    await page.locator('.file-pane .name').getByText('berlin').waitFor();
  });

  it('shows a table with its words whole, and lets it scroll by the keyboard where it is too wide', async () => {
    const word = 'incomprehensibilities';
    const wide = `| ${`${word} | `.repeat(8)}\n|${' --- |'.repeat(8)}\n| ${'a | '.repeat(8)}\n`;
    const { page } = await show(({ memory: { files } }) => files.write('/memories/a.md', wide));
    await row(page, 'a.md').click();
    const table = page.getByRole('group', { name: 'Table' });
    await table.waitFor();
    const heights = await table.locator('th').evaluateAll((all) => all.map((each) => each.clientHeight));
    const line = await table
      .locator('td')
      .first()
      .evaluate((each) => each.clientHeight);
    expect(heights.map((height) => height <= line)).not.toContain(false);
    await table.focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => table.evaluate((each) => each.scrollLeft), PATIENT).toBeGreaterThan(0);
  });

  it('shows 10,000 files with a screenful of rows, the first of them after one LIST', async () => {
    const held = Promise.withResolvers<void>();
    const { page } = await show(
      async (agent) => {
        await listedOnly(agent, 9_999);
        const { list } = agent.store;
        Object.assign(agent.store, {
          async *list(options: Parameters<typeof list>[0]) {
            for await (const found of list.call(agent.store, options)) {
              yield found;
              await held.promise;
            }
          },
        });
      },
      { isAwaited: false },
    );
    await row(page, 'f').first().waitFor();
    await row(page, 'memories').getByText('1,000', { exact: true }).waitFor();
    held.resolve();
    await row(page, '10,000').waitFor();
    await page.locator('.live[data-on="true"]').waitFor();
    // A busy browser may be about to lay out once more.
    const nodes = () => page.evaluate(() => document.querySelectorAll('*').length);
    await expect.poll(nodes, PATIENT).toBeLessThan(600);
    expect(await page.getByRole('treeitem').count()).toBeLessThan(120);
    // Five scripts and a style, the icon, the session, the facts, the tree, the directory and what is seen of it.
    const asked = await page.evaluate(() => performance.getEntriesByType('resource').length);
    expect(asked).toBeLessThan(14);
    await toTree(page);
    await page.keyboard.press('End');
    await row(page, 'first.md').waitFor();
    expect(await page.getByRole('treeitem').count()).toBeLessThan(120);
    await find(page, 'f4711');
    await expect.poll(() => page.getByRole('treeitem').count(), PATIENT).toBe(3);
  });

  const CANARIES: readonly (readonly [name: string, text: string])[] = [
    ['script.md', '<script>canary()</script>\n\n<img src=x onerror=canary()>\n\n<svg onload=canary()>'],
    [
      'links.md',
      '[a](javascript:canary()) [b](data:text/html,<script>canary()</script>) [c](https://evil.example/c) <https://evil.example/d>\n\n![e](https://evil.example/e.png)\n\n[f]: javascript:canary()\n[f]',
    ],
    [
      'tricks.md',
      '<iframe srcdoc="<script>canary()</script>"></iframe>\n\n<style>body{background:url(https://evil.example)}</style>\n\n```html\n<script>canary()</script>\n```\n\n<base href=https://evil.example><form action=https://evil.example><button>Verify</button></form>\n\n&lt;script&gt;canary()&lt;/script&gt;\n\n<div id=page name=page></div>',
    ],
    [
      'drawing.svg',
      '<svg xmlns="http://www.w3.org/2000/svg" onload="canary()"><script>canary()</script></svg>',
    ],
    ['page.html', '<!doctype html><script>canary()</script>'],
    ['not.png', '<svg onload=canary()>'],
    ['<img src=x onerror=canary()>.md', 'a name'],
    ['"><script>canary()<', 'a name'],
    ["'onmouseover='canary()", 'a name'],
    ['javascript:canary()', 'a name'],
    ['__proto__', 'a name'],
    ['constructor', 'a name'],
    ['$(canary()) {{canary()}}', 'a name'],
  ];

  /** High enough for every row of the canaries. */
  const ALL_ROWS = { height: 2_000 };

  it('runs nothing that a memory holds, and asks no one for anything', async () => {
    const { page, strays } = await show(async ({ memory: { files } }) => {
      for (const [name, text] of CANARIES) {
        await files.write(`/memories/${name}`, text);
        await files.write(`/memories/in ${name}/file.md`, text);
      }
    }, ALL_ROWS);
    await page.evaluate(() =>
      Object.assign(globalThis, { canary: () => Object.assign(globalThis, { ran: true }) }),
    );
    const rows = await page.getByRole('treeitem').count();
    expect(rows).toBe(CANARIES.length * 3 + 1);
    await toTree(page);
    await page.keyboard.press('Home');
    for (let at = 1; at < rows; at += 1) {
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      const path = await page.locator('.row[data-active="true"]').getAttribute('id');
      await expect
        .poll(() => page.locator('.row[aria-selected="true"]').getAttribute('id'), PATIENT)
        .toBe(path);
      await content(page).locator('.markdown, .lines').first().waitFor();
      for (const look of ['Text', 'As Claude reads it']) {
        const button = page.getByRole('button', { name: look, exact: true });
        if (await button.isVisible()) await button.click();
      }
    }
    await find(page, 'canary');
    await page.keyboard.press('Enter');
    await page.getByText(`lines in ${CANARIES.length * 2} files`).waitFor();
    expect(await page.evaluate(() => Object.hasOwn(globalThis, 'ran'))).toBe(false);
    expect(
      await page.locator('.app :is(script, iframe, style, form[action], base, svg, a, object)').count(),
    ).toBe(0);
    expect(strays).toEqual([]);
  });

  it('opens in the first browser alone, and stays open in it', async () => {
    const { page, served } = await show(someFiles);
    await page.reload();
    await row(page, 'preferences.json').waitFor();
    const second = await browser().newContext();
    stack().defer(() => second.close());
    const late = await second.newPage();
    await late.goto(served.address);
    await late.getByRole('heading', { name: 'This address was used already' }).waitFor();
    expect(await late.content()).not.toContain('acme');
    expect(await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length])).toEqual([
      '',
      0,
      0,
    ]);
  });

  it('says so when its program has ended', async () => {
    const { page, served } = await show(someFiles);
    await served[Symbol.asyncDispose]();
    await page.getByRole('heading', { name: 'The page has ended' }).waitFor();
  });

  it('is out of reach of other pages, by its address or by a name that leads to it', async () => {
    const { served, context: signedIn } = await show(someFiles);
    const foreign = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('hi'),
    );
    foreign.listen(0, '127.0.0.1');
    await once(foreign, 'listening');
    stack().defer(() => {
      foreign.close();
      foreign.closeAllConnections();
    });
    const page = await signedIn.newPage();
    const { port } = new URL(served.origin);
    await page.goto(`http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`);
    const steal = (url: string) =>
      page.evaluate(async (from) => {
        const tries = [
          () => fetch(`${from}/api/facts`, { method: 'POST', credentials: 'include', body: '{}' }),
          () =>
            fetch(`${from}/api/facts`, {
              method: 'POST',
              credentials: 'include',
              body: '{}',
              headers: { 'content-type': 'application/json' },
            }),
          () => fetch(`${from}/page.js`, { credentials: 'include' }),
        ];
        const got = await Promise.all(
          tries.map((each) =>
            each().then(
              (answer) => answer.text(),
              () => 'refused',
            ),
          ),
        );
        const frame = Object.assign(document.createElement('iframe'), { src: `${from}/` });
        const framed = new Promise((resolve) => frame.addEventListener('load', resolve));
        document.body.append(frame);
        await framed;
        return [...got, String(frame.contentDocument?.body.textContent ?? 'refused')];
      }, url);
    expect(await steal(served.origin)).toEqual(['refused', 'refused', 'refused', 'refused']);
    const rebound = await page.goto(`http://rebound.example:${port}/`);
    expect([rebound?.status(), await page.locator('body').textContent()]).toEqual([
      403,
      expect.stringContaining('Host'),
    ]);
    const asked = await page.evaluate(
      async () => (await fetch('/api/facts', { method: 'POST', body: '{}' })).status,
    );
    expect(asked).toBe(403);
  });
});
