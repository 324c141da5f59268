import { expect, it } from 'vitest';
import type { Questions } from '../../../../src/page/server/answer-questions.ts';
import { openTenantView } from '../../../../src/page/server/tenant-view.ts';
import { builtPage, openAgent, serveQuestions } from '../../../stage/page-site.ts';
import { content, describePage, row } from './stage.ts';

const WRONG = 'The program that shows this page gave an answer that the page does not understand.';

describePage('an answer that the protocol does not have, in Chromium', ({ browser, stack }) => {
  const show = async (wrong: Questions) => {
    const agent = stack().use(await openAgent());
    await agent.memory.files.write('/memories/a.md', 'Kestrel');
    const { questions } = stack().use(await openTenantView(agent.options, { lineOf: String }));
    const served = stack().use(await serveQuestions({ ...questions, ...wrong }, await builtPage()));
    const context = await browser().newContext({ reducedMotion: 'reduce' });
    stack().defer(() => context.close());
    const page = await context.newPage();
    const failures: string[] = [];
    page.on('pageerror', (error) => failures.push(String(error)));
    await page.goto(served.address);
    return { page, failures };
  };

  it('is said to be one where it would have been shown', async () => {
    const requests = { get: 1 };
    const { page, failures } = await show({
      file: async () => ({
        path: '/memories/a.md',
        size: 7,
        version: 'a',
        content: { kind: 'film' },
        requests,
      }),
      object: async ({ path }) => ({ path, requests }),
      async search(_, { send }) {
        await send({ path: '/memories/a.md', line: '1' });
        return { files: 1, lines: 1, unread: 0, isCut: false, requests };
      },
      verify: async () => ({ files: 1, bytes: 7, findings: [] }),
      keys: async () => ({ status: { state: 'open' }, requests }),
    });
    await row(page, 'a.md').click();
    await content(page).getByRole('alert').getByText(WRONG).waitFor();
    await page.locator('.store-pane').getByRole('alert').getByText(WRONG).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('kestrel');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText(WRONG).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Health' }).click();
    await page.getByRole('alert').getByText(WRONG).waitFor();
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByRole('status').getByText(WRONG).waitFor();
    expect(failures).toEqual([]);
  });

  it('is waited out where it is of the watch, and ends the page where it is of the memory itself', async () => {
    const { page } = await show({
      async watch(_, { send, signal }) {
        await send({ whole: true, changed: [{ path: '/memories/a.md' }] });
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve({})));
      },
    });
    await page.getByText(`Not live: ${WRONG}`).waitFor();
    const { page: other } = await show({ facts: async () => ({ tenant: 'acme', requests: {} }) });
    await other.getByRole('alert').getByText(WRONG).waitFor();
  });
});
