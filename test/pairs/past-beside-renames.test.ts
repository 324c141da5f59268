import { describe, expect, it } from 'vitest';
import { historyOf, textsOf } from '../stage/history-site.ts';
import { at, bytes, openSite, type TestClient } from '../stage/test-tree.ts';

const HOUR = 3_600_000;

/** A tenant in which bob has edited a file of ann's, the moment before that, and a process that looks back. */
async function open() {
  const site = await openSite();
  const clock = (): number => Math.floor(site.time.clock());
  const client = await site.client({ keepsHistory: true, clock });
  const reader = await site.client({ clock });
  await client.tree.create(at('/memories/d/b'), bytes('one'), { actor: 'ann' });
  await client.tree.create(at('/memories/d/x'), bytes('other'), { actor: 'ann' });
  await site.time.pause(HOUR);
  const before = new Date(clock());
  await site.time.pause(HOUR);
  await client.tree.overwrite(at('/memories/d/b'), bytes('two'), { actor: 'bob' });
  await site.time.pause(HOUR);
  return { site, client, reader, before };
}

const RENAMES: Readonly<Record<string, (client: TestClient) => Promise<unknown>>> = {
  'of the file to where was listed': (client) => client.rename('/memories/d/b', '/memories/a'),
  'of the file behind that': (client) => client.rename('/memories/d/b', '/memories/z'),
  'of the file over another': async (client) => {
    await client.remove('/memories/d/x');
    await client.rename('/memories/d/b', '/memories/d/x');
  },
  'of its directory': (client) => client.rename('/memories/d', '/memories/c'),
  'of its directory, with another file created in its place': async (client) => {
    await client.rename('/memories/d', '/memories/c');
    await client.tree.create(at('/memories/d/b'), bytes('three'), { actor: 'ann' });
  },
  'of its directory, and back': async (client) => {
    await client.rename('/memories/d', '/memories/c');
    await client.rename('/memories/c', '/memories/d');
  },
};
/** Those that end no file. */
const KEEPS_ALL = Object.entries(RENAMES).filter(([title]) => !title.includes('over another'));

/** Runs a verb with the rename before its nth request, for each n. */
async function atEach(
  rename: (client: TestClient) => Promise<unknown>,
  run: (place: Awaited<ReturnType<typeof open>>, request: number) => Promise<unknown>,
): Promise<void> {
  for (let request = 1, isMet = true; isMet; request++) {
    const place = await open();
    let count = 0;
    isMet = false;
    place.reader.intercept(async (_, proceed) => {
      if (++count === request) {
        isMet = true;
        await rename(place.client);
        await place.site.time.pause(1);
      }
      return proceed();
    });
    await run(place, request);
  }
}

describe.each(Object.entries(RENAMES))('beside the rename %s, at each request', (_, rename) => {
  it('an undo takes the text back', () =>
    atEach(rename, async ({ reader, client }, request) => {
      await historyOf(reader).undo({ writer: 'bob' });
      const texts = Object.values(await textsOf(client));
      expect(texts, `${request}`).not.toContain('two');
      expect(texts, `${request}`).toContain('one');
    }));

  it('a restore of all brings the text from before, and leaves none that was written since', () =>
    atEach(rename, async ({ reader, client, before }, request) => {
      const { outcome } = await historyOf(reader).restoreAt(before);
      expect(outcome).toBe('written');
      const texts = Object.values(await textsOf(client));
      expect(texts, `${request}`).not.toContain('two');
      expect(texts, `${request}`).toContain('one');
    }));

  it.each([{}, { limit: 5 }])('a list with %j has the version that went', (options) =>
    atEach(rename, async ({ reader }, request) => {
      const page = await historyOf(reader).list(undefined, options);
      const written = page.filter((entry) => entry.kind === 'written' && entry.writer === 'bob');
      expect(written, `${request}`).toHaveLength(1);
    }),
  );
});

it.each(KEEPS_ALL)('a restore of all beside the rename %s spares the file that is as it was', (_, rename) =>
  atEach(rename, async ({ reader, client, before }, request) => {
    await historyOf(reader).restoreAt(before);
    expect(Object.values(await textsOf(client)), `${request}`).toContain('other');
  }),
);

it('what is renamed to the first thousand files while the next are listed is among the past', async () => {
  const site = await openSite();
  const clock = (): number => Math.floor(site.time.clock());
  const client = await site.client({ keepsHistory: true, clock, names: 'plain' });
  for (let file = 1000; file <= 2000; file++) await client.create(`/memories/${file}`, 'a file');
  const reader = await site.client({ clock });
  reader.intercept(async (call, proceed) => {
    if (call.verb === 'list' && call.page === 2) {
      reader.intercept((_, next) => next());
      await client.rename('/memories/2000', '/memories/0');
    }
    return proceed();
  });
  const written = (await historyOf(reader).list()).filter(({ kind }) => kind === 'written');
  expect(written).toHaveLength(1001);
}, 60_000);
