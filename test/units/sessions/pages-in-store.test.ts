import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { classKey } from '../../../src/format/object-keys.ts';
import type { SessionFold } from '../../../src/sessions/fold.ts';
import type { TranscriptPage } from '../../../src/sessions/page.ts';
import { pageId, type SessionKey, sessionPart, transcriptId } from '../../../src/sessions/session-key.ts';
import { createSessions, type Sessions } from '../../../src/sessions/sessions.ts';
import { listPages, newLines, readPage } from '../../../src/sessions/transcript.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { countCalls } from '../../stage/store-wrappers.ts';
import { openSite, type TestClient, type TestSite } from '../../stage/test-tree.ts';

const KEY: SessionKey = { projectKey: 'project', sessionId: 'session' };
/** A page is full from 64 KiB on. */
const FULL = 'x'.repeat(70_000);

const line = (uuid: string, more: object = {}): string => JSON.stringify({ uuid, ...more });
const countBy = (by: string): SessionFold => ({
  by,
  fold: (previous, _key, texts) => Number(previous ?? 0) + texts.length,
});

interface Stage {
  readonly site: TestSite;
  readonly client: TestClient;
  readonly work: Work;
  readonly sessions: Sessions;
  /** The stored pages of a transcript, in order. */
  pages(key?: SessionKey): Promise<readonly TranscriptPage[]>;
  /** Deletes a page behind the back of the process. */
  drop(number: number): Promise<void>;
}

async function start(): Promise<Stage> {
  const site = await openSite();
  const client = await site.client();
  const work = await client.open();
  return {
    site,
    client,
    work,
    sessions: createSessions(work.tenant),
    async pages(key = KEY) {
      const reader = await (await site.client()).open();
      const listed = await listPages(reader, transcriptId(reader.keyring.names, key));
      const read = await Promise.all(listed.map((page) => readPage(reader, page)));
      return read.flatMap((found) => (found === undefined ? [] : [found.page]));
    },
    async drop(number) {
      const id = pageId(transcriptId(work.keyring.names, KEY), number);
      await site.base.delete([{ key: classKey(work.tenant.layout, 'sessions', id) }]);
    },
  };
}

describe('the summary in a page', () => {
  it('covers all lines up to the end of the page, also behind a full one', async () => {
    const { sessions, pages } = await start();
    const fold = countBy('test');
    await sessions.append(KEY, [line('a'), line('b')], { fold });
    expect((await pages()).map(({ summary }) => summary)).toEqual([{ by: 'test', data: 2 }]);
    await sessions.append(KEY, [line('c', { FULL })], { fold });
    await sessions.append(KEY, [line('d')], { fold });
    const found = await pages();
    expect(found.map(({ summary }) => summary?.data)).toEqual([3, 4]);
    expect(found.map(({ first }) => first)).toEqual([0, 0]);
    expect(found.map(({ key }) => key)).toEqual([KEY, KEY]);
    expect(found.map(({ lines }) => lines.map(({ uuid }) => uuid))).toEqual([['a', 'b', 'c'], ['d']]);
  });

  it.each([
    ['where one append had no fold', undefined],
    ['where one append had a fold of another name', countBy('other')],
  ])('is absent from then on, %s', async (_, second) => {
    const { sessions, pages } = await start();
    const fold = countBy('test');
    await sessions.append(KEY, [line('a')], { fold });
    await sessions.append(KEY, [line('b')], { fold: second });
    expect((await pages()).map(({ summary }) => summary)).toEqual([undefined]);
    await sessions.append(KEY, [line('c')], { fold });
    expect((await pages()).map(({ summary }) => summary)).toEqual([undefined]);
    expect(await sessions.list('project', { fold })).toMatchObject([{ sessionId: 'session', summary: 3 }]);
  });

  it('is never made for a subagent', async () => {
    const { sessions, pages } = await start();
    const sub = { ...KEY, subpath: 'a' };
    await sessions.append(sub, [line('a')], { fold: countBy('test') });
    expect((await pages(sub)).map(({ summary }) => summary)).toEqual([undefined]);
  });

  it('is absent, and made anew by a list, where pages that it covers were deleted', async () => {
    const { sessions, pages, drop } = await start();
    const fold = countBy('test');
    for (const uuid of ['a', 'b']) await sessions.append(KEY, [line(uuid, { FULL })], { fold });
    await sessions.append(KEY, [line('c')], { fold });
    expect(await sessions.list('project', { fold })).toMatchObject([{ summary: 3 }]);
    await drop(0);
    expect(await sessions.list('project', { fold })).toMatchObject([{ summary: 2 }]);
    expect((await sessions.load(KEY))?.length).toBe(2);
    await sessions.append(KEY, [line('d')], { fold });
    const found = await pages();
    expect(found.map(({ first }) => first)).toEqual([0, 1]);
    expect(found.at(-1)?.summary).toBeUndefined();
    expect(await sessions.list('project', { fold })).toMatchObject([{ summary: 3 }]);
  });

  it('is not told by a list without a fold, and made anew by one with a fold of another name', async () => {
    const { client, sessions } = await start();
    await sessions.append(KEY, [line('a')], { fold: countBy('test') });
    const [alone] = await sessions.list('project');
    expect(alone).toStrictEqual({ sessionId: 'session', modified: expect.any(Number), summary: undefined });
    client.calls.length = 0;
    expect(await sessions.list('project', { fold: countBy('other') })).toMatchObject([{ summary: 1 }]);
    expect(countCalls(client.calls)).toEqual({ list: 2, get: 2 });
  });
});

describe('a transcript whose pages go while it is read', () => {
  it('is looked at once more, and is absent then', async () => {
    const { client, sessions, drop } = await start();
    await sessions.append(KEY, [line('a')]);
    client.calls.length = 0;
    let dropped = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'get' && !dropped) {
        dropped = true;
        await drop(0);
      }
      return proceed();
    });
    expect(await sessions.load(KEY)).toBeUndefined();
    expect(countCalls(client.calls)).toEqual({ list: 2, get: 1 });
  });

  it('is left out of a list', async () => {
    const { client, sessions, drop } = await start();
    await sessions.append(KEY, [line('a')]);
    client.intercept(async (call, proceed) => {
      if (call.verb === 'get') await drop(0);
      return proceed();
    });
    expect(await sessions.list('project')).toEqual([]);
    expect(client.logged).toEqual([]);
  });
});

describe('sessions', () => {
  it('send nothing for no lines, and refuse a malformed key nevertheless', async () => {
    const { client, sessions } = await start();
    client.calls.length = 0;
    await sessions.append(KEY, []);
    expect(client.calls).toEqual([]);
    await expect(sessions.append({ ...KEY, sessionId: '' }, [])).rejects.toMatchObject({
      code: 'invalid_command',
    });
    await expect(sessions.list('')).rejects.toMatchObject({ code: 'invalid_command' });
  });

  it('append the lines and the key as they were at the call', async () => {
    const { sessions } = await start();
    const [texts, key] = [[line('a')], { ...KEY }];
    const appended = sessions.append(key, texts);
    texts.push(line('b'));
    key.sessionId = 'other';
    await appended;
    expect(await sessions.load(KEY)).toEqual([line('a')]);
  });

  it('of a tenant without a keyring are none, and reading them makes none', async () => {
    const site = await openSite();
    const client = await site.client();
    const sessions = createSessions(client.tenant);
    expect(await sessions.load(KEY)).toBeUndefined();
    expect(await sessions.list('project')).toEqual([]);
    expect(await sessions.subpaths(KEY)).toEqual([]);
    await sessions.remove(KEY);
    expect(client.calls.filter(({ verb }) => verb === 'put' || verb === 'delete')).toEqual([]);
  });

  it('end with the signal of the call', async () => {
    const { client, sessions } = await start();
    await sessions.append({ ...KEY, subpath: 'a' }, [line('a')]);
    client.calls.length = 0;
    const signal = AbortSignal.abort();
    for (const call of [
      sessions.append(KEY, [line('a')], { signal }),
      sessions.load(KEY, { signal }),
      sessions.list('project', { signal }),
      sessions.subpaths(KEY, { signal }),
      sessions.remove(KEY, { signal }),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'aborted' });
    }
    expect(client.calls.filter(({ verb }) => verb !== 'list')).toEqual([]);
  });

  it('tell the code, and nothing else, of one that cannot be read', async () => {
    const { client, site, sessions, work } = await start();
    for (const subpath of ['a', 'b']) await sessions.append({ ...KEY, subpath }, [line('x')]);
    const id = pageId(transcriptId(work.keyring.names, { ...KEY, subpath: 'a' }), 0);
    const key = classKey(work.tenant.layout, 'sessions', id);
    await site.base.put(key, new Uint8Array(300), { mode: 'overwrite' });
    expect(await sessions.subpaths(KEY)).toEqual(['b']);
    expect(client.logged).toEqual([
      { message: 'a session could not be read', fields: { code: 'integrity' } },
    ]);
  });

  it('fail to be deleted as the store fails, and are there then', async () => {
    const { client, sessions } = await start();
    await sessions.append(KEY, [line('a')]);
    client.intercept((call, proceed) => {
      if (call.verb === 'delete') throw new MemoryError('access_denied', 'no');
      return proceed();
    });
    await expect(sessions.remove(KEY)).rejects.toMatchObject({ code: 'access_denied' });
    client.intercept((_, proceed) => proceed());
    expect(await sessions.load(KEY)).toEqual([line('a')]);
  });

  it('are deleted in the order of subagents, then the session from its last page on', async () => {
    const { client, sessions, work } = await start();
    const sub = { ...KEY, subpath: 'a' };
    for (const uuid of ['a', 'b']) await sessions.append(KEY, [line(uuid, { FULL })]);
    await sessions.append(sub, [line('c')]);
    const { names } = work.keyring;
    const idOf = (key: SessionKey, number: number): string =>
      classKey(work.tenant.layout, 'sessions', pageId(transcriptId(names, key), number));
    client.calls.length = 0;
    await sessions.remove(KEY);
    const deleted = client.calls.flatMap((call) => (call.verb === 'delete' ? [call.targets] : []));
    expect(deleted.map((targets) => targets.map(({ key }) => key))).toEqual([
      [idOf(sub, 0)],
      [idOf(KEY, 1), idOf(KEY, 0)],
    ]);
    expect(deleted.flat().every(({ ifMatch }) => ifMatch !== undefined)).toBe(true);
    expect(await listPages(work, sessionPart(names, KEY))).toEqual([]);
  });
});

it('newLines keeps the first line of each uuid, and every line without one', () => {
  const of = (uuid: string | undefined, bytes: number) => ({ text: '', uuid, bytes });
  const lines = [of('a', 1), of(undefined, 2), of('b', 3), of('a', 4), of(undefined, 5)];
  expect(newLines(lines).map(({ bytes }) => bytes)).toEqual([1, 2, 3, 5]);
});
