import { expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { NO_ID } from '../../../src/format/wrap.ts';
import type { MemoryPath } from '../../../src/language/path.ts';
import type { DeleteFailure, DeleteOptions, ListPage } from '../../../src/store/port.ts';
import { removePath } from '../../../src/tree/remove.ts';
import { createRenameRegister } from '../../../src/tree/rename/finish-renames.ts';
import type { EndedFile, HistorySaver, Progress, Quota } from '../../../src/tree/tenant.ts';
import { putUnchecked } from '../../stage/rare-writes.ts';
import {
  atFirst,
  loseAnswer,
  type NotedOptions,
  noAnswer,
  noteOptions,
  type StoreCall,
  unclear,
} from '../../stage/store-wrappers.ts';
import {
  at,
  describeOnBothKinds,
  type TestClient,
  type TestSite,
  withTenant,
} from '../../stage/test-tree.ts';

const DIRECTORY = '/memories/d';

describeOnBothKinds('deleting a directory that others work in', (newSite) => {
  async function start(names: readonly string[] = ['a', 'b']): Promise<{
    site: TestSite;
    client: TestClient;
    other: TestClient;
  }> {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    for (const name of names) await putUnchecked(other, `${DIRECTORY}/${name}`, name);
    await client.paths();
    client.calls.length = 0;
    return { site, client, other };
  }
  const remove = (client: TestClient) => client.remove(DIRECTORY);

  it('deletes what changed as it is then, and leaves what was created since', async () => {
    const { client, other } = await start(['a', 'b', 'c']);
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.append(`${DIRECTORY}/b`, '+');
        await other.remove(`${DIRECTORY}/c`);
        const answer = await proceed();
        for (const name of ['a', 'c']) await other.create(`${DIRECTORY}/${name}`, 'new');
        return answer;
      }),
    );
    await remove(client);
    expect(await other.paths()).toEqual([`${DIRECTORY}/a`, `${DIRECTORY}/c`]);
  });

  it('looks nine times for what keeps changing, and then does not know', async () => {
    for (const [edits, code] of [
      [8, 'ok'],
      [9, 'outcome_unknown'],
    ] as const) {
      const { client, other } = await start();
      let left: number = edits;
      let deletes = 0;
      client.intercept(async (call, proceed) => {
        if (call.verb !== 'delete') return proceed();
        deletes++;
        if (left-- > 0) await other.append(`${DIRECTORY}/b`, '+');
        return proceed();
      });
      const outcome = await remove(client).then(
        () => 'ok',
        (error: MemoryError) => error.code,
      );
      expect({ outcome, deletes }).toEqual({ outcome: code, deletes: 9 });
    }
  });

  it('sends a batch without an answer no second time, and looks at what is left', async () => {
    for (const lose of [loseAnswer, () => Promise.reject(noAnswer())]) {
      const { client, other } = await start();
      client.intercept(atFirst('delete', lose));
      await remove(client);
      expect(await other.paths()).toEqual([]);
      expect(client.calls.filter(({ verb }) => verb === 'delete').length).toBeLessThanOrEqual(2);
    }
  });

  it('gives the room of each file back as it goes, and once', async () => {
    const { client, other } = await start();
    const freed: unknown[] = [];
    const quota: Partial<Quota> = {
      freed: (files) => void freed.push(files.map(({ size }) => size)),
    };
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.append(`${DIRECTORY}/b`, '+');
        return proceed();
      }),
    );
    const work = withTenant(await client.open(), { quota: quota as Quota });
    await removePath(work, createRenameRegister(), { path: at(DIRECTORY) });
    expect(freed).toEqual([[1], [2]]);
  });

  it('names the refusal, not the missing answer, where a batch has both', async () => {
    const { client } = await start();
    const refusal = new MemoryError('access_denied', 'no');
    client.intercept(async <T>(call: StoreCall, proceed: () => Promise<T>) => {
      if (call.verb !== 'delete') return proceed();
      const errors = [noAnswer(), refusal];
      return call.targets.map(({ key }, i) => ({ key, error: errors[i] })) as T;
    });
    await expect(remove(client)).rejects.toMatchObject({ code: 'outcome_unknown', cause: refusal });
  });

  it('does not know the outcome where a file is another one behind a lost answer', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        await proceed();
        await other.create(`${DIRECTORY}/a`, 'new');
        throw noAnswer();
      }),
    );
    await expect(remove(client)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await other.text(`${DIRECTORY}/a`)).toBe('new');
  });

  it('does not know the outcome where the version of another file lies behind a lost answer', async () => {
    const { client } = await start();
    let listed: ListPage | undefined;
    let deletes = 0;
    client.intercept(async <T>(call: StoreCall, proceed: () => Promise<T>) => {
      if (call.verb === 'delete' && deletes++ === 0) return loseAnswer(proceed);
      const answer = await proceed();
      if (call.verb !== 'list' || call.page > 1) return answer;
      if (deletes === 0) listed = (answer as IteratorYieldResult<ListPage>).value;
      if (deletes !== 1 || listed === undefined) return answer;
      const [a, b] = listed.objects;
      return { done: false, value: { ...listed, objects: [{ ...a, key: b?.key }] } } as T;
    });
    await expect(remove(client)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(deletes).toBe(1);
  });

  it('does not know the outcome where one of a batch may have been deleted by an attempt of its own', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async <T>(proceed: () => Promise<T>) => {
        await other.append(`${DIRECTORY}/a`, '+');
        const failures = (await proceed()) as readonly DeleteFailure[];
        return failures.map(unclear) as T;
      }),
    );
    await expect(remove(client)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await other.text(`${DIRECTORY}/a`)).toBe('a+');
  });

  it('does not pass a refusal on once an earlier request may have deleted something', async () => {
    const { client } = await start(['a']);
    const refusal = new MemoryError('access_denied', 'no');
    let deletes = 0;
    client.intercept((call, proceed) => {
      if (call.verb !== 'delete') return proceed();
      return Promise.reject(deletes++ === 0 ? noAnswer() : refusal);
    });
    await expect(remove(client)).rejects.toMatchObject({ code: 'outcome_unknown', cause: refusal });
  });

  it('does not know the outcome when it cannot look at what is left', async () => {
    const { client, other } = await start();
    let isDeleted = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'list' && isDeleted) throw new MemoryError('unavailable', 'down');
      if (call.verb === 'delete') {
        isDeleted = true;
        await other.append(`${DIRECTORY}/b`, '+');
      }
      return proceed();
    });
    await expect(remove(client)).rejects.toMatchObject({
      code: 'outcome_unknown',
      cause: { code: 'unavailable' },
    });
  });

  it('does not know the outcome when it cannot save what is left', async () => {
    const client = await (await newSite()).client({ keepsHistory: true });
    await client.create(`${DIRECTORY}/a`, 'a');
    let isSent = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key.includes('/history/') && isSent)
        throw new MemoryError('unavailable', 'down');
      if (call.verb !== 'delete' || isSent) return proceed();
      // It may arrive any time from now on.
      isSent = true;
      throw noAnswer();
    });
    await expect(remove(client)).rejects.toMatchObject({
      code: 'outcome_unknown',
      cause: { code: 'unavailable' },
    });
  });

  it('lists again behind a rename that it had to finish', async () => {
    const { site, client, other } = await start();
    await other.create('/memories/kept', '');
    const move = { from: at(DIRECTORY), to: at('/memories/e') };
    await createRenameRegister().begin(await (await site.client()).open(), move);
    await site.time.pause(10_001);
    await expect(remove(client)).rejects.toMatchObject({ code: 'not_found' });
    expect(await other.paths()).toEqual(['/memories/e/a', '/memories/e/b', '/memories/kept']);
  });

  it('takes a thousand files at a time, and stops at the first batch that is refused', async () => {
    const names = Array.from({ length: 1_001 }, (_, i) => `${i}`);
    const { client, other } = await start(names);
    const refusal = new MemoryError('access_denied', 'no');
    client.intercept(atFirst('delete', () => Promise.reject(refusal)));
    await expect(remove(client)).rejects.toBe(refusal);
    const sizes = (): readonly number[] =>
      client.calls.splice(0).flatMap((call) => (call.verb === 'delete' ? [call.targets.length] : []));
    expect(sizes()).toEqual([1_000]);
    const meddling = [
      async <T>(proceed: () => Promise<T>): Promise<T> => {
        await other.append(`${DIRECTORY}/0`, '+');
        return proceed();
      },
      loseAnswer,
    ];
    client.intercept((call, proceed) => {
      const meddle = call.verb === 'delete' ? meddling.shift() : undefined;
      return meddle === undefined ? proceed() : meddle(proceed);
    });
    await remove(client);
    expect(sizes()).toEqual([1_000, 1, 1]);
    expect(await other.paths()).toEqual([]);
  });
});

describeOnBothKinds('deleting a directory of a thousand files', (newSite) => {
  it('sends nothing behind the last full batch', async () => {
    const client = await (await newSite()).client();
    for (let i = 0; i < 1_000; i++) await putUnchecked(client, `${DIRECTORY}/${i}`, '');
    client.calls.length = 0;
    await client.remove(DIRECTORY);
    const sizes = client.calls.flatMap((call) => (call.verb === 'delete' ? [call.targets.length] : []));
    expect(sizes).toEqual([1_000]);
  });
});

describeOnBothKinds('deleting a path', (newSite) => {
  it('ends with the caller, but for the look that tells what became of a file', async () => {
    for (const path of ['/memories/d', '/memories/d/a']) {
      const client = await (await newSite()).client();
      await client.create('/memories/d/a', 'a');
      const { signal } = new AbortController();
      const opened = await client.open(signal);
      const noted: NotedOptions[] = [];
      const work = withTenant(opened, { store: noteOptions(opened.tenant.store, noted) });
      client.intercept(atFirst('delete', () => Promise.reject(new MemoryError('access_denied', 'no'))));
      const removing = removePath(work, createRenameRegister(), { path: at(path) });
      await expect(removing).rejects.toMatchObject({ code: 'access_denied' });
      for (const { verb, ...sent } of noted) {
        expect({ verb, isOfCaller: sent.signal === signal }).toEqual({ verb, isOfCaller: verb !== 'head' });
      }
      expect(noted.map(({ verb }) => verb)).toContain('delete');
    }
  });

  it('does not know the outcome of a refused delete when another version is there', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/a', 'a');
    client.intercept(
      atFirst('delete', async () => {
        await other.append('/memories/a', '+');
        throw new MemoryError('access_denied', 'no');
      }),
    );
    await expect(client.remove('/memories/a')).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it.each([
    ['nothing went', ['changed', 'changed'], 'unavailable'],
    ['one of its files went', ['gone', 'changed'], 'outcome_unknown'],
    ['one of its files may have gone', ['changed', 'unknown'], 'outcome_unknown'],
  ])('tells that it cannot look again at what it saved in vain: %s', async (_, answers, code) => {
    const client = await (await newSite()).client();
    for (const name of ['a', 'b']) await client.create(`${DIRECTORY}/${name}`, name);
    const work = await client.open();
    const [listed, noted]: [MemoryPath[], unknown[]] = [[], []];
    const saver: Partial<HistorySaver> = {
      deleteListed: () => undefined,
      saveListed: async (_work, files) =>
        files.map(({ path }) => {
          listed.push(path);
          return [path, NO_ID, 0n];
        }),
      savedInVain: (_work, path) => {
        noted.push(['in vain', path]);
        return Promise.reject(new MemoryError('unavailable', 'down'));
      },
      noteDeleted: async (_work, path, files) => void noted.push([path, ...files.map(([each]) => each)]),
    };
    client.intercept(async <T>(call: StoreCall, proceed: () => Promise<T>) => {
      if (call.verb !== 'delete') return proceed();
      return call.targets.flatMap<DeleteFailure>(({ key }, i) => {
        if (answers[i] === 'gone') return [];
        return answers[i] === 'changed' ? { key, conflict: 'changed' } : { key, error: noAnswer() };
      }) as T;
    });
    const kept = { ...work, saver: saver as HistorySaver };
    const removing = removePath(kept, createRenameRegister(), { path: at(DIRECTORY) });
    await expect(removing).rejects.toMatchObject({ code });
    const [gone, stays] = [
      listed.filter((_path, i) => answers[i] === 'gone'),
      listed.filter((_path, i) => answers[i] !== 'gone'),
    ];
    expect(noted).toEqual([
      ['in vain', stays[0]],
      [DIRECTORY, ...gone],
    ]);
  });

  it('writes down a file that it deleted by its own path', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', 'a');
    const ended: EndedFile = [at('/memories/a'), NO_ID, 0n];
    const noted: unknown[] = [];
    const saver: Partial<HistorySaver> = {
      deleteListed: () => undefined,
      saveListed: async () => [ended],
      noteDeleted: async (_work, path, files) => void noted.push([path, files]),
    };
    const kept = { ...(await client.open()), saver: saver as HistorySaver };
    await removePath(kept, createRenameRegister(), { path: at('/memories/a') });
    expect(noted).toEqual([['/memories/a', [ended]]]);
  });

  it('tells its progress file by file, as the store or the history tells it, and as a batch ends', async () => {
    const client = await (await newSite()).client();
    for (const name of ['a', 'b']) await client.create(`${DIRECTORY}/${name}`, name);
    const opened = await client.open();
    const seen: Progress[] = [];
    const call = { onProgress: (progress: Progress) => void seen.push(progress) };
    const answer = async (onTarget: (() => void) | undefined): Promise<readonly DeleteFailure[]> => {
      onTarget?.();
      onTarget?.();
      return [];
    };
    const saver: Partial<HistorySaver> = {
      deleteListed: (_work, _files, { onTarget }) => answer(onTarget),
      noteDeleted: async () => {},
    };
    const store = {
      ...opened.tenant.store,
      delete: (_: unknown, options?: DeleteOptions) => answer(options?.onTarget),
    };
    const works = [withTenant(opened, { store }), { ...opened, saver: saver as HistorySaver }];
    for (const work of works)
      await removePath({ ...work, call }, createRenameRegister(), { path: at(DIRECTORY) });
    const [one, two] = [1, 2].map((done) => ({ done, total: 2 }));
    expect(seen).toEqual([one, two, two, one, two]);
    for (const work of works) await removePath(work, createRenameRegister(), { path: at(DIRECTORY) });
  });
});
