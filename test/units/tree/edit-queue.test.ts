import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { atFirst, countCalls, noAnswer } from '../../stage/store-wrappers.ts';
import {
  at,
  bytes,
  createSite,
  describeOnBothKinds,
  type TestClient,
  TRIED_KINDS,
} from '../../stage/test-tree.ts';

const SEEDS = 60;

describeOnBothKinds('editing a file', (newSite) => {
  it('reads and writes it by one GET and one PUT', async () => {
    const client = await (await newSite()).client({ cacheBytes: 0 });
    await client.create('/memories/a', 'one');
    client.calls.length = 0;
    await client.append('/memories/a', ' two');
    expect(countCalls(client.calls)).toEqual({ get: 1, put: 1 });
    expect(await client.text('/memories/a')).toBe('one two');
  });

  it('answers with the result of the edit that was written', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/a', 'x');
    let meddle = true;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && meddle) {
        meddle = false;
        await other.append('/memories/a', 'y');
      }
      return proceed();
    });
    const seen = await client.tree.edit(at('/memories/a'), (content) => ({
      content: bytes('new'),
      result: new TextDecoder().decode(content),
    }));
    expect(seen).toBe('xy');
  });

  it('judges the fresh text again, and an error of the edit ends it with nothing written', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/a', 'x');
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put') await other.append('/memories/a', 'y');
      return proceed();
    });
    const editing = client.tree.edit(at('/memories/a'), (content) => {
      if (content.length > 1) throw new MemoryError('no_match', 'gone');
      return { content: bytes('new'), result: undefined };
    });
    await expect(editing).rejects.toMatchObject({ code: 'no_match' });
    expect(await client.text('/memories/a')).toBe('xy');
  });

  it('never creates a file that is missing or vanishes meanwhile', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/b', '');
    await expect(client.append('/memories/a', '+')).rejects.toMatchObject({ code: 'not_found' });
    await client.create('/memories/a', 'x');
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put') await other.remove('/memories/a');
      return proceed();
    });
    await expect(client.append('/memories/a', '+')).rejects.toMatchObject({ code: 'not_found' });
    expect(await client.paths()).toEqual(['/memories/b']);
  });

  it('is never applied twice when answers are lost', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', '');
    let puts = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb !== 'put') return proceed();
      const executes = puts++ % 2 === 0;
      if (executes) await proceed();
      throw noAnswer();
    });
    await client.append('/memories/a', 'once');
    expect(await client.text('/memories/a')).toBe('once');
  });

  it('refuses to grow a file above the limit', async () => {
    const client = await (await newSite()).client({ maxFileBytes: 4 });
    await client.create('/memories/a', '1234');
    await expect(client.append('/memories/a', '5')).rejects.toMatchObject({ code: 'limit_exceeded' });
    expect(await client.text('/memories/a')).toBe('1234');
  });
});

describe.each(TRIED_KINDS)('edits of one file by many processes on a(n) %s store', (kind) => {
  it('are all kept', { timeout: 60_000 }, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const site = await createSite(kind, seed);
      const setUp = await site.client();
      await setUp.create('/memories/a', '');
      const editors = await Promise.all(Array.from({ length: 6 }, () => site.client({ delayMs: 20 })));
      await Promise.all(
        editors.map(async (editor, i) => {
          await editor.append('/memories/a', `${i}a.`);
          await editor.append('/memories/a', `${i}b.`);
        }),
      );
      const parts = (await setUp.text('/memories/a'))?.split('.').slice(0, -1) ?? [];
      expect({ seed, parts: [...parts].sort() }).toEqual({
        seed,
        parts: editors.flatMap((_, i) => [`${i}a`, `${i}b`]),
      });
      for (const [i] of editors.entries()) {
        expect(parts.indexOf(`${i}a`)).toBeLessThan(parts.indexOf(`${i}b`));
      }
      await site.base[Symbol.asyncDispose]();
    }
  });
});

describe.each(TRIED_KINDS)('edits that race a rename and a delete on a(n) %s store', (kind) => {
  it('are kept wherever the file is, once acknowledged', { timeout: 60_000 }, async () => {
    const seen = { moved: 0, kept: 0, acknowledged: 0 };
    for (let seed = 1; seed <= SEEDS; seed++) {
      const site = await createSite(kind, seed);
      const setUp = await site.client();
      await setUp.create('/memories/from', '');
      await setUp.create('/memories/other', '');
      const mover = await site.client({ delayMs: 30 });
      const editors = await Promise.all(Array.from({ length: 3 }, () => site.client({ delayMs: 20 })));
      const acknowledged: string[] = [];
      const append = async (editor: TestClient | undefined, path: string, mark: string): Promise<boolean> => {
        try {
          await editor?.append(path, mark);
          acknowledged.push(mark);
          return true;
        } catch (error) {
          expect(error).toMatchObject({ code: 'not_found' });
          return false;
        }
      };
      const editing = editors.map(async (editor, i) => {
        for (let round = 0; round < 4; round++) {
          if (await append(editor, '/memories/from', `${i}${round}f.`)) continue;
          await append(editor, '/memories/to', `${i}${round}t.`);
        }
      });
      // In every third race another process finds the copy before the rename has ended.
      if (seed % 3 === 0) editing.push(append(editors[0], '/memories/to', 'early.').then(() => {}));
      const moved = mover.rename('/memories/from', '/memories/to').then(
        () => 'moved',
        (error: { code: string }) => error.code,
      );
      await Promise.all([...editing, moved]);
      const places = (await setUp.paths()).filter((path) => path !== '/memories/other');
      const texts = await Promise.all(places.map((path) => setUp.text(path)));
      expect({ seed, outcome: await moved, places: places.length }).toEqual({
        seed,
        outcome: places.length === 1 ? 'moved' : 'version_conflict',
        places: Math.min(2, Math.max(1, places.length)),
      });
      const missing = acknowledged.filter((mark) => !texts.join('').includes(mark));
      expect({ seed, outcome: await moved, missing }).toEqual({ seed, outcome: await moved, missing: [] });
      seen.acknowledged += acknowledged.length;
      if ((await moved) === 'moved') seen.moved++;
      else seen.kept++;
      await site.base[Symbol.asyncDispose]();
    }
    expect(seen.moved).toBeGreaterThan(SEEDS / 2);
    expect(seen.acknowledged).toBeGreaterThan(SEEDS);
  });

  it('are refused or taken away by a delete, never half kept', { timeout: 60_000 }, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const site = await createSite(kind, seed);
      const setUp = await site.client();
      await setUp.create('/memories/a', '');
      const [editor, remover] = [await site.client({ delayMs: 20 }), await site.client({ delayMs: 30 })];
      let deleted = false;
      const late: string[] = [];
      const editing = (async () => {
        for (let round = 0; round < 6; round++) {
          const startedAfterDelete = deleted;
          const done = await editor.append('/memories/a', `${round}.`).then(
            () => true,
            () => false,
          );
          if (done && startedAfterDelete) late.push(`${round}`);
        }
      })();
      await remover.remove('/memories/a').then(() => {
        deleted = true;
      });
      await editing;
      expect({ seed, deleted, late, left: await setUp.paths() }).toEqual({
        seed,
        deleted: true,
        late: [],
        left: [],
      });
      await site.base[Symbol.asyncDispose]();
    }
  });
});

describeOnBothKinds('edits of one path in one process', (newSite) => {
  const refusing = () => {
    throw new MemoryError('no_match', 'refused by the test');
  };

  it('are written by few PUTs, in the order of the calls', async () => {
    const client = await (await newSite()).client({ delayMs: 20 });
    await client.create('/memories/a', '');
    client.calls.length = 0;
    await Promise.all(Array.from({ length: 50 }, (_, i) => client.append('/memories/a', `${i}.`)));
    expect(await client.text('/memories/a')).toBe(Array.from({ length: 50 }, (_, i) => `${i}.`).join(''));
    expect(countCalls(client.calls)['put']).toBeLessThanOrEqual(5);
  });

  it('see what the ones before them left, whichever of those are refused', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', '');
    const seen: string[] = [];
    const look = (mark: string) => (content: Uint8Array) => {
      seen.push(new TextDecoder().decode(content));
      return { content: bytes(new TextDecoder().decode(content) + mark), result: mark };
    };
    const outcomes = await Promise.allSettled([
      client.tree.edit(at('/memories/a'), look('x')),
      client.tree.edit(at('/memories/a'), refusing),
      client.tree.edit(at('/memories/a'), look('y')),
    ]);
    expect(seen).toEqual(['', 'x']);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await client.text('/memories/a')).toBe('xy');
  });

  it('end each with its own error when one grows the file above the limit', async () => {
    const client = await (await newSite()).client({ maxFileBytes: 4 });
    await client.create('/memories/a', '12');
    const outcomes = await Promise.allSettled([
      client.append('/memories/a', '34567'),
      client.append('/memories/a', '34'),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(await client.text('/memories/a')).toBe('1234');
  });

  it('have no final verdict before the PUT that carries it, an error included', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/a', 'x');
    let meddled = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && !meddled) {
        meddled = true;
        await other.append('/memories/a', 'y');
      }
      return proceed();
    });
    const needsY = (content: Uint8Array) => {
      if (!new TextDecoder().decode(content).includes('y')) return refusing();
      return { content, result: 'found' };
    };
    const [, found] = await Promise.all([
      client.append('/memories/a', '+'),
      client.tree.edit(at('/memories/a'), needsY),
    ]);
    expect(found).toBe('found');
    expect(await client.text('/memories/a')).toBe('xy+');
  });

  it('are all told when it cannot be known whether their PUT landed', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/a', '');
    client.intercept(async (call, proceed) => {
      if (call.verb !== 'put') return proceed();
      await proceed();
      await other.append('/memories/a', 'z');
      throw noAnswer();
    });
    const outcomes = await Promise.allSettled([
      client.append('/memories/a', 'x'),
      client.append('/memories/a', 'y'),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'outcome_unknown' } });
    }
    expect(await client.text('/memories/a')).toBe('xyz');
  });

  it('do not fail with a round that began before they were called', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    const [looked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    client.intercept(
      atFirst('list', async (proceed) => {
        const answer = await proceed();
        looked.resolve();
        await goOn.promise;
        return answer;
      }),
    );
    const early = client.append('/memories/a', 'early');
    await looked.promise;
    await other.create('/memories/a', 'x');
    // The look for the keyring that is under way has seen no memory; this call comes after there is one.
    const late = client.append('/memories/a', '!');
    goOn.resolve();
    const [earlier, later] = await Promise.allSettled([early, late]);
    expect(later).toMatchObject({ status: 'fulfilled' });
    expect(await other.text('/memories/a')).toBe(earlier.status === 'fulfilled' ? 'xearly!' : 'x!');
  });

  it('have no verdict from a read before their call, when those that it was for have cancelled', async () => {
    const site = await newSite();
    const [client, other] = [await site.client({ cacheBytes: 0 }), await site.client()];
    await client.create('/memories/a', 'old');
    const abort = new AbortController();
    const given: Promise<unknown>[] = [];
    let late: Promise<unknown> | undefined;
    const createAndEdit = async (): Promise<void> => {
      await other.create('/memories/a', 'new');
      late = client.append('/memories/a', ' and edited');
      late.catch(() => {});
    };
    let [reads, writes] = [0, 0];
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      const isOfFile = 'key' in call && call.key.includes('/data/');
      if (isOfFile && call.verb === 'put' && ++writes === 1) await other.remove('/memories/a');
      if (isOfFile && call.verb === 'get' && ++reads === 1) {
        // Waits for the next round, and its caller cancels during this one.
        given.push(client.append('/memories/a', ' never', abort.signal));
        abort.abort();
      } else if (isOfFile && call.verb === 'get' && reads === 2 && late === undefined) await createAndEdit();
      return answer;
    });
    await client.append('/memories/a', ' first');
    await expect(given[0]).rejects.toMatchObject({ code: 'aborted' });
    await site.time.pause(1_000);
    if (late === undefined) await createAndEdit();
    await late;
    expect(await client.text('/memories/a')).toBe('new and edited');
  });

  it('continue when one caller cancels, and end when all have', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', '');
    const [one, both] = [new AbortController(), new AbortController()];
    one.abort();
    const outcomes = await Promise.allSettled([
      client.append('/memories/a', 'gone', one.signal),
      client.append('/memories/a', 'kept', both.signal),
    ]);
    expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: { code: 'aborted' } });
    expect(outcomes[1]).toMatchObject({ status: 'fulfilled' });
    both.abort();
    await expect(client.append('/memories/a', 'never', both.signal)).rejects.toMatchObject({
      code: 'aborted',
    });
    await client.append('/memories/a', '!');
    expect(await client.text('/memories/a')).toBe('kept!');
  });
});
