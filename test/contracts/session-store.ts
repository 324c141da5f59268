import { randomUUID } from 'node:crypto';
import {
  foldSessionSummary,
  type SessionKey,
  type SessionStore,
  type SessionStoreEntry,
} from '@anthropic-ai/claude-agent-sdk';
import { describe, expect, it } from 'vitest';

/** Opens one more worker's store over what a tenant holds; closed by the suite that gives it. */
export type OpenStore = (tenant: string) => Promise<Required<SessionStore>>;

const MAIN: SessionKey = { projectKey: 'proj', sessionId: 'sess' };
const FIRST: SessionKey = { ...MAIN, subpath: 'subagents/agent-1' };
const SECOND: SessionKey = { ...MAIN, subpath: 'subagents/agent-2' };

function entry(fields: Readonly<Record<string, unknown>> = {}): SessionStoreEntry {
  return { type: 'x', ...fields };
}

function entries(...uuids: readonly string[]): SessionStoreEntry[] {
  return uuids.map((uuid) => entry({ uuid }));
}

/** Describes what the SDK demands of a store of sessions, and what several workers do at once. */
export function describeSessionStore(title: string, open: OpenStore): void {
  describe(`${title}, as the SDK demands it,`, () => {
    const fresh = (): Promise<Required<SessionStore>> => open(`t${randomUUID().slice(0, 8)}`);

    it('gives back what was appended, entry by entry, in the order that it came', async () => {
      const store = await fresh();
      const odd = entry({
        uuid: 'b',
        n: 1.5,
        deep: { a: [null, true, { '': 'é\u2028\ud800' }] },
        __proto: 0,
      });
      await store.append(MAIN, [odd, entry({ uuid: 'a' })]);
      expect(await store.load(MAIN)).toEqual([odd, entry({ uuid: 'a' })]);
    });

    it('has null for a session, and for a subagent, that never wrote', async () => {
      const store = await fresh();
      expect(await store.load({ ...MAIN, sessionId: 'nope' })).toBeNull();
      await store.append(MAIN, entries('x'));
      expect(await store.load({ ...MAIN, subpath: 'nope' })).toBeNull();
    });

    it('keeps the order of calls, whatever the uuids', async () => {
      const store = await fresh();
      await store.append(MAIN, entries('z'));
      await store.append(MAIN, entries('a', 'm'));
      await store.append(MAIN, entries('b'));
      expect(await store.load(MAIN)).toEqual(entries('z', 'a', 'm', 'b'));
    });

    it('takes no entries for nothing', async () => {
      const store = await fresh();
      await store.append(MAIN, []);
      expect(await store.load(MAIN)).toBeNull();
      await store.append(MAIN, entries('a'));
      await store.append(MAIN, []);
      expect(await store.load(MAIN)).toEqual(entries('a'));
    });

    it('keeps subagents apart from the session, and projects from one another', async () => {
      const store = await fresh();
      const keys = [MAIN, FIRST, { ...MAIN, projectKey: 'B' }];
      for (const [index, key] of keys.entries()) await store.append(key, [entry({ index })]);
      for (const [index, key] of keys.entries()) expect(await store.load(key)).toEqual([entry({ index })]);
      expect(await store.listSessions('B')).toHaveLength(1);
    });

    it('lists the sessions of a project, not those of another one and no subagents', async () => {
      const store = await fresh();
      const before = Date.now();
      for (const sessionId of ['a', 'b']) await store.append({ ...MAIN, sessionId }, [entry()]);
      await store.append({ projectKey: 'other', sessionId: 'c' }, [entry()]);
      await store.append({ ...FIRST, sessionId: 'b' }, [entry()]);
      const listed = await store.listSessions('proj');
      expect(listed.map(({ sessionId }) => sessionId).sort()).toEqual(['a', 'b']);
      for (const { mtime } of listed) expect(Number.isSafeInteger(mtime) && mtime >= before).toBe(true);
      expect(await store.listSessions('never')).toEqual([]);
    });

    it('has a summary of each session, on which the SDK can build', async () => {
      const store = await fresh();
      const batches = [
        [entry({ timestamp: '2024-01-01T00:00:00.000Z', customTitle: 'first' }), entry()],
        [entry({ timestamp: '2024-01-01T00:00:02.000Z', customTitle: 'second' })],
      ];
      for (const batch of batches) await store.append(MAIN, batch);
      await store.append({ projectKey: 'other', sessionId: 'elsewhere' }, [entry()]);
      const [listed] = await store.listSessions('proj');
      const summaries = await store.listSessionSummaries('proj');
      const { data } = foldSessionSummary(undefined, MAIN, batches.flat());
      expect(summaries).toEqual([{ sessionId: 'sess', mtime: listed?.mtime, data }]);
      expect(JSON.stringify(data)).toContain('second');
      await store.append(FIRST, [entry({ customTitle: 'subagent' })]);
      expect(await store.listSessionSummaries('proj')).toEqual(summaries);
      expect(await store.listSessionSummaries('never')).toEqual([]);
      await store.delete(MAIN);
      expect(await store.listSessionSummaries('proj')).toEqual([]);
    });

    it('deletes a session with its subagents, and one that was never there', async () => {
      const store = await fresh();
      await store.delete({ ...MAIN, sessionId: 'never' });
      const others = [
        { ...MAIN, sessionId: 'sess2' },
        { ...MAIN, projectKey: 'other' },
      ];
      for (const key of [MAIN, FIRST, SECOND, ...others]) await store.append(key, [entry()]);
      await store.delete(MAIN);
      for (const key of [MAIN, FIRST, SECOND]) expect(await store.load(key)).toBeNull();
      for (const key of others) expect(await store.load(key)).toHaveLength(1);
      expect(await store.listSubkeys(MAIN)).toEqual([]);
      expect((await store.listSessions('proj')).map(({ sessionId }) => sessionId)).toEqual(['sess2']);
    });

    it('deletes a subagent alone, and lists the others of that session', async () => {
      const store = await fresh();
      expect(await store.listSubkeys(MAIN)).toEqual([]);
      for (const key of [MAIN, FIRST, SECOND]) await store.append(key, [entry()]);
      await store.append({ ...FIRST, sessionId: 'other' }, [entry()]);
      expect((await store.listSubkeys(MAIN)).sort()).toEqual([FIRST.subpath, SECOND.subpath]);
      await store.delete(FIRST);
      expect(await store.load(FIRST)).toBeNull();
      for (const key of [MAIN, SECOND]) expect(await store.load(key)).toHaveLength(1);
      expect(await store.listSubkeys(MAIN)).toEqual([SECOND.subpath]);
    });
  });

  describe(`${title}, for eight workers at once,`, () => {
    it('loses and doubles nothing, though all send what they share, and each sends all again', {
      timeout: 120_000,
    }, async () => {
      const tenant = `w${randomUUID().slice(0, 8)}`;
      const workers = await Promise.all(Array.from({ length: 8 }, () => open(tenant)));
      const text = 'x'.repeat(9_000);
      const own = workers.map((_, worker) => ['0', '1', '2'].map((each) => `${worker}-${each}`));
      const work = workers.map(async (store, worker) => {
        for (const uuid of own[worker] ?? []) {
          const batch = [entry({ uuid, text }), ...entries('shared')];
          await store.append(MAIN, batch);
          await store.append(MAIN, batch);
        }
      });
      await Promise.all(work);
      const reader = await open(tenant);
      const loaded = ((await reader.load(MAIN)) ?? []).map(({ uuid }) => uuid ?? '');
      expect(loaded.toSorted()).toEqual([...own.flat(), 'shared']);
      for (const each of own) expect(loaded.filter((uuid) => each.includes(uuid))).toEqual(each);
      const whole = (await reader.load(MAIN)) ?? [];
      const { data } = foldSessionSummary(undefined, MAIN, whole);
      expect(await reader.listSessionSummaries('proj')).toMatchObject([{ sessionId: 'sess', data }]);
    });
  });
}
