import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { createEditQueue } from '../../../src/tree/edit-queue.ts';
import type { Edit } from '../../../src/tree/edit-round.ts';
import { readFile } from '../../../src/tree/read-file.ts';
import type { CallOptions, Work } from '../../../src/tree/tenant.ts';
import { atFirst } from '../../stage/store-wrappers.ts';
import { at, bytes, createSite, type TestClient } from '../../stage/test-tree.ts';

const PATH = at('/memories/a');

const plus =
  (text: string): Edit<string> =>
  (content) => ({ content: bytes(new TextDecoder().decode(content) + text), result: text });

async function start(opening: (options: CallOptions) => Promise<void> = async () => {}): Promise<{
  readonly queue: ReturnType<typeof createEditQueue>;
  readonly client: TestClient;
  readonly other: TestClient;
}> {
  const site = await createSite();
  const [client, other] = [await site.client({ cacheBytes: 0 }), await site.client()];
  await client.create('/memories/a', '');
  const work: Work = await client.open();
  const queue = createEditQueue(async (options) => {
    await opening(options);
    return { ...work, call: { signal: options.signal } };
  });
  return { queue, client, other };
}

describe('a round of edits', () => {
  it('that cannot begin fails the edit that it was for, and that one alone', async () => {
    let rounds = 0;
    const { queue, client } = await start(async () => {
      if (++rounds === 1) throw new MemoryError('unavailable', 'not now');
    });
    const [early, late] = [queue.edit(PATH, plus('a')), queue.edit(PATH, plus('b'))];
    await expect(early).rejects.toMatchObject({ code: 'unavailable' });
    expect(await late).toBe('b');
    expect([rounds, await client.text('/memories/a')]).toEqual([2, 'b']);
  });

  it('is not ended by one caller that cancels while another one waits for it to begin', async () => {
    const goOn = Promise.withResolvers<void>();
    const signals: AbortSignal[] = [];
    const { queue, client } = await start(async ({ signal }) => {
      if (signal !== undefined) signals.push(signal);
      await goOn.promise;
    });
    const abort = new AbortController();
    const given = queue.edit(PATH, plus('never'), { signal: abort.signal });
    const kept = queue.edit(PATH, plus('kept'));
    abort.abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    goOn.resolve();
    await expect(given).rejects.toMatchObject({ code: 'aborted' });
    expect(await kept).toBe('kept');
    expect([signals.length, await client.text('/memories/a')]).toEqual([1, 'kept']);
  });

  it('is not ended by one caller that cancels while it is read for another one', async () => {
    const { queue, client } = await start();
    const abort = new AbortController();
    client.intercept((call, proceed) => {
      if (call.verb === 'get') abort.abort();
      return proceed();
    });
    const given = queue.edit(PATH, plus('x'), { signal: abort.signal });
    given.catch(() => {});
    client.calls.length = 0;
    expect(await queue.edit(PATH, plus('y'))).toBe('y');
    expect(client.calls.map(({ verb }) => verb)).toEqual(['get', 'put']);
  });

  it.each(['judged', 'waiting'])('is not ended while one caller goes on: its edit is %s', async (kept) => {
    const signals: AbortSignal[] = [];
    const { queue, client } = await start(async ({ signal }) => {
      if (signal !== undefined) signals.push(signal);
    });
    const abort = new AbortController();
    const of = (edit: string) => (edit === kept ? {} : { signal: abort.signal });
    const late: Promise<string>[] = [];
    const seen: (boolean | undefined)[] = [];
    client.intercept(
      atFirst('get', async (proceed) => {
        const edit = queue.edit(PATH, plus('waiting'), of('waiting'));
        edit.catch(() => {});
        late.push(edit);
        abort.abort();
        seen.push(signals[0]?.aborted);
        return proceed();
      }),
    );
    await Promise.allSettled([queue.edit(PATH, plus('judged'), of('judged'))]);
    await Promise.allSettled(late);
    expect(seen).toEqual([false]);
    expect(await client.text('/memories/a')).toContain(kept);
  });

  it('ends at once when its only caller has cancelled before the call', async () => {
    const signals: AbortSignal[] = [];
    const { queue } = await start(async ({ signal }) => {
      if (signal === undefined) return;
      signals.push(signal);
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new MemoryError('aborted', 'cancelled')));
      });
    });
    const editing = queue.edit(PATH, plus('never'), { signal: AbortSignal.abort() });
    await expect(editing).rejects.toMatchObject({ code: 'aborted' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('that was cancelled leaves those that came later to the next one, in the order of their calls', async () => {
    const goOn = Promise.withResolvers<void>();
    const { queue, client } = await start(() => goOn.promise);
    const abort = new AbortController();
    const given = queue.edit(PATH, plus('never'), { signal: abort.signal });
    abort.abort();
    const late = [queue.edit(PATH, plus('1'))];
    client.intercept((call, proceed) => {
      if (call.verb === 'get' && late.length === 1) late.push(queue.edit(PATH, plus('2')));
      return proceed();
    });
    goOn.resolve();
    await expect(given).rejects.toMatchObject({ code: 'aborted' });
    expect(await Promise.all(late)).toEqual(['1', '2']);
    expect(await client.text('/memories/a')).toBe('12');
  });

  it('judges no edit on a text that was read before its call', async () => {
    const { queue, client, other } = await start();
    const refusing: Edit<never> = (content) => {
      throw new Error(`saw '${new TextDecoder().decode(content)}'`);
    };
    const late: Promise<never>[] = [];
    client.intercept(
      atFirst('get', async (proceed) => {
        const answer = await proceed();
        await other.append('/memories/a', 'new');
        late.push(queue.edit(PATH, refusing));
        return answer;
      }),
    );
    await expect(queue.edit(PATH, refusing)).rejects.toMatchObject({ message: "saw ''" });
    await expect(Promise.all(late)).rejects.toMatchObject({ message: "saw 'new'" });
  });

  it('ends without another look when its file was deleted before the PUT', async () => {
    const { queue, client, other } = await start();
    client.intercept(
      atFirst('put', async (proceed) => {
        await other.remove('/memories/a');
        return proceed();
      }),
    );
    client.calls.length = 0;
    await expect(queue.edit(PATH, plus('x'))).rejects.toMatchObject({ code: 'not_found' });
    expect(client.calls.map(({ verb }) => verb)).toEqual(['get', 'put']);
  });

  it('leaves no listener on the signals of its callers', async () => {
    const { queue } = await start();
    const { signal } = new AbortController();
    await Promise.all([queue.edit(PATH, plus('a'), { signal }), queue.edit(PATH, plus('b'), { signal })]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('names the version that it replaces, and stands behind its bound', async () => {
    const { queue, client } = await start();
    const work = await client.open();
    const before = await readFile(work, PATH);
    await queue.edit(PATH, plus('x'));
    const after = await readFile(work, PATH);
    if (before === undefined || after === undefined) throw new Error('there is no file');
    expect(after.previous).toEqual(before.id);
    expect(after.bound > before.bound).toBe(true);
  });
});
