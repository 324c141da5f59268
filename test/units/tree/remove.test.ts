import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { Progress } from '../../../src/tree/tenant.ts';
import { putUnchecked } from '../../stage/rare-writes.ts';
import { type Around, atFirst, countCalls, noAnswer, sendTwice } from '../../stage/store-wrappers.ts';
import { at, createSite, describeOnBothKinds } from '../../stage/test-tree.ts';

describeOnBothKinds('removing a path', (newSite) => {
  it('takes a file by one LIST and one guarded delete', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', 'text');
    await client.create('/memories/ab', 'other');
    client.calls.length = 0;
    await client.remove('/memories/a');
    expect(countCalls(client.calls)).toEqual({ list: 1, delete: 1 });
    expect(await client.paths()).toEqual(['/memories/ab']);
  });

  it('takes a directory with everything below it, and nothing beside it', async () => {
    const client = await (await newSite()).client();
    for (const path of ['a/b', 'a/c/d', 'a/.e', 'ab', 'b/a']) await client.create(`/memories/${path}`, '');
    client.calls.length = 0;
    await client.remove('/memories/a');
    expect(countCalls(client.calls)).toEqual({ list: 1, get: 1, delete: 1 });
    expect(await client.paths()).toEqual(['/memories/ab', '/memories/b/a']);
  });

  it('reports a missing path', async () => {
    const client = await (await newSite()).client();
    await expect(client.remove('/memories/a')).rejects.toMatchObject({ code: 'not_found' });
    await client.create('/memories/a/b', '');
    for (const path of ['/memories/b', '/memories/a/c', '/memories/a/b/c']) {
      await expect(client.remove(path)).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await client.paths()).toEqual(['/memories/a/b']);
  });

  it('takes the version that was edited meanwhile too, once it has seen it', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/a', 'text');
    let edits = 2;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'delete' && edits-- > 0) await other.append('/memories/a', '!');
      return proceed();
    });
    await client.remove('/memories/a');
    expect(await client.paths()).toEqual([]);
    expect(client.calls.filter(({ verb }) => verb === 'delete')).toHaveLength(3);
  });

  it('reports a file that another process removed first as missing', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/a', 'text');
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.remove('/memories/a');
        return proceed();
      }),
    );
    await expect(client.remove('/memories/a')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('leaves what is created after the request ran', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    for (const path of ['/memories/d/a', '/memories/d/b']) await client.create(path, 'old');
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'delete') await other.create('/memories/d/a', 'new');
      return answer;
    });
    await client.remove('/memories/d');
    expect(await client.paths()).toEqual(['/memories/d/a']);
    expect(await client.text('/memories/d/a')).toBe('new');
  });

  it('never says "not found" after an attempt of its own that may have been executed', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', 'text');
    client.intercept((call, proceed) => (call.verb === 'delete' ? sendTwice(proceed) : proceed()));
    await expect(client.remove('/memories/a')).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await client.paths()).toEqual([]);
  });

  it('does not know the outcome when no answer comes', async () => {
    const client = await (await newSite()).client();
    for (const path of ['/memories/a', '/memories/d/a', '/memories/d/b']) await client.create(path, '');
    client.intercept((call, proceed) => (call.verb === 'delete' ? Promise.reject(noAnswer()) : proceed()));
    for (const path of ['/memories/a', '/memories/d']) {
      await expect(client.remove(path)).rejects.toMatchObject({ code: 'outcome_unknown' });
    }
  });

  it('passes a refusal on when nothing went, and does not know the outcome when some went', async () => {
    const client = await (await newSite()).client();
    for (const path of ['/memories/d/a', '/memories/d/b']) await client.create(path, '');
    const refuse =
      (kept: (i: number) => boolean): Around =>
      async (call, proceed) => {
        if (call.verb !== 'delete') return proceed();
        const error = new MemoryError('access_denied', 'no');
        return call.targets.flatMap(({ key }, i) => (kept(i) ? [{ key, error }] : [])) as Awaited<
          ReturnType<typeof proceed>
        >;
      };
    client.intercept(refuse(() => true));
    await expect(client.remove('/memories/d')).rejects.toMatchObject({ code: 'access_denied' });
    client.intercept(refuse((i) => i === 0));
    await expect(client.remove('/memories/d')).rejects.toMatchObject({ code: 'outcome_unknown' });
  });
});

describeOnBothKinds('a delete that the store refuses', (newSite) => {
  it('is passed on while the file is seen to be there', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', 'text');
    const refusal = new MemoryError('access_denied', 'no');
    client.intercept(atFirst('delete', () => Promise.reject(refusal)));
    await expect(client.remove('/memories/a')).rejects.toMatchObject({ code: 'access_denied' });
    expect(await client.text('/memories/a')).toBe('text');
  });

  it('has an unknown outcome when the file is gone, or cannot be looked for', async () => {
    const refusal = new MemoryError('access_denied', 'no');
    for (const alsoHead of [false, true]) {
      const client = await (await newSite()).client();
      await client.create('/memories/a', 'text');
      client.intercept(async (call, proceed) => {
        const answer = await proceed();
        if (call.verb === 'delete' || (alsoHead && call.verb === 'head')) throw refusal;
        return answer;
      });
      await expect(client.remove('/memories/a')).rejects.toMatchObject({ code: 'outcome_unknown' });
    }
  });
});

describe('removing a directory of 1,500 files', () => {
  it('takes two LISTs, two batches and a look at the register', { timeout: 60_000 }, async () => {
    const site = await createSite();
    const client = await site.client();
    await client.create('/memories/keep', '');
    for (let i = 0; i < 1_500; i++) await putUnchecked(client, `/memories/d/${i}`);
    client.calls.length = 0;
    await client.remove('/memories/d');
    expect(countCalls(client.calls)).toEqual({ list: 2, get: 1, delete: 2 });
    expect(await client.paths()).toEqual(['/memories/keep']);

    for (let i = 0; i < 1_001; i++) await putUnchecked(client, `/memories/d/${i}`);
    client.intercept(atFirst('delete', () => Promise.reject(new MemoryError('access_denied', 'no'))));
    await expect(client.remove('/memories/d')).rejects.toMatchObject({ code: 'access_denied' });
    expect(await client.paths('/memories/d')).toHaveLength(1_001);
    // The first batch has gone before the second one is refused.
    let batches = 0;
    client.intercept((call, proceed) =>
      call.verb === 'delete' && ++batches === 2
        ? Promise.reject(new MemoryError('access_denied', 'no'))
        : proceed(),
    );
    await expect(client.remove('/memories/d')).rejects.toMatchObject({ code: 'outcome_unknown' });
    await site.base[Symbol.asyncDispose]();
  });
});

describe('the progress of a long command', () => {
  it('counts the files that are deleted, and those that are renamed', async () => {
    const site = await createSite();
    const client = await site.client();
    for (let i = 0; i < 1_100; i++) await putUnchecked(client, `/memories/d/${i}`);
    const seen: Progress[] = [];
    const onProgress = (progress: Progress): void => {
      seen.push(progress);
    };
    await client.tree.rename({ from: at('/memories/d'), to: at('/memories/e') }, { onProgress });
    expect(seen.map(({ done }) => done)).toEqual(Array.from({ length: 1_100 }, (_, i) => i + 1));
    seen.length = 0;
    await client.tree.remove(at('/memories/e'), { onProgress });
    expect(seen).toEqual([
      { done: 1_000, total: 1_100 },
      { done: 1_100, total: 1_100 },
    ]);
    await site.base[Symbol.asyncDispose]();
  });
});
