import { expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { SessionFold } from '../../../src/sessions/fold.ts';
import type { SessionKey } from '../../../src/sessions/session-key.ts';
import { createSessions, type Sessions } from '../../../src/sessions/sessions.ts';
import { createOperator } from '../../stage/key-operator.ts';
import { countCalls, loseAnswer, sendTwice } from '../../stage/store-wrappers.ts';
import {
  type ClientOptions,
  describeOnBothKinds,
  type TestClient,
  type TestSite,
} from '../../stage/test-tree.ts';

const KEY: SessionKey = { projectKey: 'project', sessionId: 'session' };
const SUB: SessionKey = { ...KEY, subpath: 'subagents/agent-1' };
/** A page is full from 64 KiB on. */
const LONG = 'x'.repeat(40_000);

function line(uuid: string | undefined, more: object = {}): string {
  return JSON.stringify({ type: 'user', ...(uuid !== undefined && { uuid }), ...more });
}

function lines(...uuids: readonly string[]): readonly string[] {
  return uuids.map((uuid) => line(uuid));
}

interface Process {
  readonly client: TestClient;
  readonly sessions: Sessions;
}

async function startProcess(site: TestSite, options?: ClientOptions): Promise<Process> {
  const client = await site.client(options);
  const { tenant } = await client.open();
  client.calls.length = 0;
  return { client, sessions: createSessions(tenant) };
}

/** Counts the lines it was given; what it folds it has not seen before. */
const COUNT: SessionFold = {
  by: 'test',
  fold: (previous, _key, texts) => ({
    lines: ((previous as { readonly lines: number } | undefined)?.lines ?? 0) + texts.length,
  }),
};

describeOnBothKinds('an append to a transcript that is known', (newSite) => {
  const BOUND = { uuids: 24, transcripts: 3 };
  const uuidsOf = (session: number, count: number): readonly string[] =>
    Array.from({ length: count }, (_, i) => `${session}-${i}`);
  const keyOf = (session: number): SessionKey => ({ ...KEY, sessionId: `session ${session}` });

  /**
   * Transcripts of so many lines, to which one line each is appended then, in turn; what each of these appends sent.
   */
  const appendInTurn = async (counts: readonly number[]) => {
    const client = await (await newSite()).client();
    const { tenant } = await client.open();
    const sessions = createSessions(tenant, BOUND);
    for (const [i, count] of counts.entries()) await sessions.append(keyOf(i), lines(...uuidsOf(i, count)));
    const sent: unknown[] = [];
    for (let round = 0; round < 3; round++) {
      for (const i of counts.keys()) {
        client.calls.length = 0;
        await sessions.append(keyOf(i), lines(`new ${round}`));
        sent.push(countCalls(client.calls));
      }
    }
    for (const [i, count] of counts.entries()) {
      expect(await sessions.load(keyOf(i))).toEqual(lines(...uuidsOf(i, count), 'new 0', 'new 1', 'new 2'));
    }
    return sent;
  };

  it.each([
    ['one that ends below the bound', [19]],
    ['one that ends exactly at the bound', [20]],
    ['one that ends one above the bound', [21]],
    ['one that is above the bound from the beginning', [24]],
    ['one far above the bound', [200]],
    ['a large one and small ones in turn', [200, 1, 2]],
    ['as many large ones as are in use', [50, 60, 70]],
    ['many small ones', [1, 1, 1, 1]],
  ])('is one PUT: %s', async (_, counts) => {
    expect(await appendInTurn(counts)).toEqual(counts.flatMap(() => [0, 1, 2]).map(() => ({ put: 1 })));
  });

  it('reads what was used longest ago again, of more than the bound', async () => {
    const sent = await appendInTurn([50, 60, 70, 80]);
    expect(sent).toEqual(
      sent.map(() => expect.objectContaining({ list: expect.any(Number), get: 1, put: 1 })),
    );
  });

  it('is one PUT behind a transcript of 200,001 lines, with the bound that a process has', async () => {
    const { client, sessions } = await startProcess(await newSite());
    const many = uuidsOf(0, 200_001);
    await sessions.append(
      KEY,
      many.map((uuid) => line(uuid)),
    );
    client.calls.length = 0;
    await sessions.append(KEY, lines('one'));
    await sessions.append(SUB, lines('one'));
    await sessions.append(KEY, lines('two'));
    const { get = 0, put, list = 0 } = countCalls(client.calls);
    expect({ get, put }).toEqual({ get: 0, put: 3 });
    // The listings read what stood after a full page, and the transcript that is new.
    expect(list).toBeLessThanOrEqual(4);
  });

  it('is one PUT behind one that failed', async () => {
    const { client, sessions } = await startProcess(await newSite());
    await sessions.append(KEY, lines('a', 'b'));
    client.intercept(async () => {
      throw new MemoryError('unavailable', 'the store is gone');
    });
    await expect(sessions.append(KEY, lines('c'))).rejects.toMatchObject({ code: 'unavailable' });
    client.intercept((_, proceed) => proceed());
    client.calls.length = 0;
    await sessions.append(KEY, lines('d'));
    expect(countCalls(client.calls)).toEqual({ put: 1 });
    expect(await sessions.load(KEY)).toEqual(lines('a', 'b', 'd'));
  });
});

describeOnBothKinds('a transcript', (newSite) => {
  it('is absent before it is written, and has its lines in the order of the calls then', async () => {
    const site = await newSite();
    const { sessions } = await startProcess(site);
    expect(await sessions.load(KEY)).toBeUndefined();
    await sessions.append(KEY, lines('b', 'a'));
    const later = ['z', 'm', 'k'].map((uuid) => sessions.append(KEY, lines(uuid)));
    await Promise.all(later);
    const expected = lines('b', 'a', 'z', 'm', 'k');
    expect(await sessions.load(KEY)).toEqual(expected);
    expect(await (await startProcess(site)).sessions.load(KEY)).toEqual(expected);
  });

  it('takes a uuid once, whoever sends it and however often', async () => {
    const site = await newSite();
    const [first, second] = [await startProcess(site), await startProcess(site)];
    await first.sessions.append(KEY, [...lines('a', 'b', 'a'), line(undefined)]);
    await second.sessions.append(KEY, [...lines('b', 'c'), line(undefined)]);
    await first.sessions.append(KEY, lines('a', 'c', 'd'));
    expect(await first.sessions.load(KEY)).toEqual([
      ...lines('a', 'b'),
      line(undefined),
      line('c'),
      line(undefined),
      line('d'),
    ]);
  });

  it('takes a uuid once on each of its many pages', async () => {
    const site = await newSite();
    const [first, second] = [await startProcess(site), await startProcess(site)];
    const uuids = Array.from({ length: 12 }, (_, index) => `u${index}`);
    const long = uuids.map((uuid) => line(uuid, { LONG }));
    for (const each of long) await first.sessions.append(KEY, [each]);
    for (const each of long) await second.sessions.append(KEY, [each]);
    await first.sessions.append(KEY, long);
    expect(await second.sessions.load(KEY)).toEqual(long);
  });

  it('keeps lines to the character', async () => {
    const { sessions } = await startProcess(await newSite());
    const odd = [
      '{ "uuid":"1", "n":12345678901234567890.10 }',
      '{"uuid":"2","half":"\\ud800","__proto__":{"a":1},"text":"a\\u0000\\u2028b"}',
      '{"uuid":"3","text":"\u2028 \u0085 é"}',
    ];
    await sessions.append(KEY, odd);
    expect(await sessions.load(KEY)).toEqual(odd);
  });

  it('holds a batch of many MiB, written part by part', async () => {
    const { client, sessions } = await startProcess(await newSite());
    const many = Array.from({ length: 80 }, (_, index) => line(`u${index}`, { LONG }));
    await sessions.append(KEY, many);
    expect(await sessions.load(KEY)).toEqual(many);
    expect(countCalls(client.calls)['put']).toBe(4);
  });

  it('refuses what is no line and no key, before anything is sent', async () => {
    const { client, sessions } = await startProcess(await newSite());
    for (const text of ['', 'x', '[]', 'null', '"a"', '{"a":\n1}', '{"a":"\ud800"}']) {
      await expect(sessions.append(KEY, [text])).rejects.toMatchObject({ code: 'invalid_command' });
    }
    const tooLong = line('u', { text: 'x'.repeat(15_728_640) });
    await expect(sessions.append(KEY, [tooLong])).rejects.toMatchObject({ code: 'limit_exceeded' });
    for (const key of [
      { ...KEY, sessionId: '' },
      { ...KEY, subpath: '' },
      { ...KEY, projectKey: 'x'.repeat(1_025) },
      { ...KEY, projectKey: '\ud800' },
    ]) {
      await expect(sessions.load(key)).rejects.toMatchObject({ code: 'invalid_command' });
    }
    expect(client.calls).toEqual([]);
  });

  it('is deleted with its subagents, and without the session beside it', async () => {
    const site = await newSite();
    const { sessions } = await startProcess(site);
    const other: SessionKey = { ...KEY, sessionId: 'other' };
    const elsewhere: SessionKey = { ...KEY, projectKey: 'elsewhere' };
    for (const key of [KEY, SUB, { ...KEY, subpath: 'b' }, other, elsewhere]) {
      await sessions.append(key, [line('a', { LONG }), line('b', { LONG })]);
      await sessions.append(key, [line('c')]);
    }
    await sessions.remove({ ...KEY, subpath: 'b' });
    expect(await sessions.subpaths(KEY)).toEqual([SUB.subpath]);
    await sessions.remove(KEY);
    for (const key of [KEY, SUB]) expect(await sessions.load(key)).toBeUndefined();
    expect(await sessions.subpaths(KEY)).toEqual([]);
    expect((await sessions.list('project')).map(({ sessionId }) => sessionId)).toEqual(['other']);
    expect(await sessions.load(elsewhere)).toHaveLength(3);
  });

  it('is deleted from its last page on, so that a delete which is cut off leaves its beginning', async () => {
    const site = await newSite();
    const { client, sessions } = await startProcess(site);
    for (const uuid of ['a', 'b', 'c']) await sessions.append(KEY, [line(uuid, { LONG: LONG + LONG })]);
    const pages: string[] = [];
    client.intercept((call, proceed) => {
      if (call.verb === 'delete') pages.push(...call.targets.map(({ key }) => key));
      return proceed();
    });
    await sessions.remove(KEY);
    expect(pages).toHaveLength(3);
    expect(pages).toEqual(pages.toSorted().toReversed());
  });

  it('begins again after a delete, also for a process that knew what was there', async () => {
    const site = await newSite();
    const [first, second] = [await startProcess(site), await startProcess(site)];
    for (const pages of [1, 3]) {
      for (let page = 0; page < pages; page++) {
        await first.sessions.append(KEY, [line(`a${page}`, { LONG }), line(`b${page}`, { LONG })]);
      }
      await second.sessions.remove(KEY);
      await first.sessions.append(KEY, lines('a0', 'new'), { fold: COUNT });
      expect(await second.sessions.load(KEY)).toEqual(lines('a0', 'new'));
      expect(await second.sessions.list('project', { fold: COUNT })).toMatchObject([
        { summary: { lines: 2 } },
      ]);
      await second.sessions.remove(KEY);
    }
  });

  it('begins again after a delete with lines that a process knew to be there, and none beside them', async () => {
    const site = await newSite();
    const [first, second] = [await startProcess(site), await startProcess(site)];
    await first.sessions.append(KEY, lines('a', 'b'));
    await second.sessions.remove(KEY);
    await first.sessions.append(KEY, lines('b'));
    expect(await second.sessions.load(KEY)).toEqual(lines('b'));
  });

  it('is readable and written on after its keys were rotated, migrated and retired', async () => {
    const site = await newSite();
    const [first, second] = [await startProcess(site), await startProcess(site)];
    await first.sessions.append(KEY, [line('a', { LONG }), line('b', { LONG })], { fold: COUNT });
    await first.sessions.append(KEY, lines('c'), { fold: COUNT });
    await second.sessions.load(KEY);
    const [before] = await first.sessions.list('project');
    const operator = await createOperator(site);
    await operator.rotate();
    await site.time.pause(3_600_000);
    await operator.migrate();
    expect(await operator.versions()).toEqual([2]);
    expect(await first.sessions.list('project', { fold: COUNT })).toEqual([
      { ...before, summary: { lines: 3 } },
    ]);
    await first.sessions.append(KEY, lines('a', 'd'), { fold: COUNT });
    await second.sessions.append(KEY, lines('d', 'e'), { fold: COUNT });
    const ids = (await first.sessions.load(KEY))?.map((text) => (JSON.parse(text) as { uuid: string }).uuid);
    expect(ids).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});

describeOnBothKinds('eight workers at once', (newSite) => {
  it('lose and double nothing, and each keeps its own order', async () => {
    const site = await newSite();
    const workers = await Promise.all(Array.from({ length: 8 }, () => startProcess(site, { delayMs: 40 })));
    const uuids = Array.from({ length: 8 }, (_, worker) =>
      Array.from({ length: 6 }, (_, index) => `${worker}-${index}`),
    );
    await Promise.all(
      workers.map(async ({ sessions }, worker) => {
        for (const uuid of uuids[worker] ?? []) {
          await sessions.append(KEY, [line(uuid, { LONG }), line('shared')], { fold: COUNT });
        }
      }),
    );
    const { sessions } = await startProcess(site);
    const loaded =
      (await sessions.load(KEY))?.map((text) => (JSON.parse(text) as { uuid: string }).uuid) ?? [];
    expect(loaded.toSorted()).toEqual(['shared', ...uuids.flat()].toSorted());
    for (const own of uuids) expect(loaded.filter((uuid) => own.includes(uuid))).toEqual(own);
    expect(await sessions.list('project', { fold: COUNT })).toMatchObject([{ summary: { lines: 49 } }]);
  });
});

describeOnBothKinds('an append', (newSite) => {
  it.each([
    ['lost', loseAnswer],
    ['sent twice', sendTwice],
  ] as const)('whose answer is %s is there once, with what others wrote meanwhile', async (_, meet) => {
    const site = await newSite();
    const [first, second] = [await startProcess(site), await startProcess(site)];
    await first.sessions.append(KEY, lines('a'));
    let met = false;
    first.client.intercept(async (call, proceed) => {
      if (met || call.verb !== 'put') return proceed();
      met = true;
      return meet(async () => {
        const answer = await proceed();
        await second.sessions.append(KEY, lines('other'));
        return answer;
      });
    });
    await first.sessions.append(KEY, [...lines('b'), line(undefined)]);
    expect(await first.sessions.load(KEY)).toEqual([...lines('a', 'b'), line(undefined), line('other')]);
  });

  it('of lines without a uuid says so where nothing tells whether they were written', async () => {
    const site = await newSite();
    const [first, second] = [await startProcess(site), await startProcess(site)];
    await first.sessions.append(KEY, lines('a'));
    first.client.intercept(async (call, proceed) => {
      if (call.verb !== 'put') return proceed();
      return loseAnswer(async () => {
        const answer = await proceed();
        await second.sessions.append(KEY, lines('other'));
        return answer;
      });
    });
    await expect(first.sessions.append(KEY, [line(undefined)])).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
  });
});

describeOnBothKinds('what sessions cost:', (newSite) => {
  const bill = ({ client }: Process): Readonly<Record<string, number>> => {
    const counted = countCalls(client.calls);
    client.calls.length = 0;
    return counted;
  };

  it('an append is one PUT, the first one a LIST more, and the first one behind a full page too', async () => {
    const site = await newSite();
    const process = await startProcess(site);
    await process.sessions.append(KEY, lines('a'));
    expect(bill(process)).toEqual({ list: 1, put: 1 });
    for (const uuid of ['b', 'c', 'd']) await process.sessions.append(KEY, lines(uuid));
    expect(bill(process)).toEqual({ put: 3 });
    await process.sessions.append(KEY, [line('e', { LONG: LONG + LONG })]);
    expect(bill(process)).toEqual({ put: 1 });
    await process.sessions.append(KEY, lines('f'));
    expect(bill(process)).toEqual({ list: 1, put: 1 });
    await process.sessions.append(KEY, lines('g'));
    expect(bill(process)).toEqual({ put: 1 });
  });

  it('a load is a LIST and a GET for each page, and an append behind it one PUT and no read', async () => {
    const site = await newSite();
    await (await startProcess(site)).sessions.append(KEY, [line('a', { LONG }), line('b', { LONG })]);
    await (await startProcess(site)).sessions.append(KEY, lines('c'));
    const process = await startProcess(site);
    await process.sessions.load(KEY);
    expect(bill(process)).toEqual({ list: 1, get: 2 });
    await process.sessions.append(KEY, lines('d'));
    expect(bill(process)).toEqual({ put: 1 });
  });

  it('a list of sessions with their summaries is a LIST and a GET for each session', async () => {
    const site = await newSite();
    const writer = await startProcess(site);
    for (const sessionId of ['a', 'b', 'c']) {
      await writer.sessions.append({ ...KEY, sessionId }, [line('a', { LONG }), line('b', { LONG })], {
        fold: COUNT,
      });
      await writer.sessions.append({ ...KEY, sessionId }, lines('c'), { fold: COUNT });
      await writer.sessions.append({ ...KEY, sessionId, subpath: 's' }, lines('c'), { fold: COUNT });
    }
    const process = await startProcess(site);
    const listed = await process.sessions.list('project', { fold: COUNT });
    expect(listed.map(({ summary }) => summary)).toEqual([{ lines: 3 }, { lines: 3 }, { lines: 3 }]);
    expect(bill(process)).toEqual({ list: 1, get: 3 });
  });
});
