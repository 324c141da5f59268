import { expect, it } from 'vitest';
import { createHistory } from '../../../src/history/history.ts';
import { dieAt, everyDeath } from '../../stage/killed-run.ts';
import { at, bytes, describeOnBothKinds, type TestClient, type TestSite } from '../../stage/test-tree.ts';

const [A, B, DIRECTORY, TARGET] = ['/memories/d/a', '/memories/d/b', '/memories/d', '/memories/e'];

/** What a process is at when it dies. */
const DEEDS: Readonly<Record<string, (client: TestClient) => Promise<unknown>>> = {
  'an edit': (client) => client.append(A, ' edited'),
  'an overwrite': (client) => client.tree.overwrite(at(A), bytes('overwritten')),
  'the delete of a file': (client) => client.remove(A),
  'the delete of a directory': (client) => client.remove(DIRECTORY),
  'the rename of a file': (client) => client.rename(A, TARGET),
  'the rename of a directory': (client) => client.rename(DIRECTORY, TARGET),
};
/** All that was acknowledged before. */
const TEXTS = ['a', 'a and', 'a and more', 'b'];

/** Every text that is to be had, and the versions that another one replaced and that are nowhere. */
async function found({ tenant, tree }: TestClient) {
  const history = createHistory(tenant, tree);
  const entries = await history.list();
  const written = entries.flatMap((entry) => (entry.kind === 'written' ? [entry] : []));
  const renamed = entries.flatMap((entry) => ('to' in entry ? [entry.to] : []));
  const texts = await Promise.all(written.map(async (entry) => (await history.read(entry)).text()));
  const names = new Set(written.map(({ version }) => version));
  const missing = written.filter(({ previous }) => previous !== undefined && !names.has(previous));
  return { texts, missing, renamed, ends: written.map(({ end }) => end) };
}

describeOnBothKinds('where a process dies at any request, history has no hole', (newSite) => {
  async function start(): Promise<{ site: TestSite; client: TestClient }> {
    const site = await newSite();
    const first = await site.client({ keepsHistory: true });
    await first.create(A, 'a');
    await first.create(B, 'b');
    await first.append(A, ' and');
    await first.append(A, ' more');
    await site.time.pause(61_000);
    const client = await site.client();
    await client.text(B);
    return { site, client };
  }

  it.each(Object.entries(DEEDS))('%s', async (_, deed) => {
    const whole = await start();
    whole.client.calls.length = 0;
    await deed(whole.client);
    const deaths = everyDeath(whole.client.calls.length);
    expect((await found(whole.client)).ends).not.toContain('unrecorded');
    expect(deaths.length).toBeGreaterThan(4);
    for (const death of deaths) {
      const { site, client } = await start();
      client.intercept(dieAt(death));
      await deed(client).catch(() => {});
      await site.time.pause(61_000);
      const next = await site.client();
      // It finishes or takes back what the dead process has begun.
      await next.text(B);
      const { texts, missing, renamed } = await found(next);
      expect(texts, JSON.stringify(death)).toEqual(expect.arrayContaining(TEXTS));
      expect(missing, JSON.stringify(death)).toEqual([]);
      // What lies below the target came by the rename of the directory, which the history says.
      expect(renamed, JSON.stringify(death)).toEqual(expect.arrayContaining([...(await next.paths(TARGET))]));
      await next.tree.overwrite(at(B), bytes('last'));
      expect((await found(next)).texts).toEqual(expect.arrayContaining([...TEXTS, 'last']));
    }
  });
});
