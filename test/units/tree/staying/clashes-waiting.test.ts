import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { confirmedPut } from '../../../../src/tree/confirmed-put.ts';
import { textWrite } from '../../../../src/tree/create-file.ts';
import { listDirectory } from '../../../../src/tree/list-directory.ts';
import { findClash, listStaying, patiently } from '../../../../src/tree/staying/clashes.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { type LongWait, onLongWait } from '../../../../src/waits.ts';
import { countCalls, type NotedOptions, noteOptions } from '../../../stage/store-wrappers.ts';
import {
  at,
  bytes,
  createSite,
  type TestClient,
  type TestSite,
  withTenant,
} from '../../../stage/test-tree.ts';

const DAY = 86_400_000;

describe('the look for clashes', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  async function start(signal?: AbortSignal): Promise<{ client: TestClient; work: Work }> {
    site = await createSite();
    const client = await site.client();
    const work = await client.open(signal);
    client.calls.length = 0;
    return { client, work };
  }
  /** A file that its writer has not looked around for yet. */
  const put = async (work: Work, path: string): Promise<void> => {
    const { write } = textWrite(work, at(path), bytes('text'));
    await confirmedPut(work, { ...write, mode: 'create' });
  };

  it('looks at a young file above ten times a second, and for three seconds', async () => {
    const { client, work } = await start();
    await put(work, '/memories/a');
    client.calls.length = 0;
    const begun = work.tenant.clock();
    expect(await findClash(work, at('/memories/a/b'))).toBe('file_above');
    expect(work.tenant.clock() - begun).toBe(3_000);
    expect(countCalls(client.calls)).toEqual({ head: 31, list: 1, get: 1 });
  });

  it('goes by the age that the server tells, of which exactly three seconds are young', async () => {
    for (const skew of [-DAY, 0, DAY]) {
      const { client, work } = await start();
      await put(work, '/memories/a');
      await work.tenant.pause(3_000);
      const begun = work.tenant.clock();
      client.calls.length = 0;
      const skewed = withTenant(work, { clock: () => work.tenant.clock() + skew });
      expect(await findClash(skewed, at('/memories/a/b'))).toBe('file_above');
      expect(work.tenant.clock() - begun).toBe(100);
      await site.base[Symbol.asyncDispose]();
    }
    site = await createSite();
  });

  it('ends by its own clock where files above follow one another', async () => {
    const { client, work } = await start();
    const other = await (await site.client()).open();
    await put(work, '/memories/a');
    client.intercept(async (call, proceed) => {
      if (call.verb === 'head') {
        await other.tenant.store.delete([{ key: call.key }]);
        await put(other, '/memories/a');
      }
      return proceed();
    });
    const begun = work.tenant.clock();
    expect(await findClash(work, at('/memories/a/b'))).toBe('file_above');
    expect(work.tenant.clock() - begun).toBe(3_000);
  });

  it('names the directory of the path before a file above it', async () => {
    const { work } = await start();
    await put(work, '/memories/a');
    await put(work, '/memories/a/b/c');
    expect(await findClash(work, at('/memories/a/b'))).toBe('directory_at_path');
  });

  it('sends all its requests at once, of one key the listing', async () => {
    const { client, work } = await start();
    const running: string[] = [];
    client.intercept(async (call, proceed) => {
      running.push(call.verb);
      await work.tenant.pause(10);
      return proceed();
    });
    const looking = findClash(work, at('/memories/a/b/c'));
    await work.tenant.pause(5);
    expect(running.toSorted()).toEqual(['head', 'head', 'list']);
    await looking;
    const pages: (number | undefined)[] = [];
    const { list } = work.tenant.store;
    const store: ObjectStore = {
      ...work.tenant.store,
      list(options) {
        pages.push(options.maxKeys);
        return list(options);
      },
    };
    await findClash(withTenant(work, { store }), at('/memories/a'));
    expect(pages).toEqual([1]);
  });

  it('answers with what is there once a clash is settled, not with what was there before', async () => {
    const { client, work } = await start();
    await put(work, '/memories/d/a');
    await put(work, '/memories/d/a/b');
    const { files: first } = await listDirectory(work, at('/memories/d'));
    const settling = listStaying(work, at('/memories/d'), first);
    await work.tenant.pause(150);
    await client.remove('/memories/d/a');
    await put(work, '/memories/d/new');
    const paths = (await settling).map(({ path }) => path);
    expect(paths.toSorted()).toEqual(['/memories/d/a/b', '/memories/d/new']);
  });

  it('lists again where the younger file went after the listing', async () => {
    const { client, work } = await start();
    await put(work, '/memories/d/a');
    await put(work, '/memories/d/a/b');
    const { files: first } = await listDirectory(work, at('/memories/d'));
    await client.remove('/memories/d/a/b');
    const settled = await listStaying(work, at('/memories/d'), first);
    expect(settled.map(({ path }) => path)).toEqual(['/memories/d/a']);
  });

  it('waits for the younger of the files that clash, however old the other one is', async () => {
    const { client, work } = await start();
    await put(work, '/memories/d/a');
    await work.tenant.pause(61_000);
    await put(work, '/memories/d/a/b');
    const { files: first } = await listDirectory(work, at('/memories/d'));
    const settling = listStaying(work, at('/memories/d'), first);
    await work.tenant.pause(150);
    await client.remove('/memories/d/a/b');
    expect((await settling).map(({ path }) => path)).toEqual(['/memories/d/a']);
  });

  it('is unavailable after ten seconds, and looks ever more rarely until then', async () => {
    const { work } = await start();
    const begun = work.tenant.clock();
    const looks: number[] = [];
    const told: LongWait[] = [];
    const ceaseListening = onLongWait((wait) => told.push(wait));
    const waiting = patiently(work, async () => {
      looks.push(work.tenant.clock() - begun);
      return 'again' as const;
    });
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
    expect(looks.slice(0, 6)).toEqual([0, 100, 300, 700, 1_500, 2_500]);
    expect(looks.at(-1)).toBe(10_500);
    ceaseListening();
    expect(told).toEqual([{ for: 'create', leftMs: expect.any(Number) }]);
  });

  it('ends with the caller, whether it asks or waits', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const { client, work } = await start(signal);
    await put(work, '/memories/a');
    const noted: NotedOptions[] = [];
    const looking = findClash(
      withTenant(work, { store: noteOptions(work.tenant.store, noted) }),
      at('/memories/a/b'),
    );
    const told = expect(looking).rejects.toMatchObject({ code: 'aborted' });
    await work.tenant.pause(50);
    for (const each of noted) expect(each.signal).toBe(signal);
    client.calls.length = 0;
    controller.abort();
    await told;
    expect(client.calls).toEqual([]);
  });
});
