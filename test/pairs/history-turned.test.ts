import { describe, expect, it } from 'vitest';
import { writeCheckpoint } from '../../src/admin/checkpoints/checkpoint.ts';
import { turnTenantHistory } from '../../src/admin/keys/turn-history.ts';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { dieAt, someDeaths } from '../kills/killed-run.ts';
import { historyOf, textsOf } from '../stage/history-site.ts';
import { createOperator } from '../stage/key-operator.ts';
import {
  at,
  bytes,
  inTime,
  openSite,
  STORE_KINDS,
  type TestClient,
  type TestSite,
} from '../stage/test-tree.ts';

const HOUR = 3_600_000;
const [A, B, C, X] = ['/memories/a', '/memories/b', '/memories/c', '/memories/d/x'];

/** A process of a tenant that keeps history; each of its requests takes time, and it holds no keyring. */
async function newProcess(site: TestSite): Promise<TestClient> {
  const clock = (): number => Math.floor(site.time.clock());
  const client = await site.client({ keepsHistory: true, ttlMs: 0, clock });
  client.intercept(async (_, proceed) => {
    await site.time.pause(2);
    return proceed();
  });
  return client;
}

async function turn(site: TestSite, to: 'on' | 'off'): Promise<void> {
  const { editor } = await createOperator(site);
  await turnTenantHistory({ editor, stamps: inTime(site.time.clock) }, to);
}

/** Every text that is to be had, sorted. */
async function textsKept(client: TestClient): Promise<readonly string[]> {
  const history = historyOf(client);
  const written = (await history.list()).filter(({ kind }) => kind === 'written');
  const texts = await Promise.all(written.map(async (entry) => (await history.read(entry)).text()));
  return texts.sort();
}

describe.each(STORE_KINDS)('where history is turned off at any request, on a %s store', (kind) => {
  /** `bad` changes, renames, creates and deletes files of `ann`; the moment lies before that. */
  async function spoil() {
    const site = await openSite(kind);
    const client = await newProcess(site);
    const ann = { actor: 'ann' };
    for (const path of [A, B, X]) await client.tree.create(at(path), bytes(`${path} of ann`), ann);
    await site.time.pause(1_000);
    const moment = new Date(client.tenant.clock());
    await site.time.pause(1_000);
    const bad = { actor: 'bad' };
    await client.tree.rename({ from: at(A), to: at(C) }, bad);
    await client.tree.overwrite(at(B), bytes('bad b'), bad);
    await client.tree.create(at(A), bytes('bad a'), bad);
    await client.tree.remove(at(X), bad);
    return { site, client: await newProcess(site), moment };
  }

  const DEEDS = {
    undo: (client: TestClient) => historyOf(client).undo({ writer: 'bad', actor: 'cyd' }),
    restoreAt: (client: TestClient, moment: Date) => historyOf(client).restoreAt(moment, { actor: 'cyd' }),
  };

  it.each(['undo', 'restoreAt'] as const)(
    '%s loses no text, and ends as if it had not been once it is on again',
    async (deed) => {
      const whole = await spoil();
      const before = await textsKept(whole.client);
      whole.client.calls.length = 0;
      await DEEDS[deed](whole.client, whole.moment);
      const restored = { [A]: `${A} of ann`, [B]: `${B} of ann`, [X]: `${X} of ann` };
      // A process sees that the history was turned on or off when it reads the keyring.
      const { layout } = whole.client;
      const calls = [...whole.client.calls];
      expect(await textsOf(whole.client)).toEqual(restored);
      const looks = calls.flatMap((call, index) =>
        'key' in call && call.key === layout.keyring ? [index] : [],
      );
      expect(looks.length).toBeGreaterThan(3);
      for (const turned of looks) {
        const { site, client, moment } = await spoil();
        let sent = 0;
        client.intercept(async (_, proceed) => {
          if (sent++ === turned) await turn(site, 'off');
          await site.time.pause(2);
          return proceed();
        });
        await DEEDS[deed](client, moment).catch((error: unknown) => {
          expect(error, `before request ${turned}`).toMatchObject({ code: 'misconfigured' });
        });
        expect(await textsKept(client), `before request ${turned}`).toEqual(
          expect.arrayContaining([...before]),
        );
        await turn(site, 'on');
        const next = await newProcess(site);
        await DEEDS[deed](next, moment);
        expect(await textsOf(next), `before request ${turned}`).toEqual(restored);
        expect((await verifyTree(next.tenant)).findings).toEqual([]);
      }
    },
  );
});

/** Neither verification finds anything, in a process that has seen nothing. */
async function expectWhole(site: TestSite, since: string, when: unknown): Promise<void> {
  const { tenant } = await newProcess(site);
  expect((await verifyTree(tenant)).findings, JSON.stringify(when)).toEqual([]);
  expect((await verifyTree(tenant, { since })).findings, JSON.stringify(when)).toEqual([]);
}

describe.each(STORE_KINDS)(
  'where history is turned beside the rename of a directory, on a %s store',
  (kind) => {
    it.each([
      ['off', 'on'],
      ['on', 'off'],
    ] as const)('%s, by the process that finishes what a dead one began', async (to, back) => {
      const begin = async () => {
        const site = await openSite(kind);
        const first = await newProcess(site);
        if (to === 'on') await turn(site, 'off');
        for (const [path, text] of [
          [A, 'a'],
          [B, 'b'],
        ] as const) {
          await first.tree.create(at(path), bytes(text), { actor: 'ann' });
          await first.tree.overwrite(at(path), bytes(`${text} and more`), { actor: 'ann' });
        }
        await first.tree.rename({ from: at(A), to: at(X) });
        await site.time.pause(2 * HOUR);
        const { line } = await writeCheckpoint(first.tenant);
        const client = await newProcess(site);
        await client.text(B);
        return { site, client, line };
      };
      const deed = (client: TestClient) =>
        client.tree.rename({ from: at('/memories/d'), to: at('/memories/e') }, { actor: 'bob' });
      const whole = await begin();
      whole.client.calls.length = 0;
      await deed(whole.client);
      for (const death of someDeaths(whole.client.calls.length)) {
        const { site, client, line } = await begin();
        const kept = await textsKept(client);
        client.intercept(dieAt(death));
        await deed(client).catch(() => {});
        await turn(site, to);
        await site.time.pause(61_000);
        const next = await newProcess(site);
        const texts = await textsOf(next);
        expect(Object.values(texts).sort()).toEqual(['a and more', 'b and more']);
        expect(await textsKept(next)).toEqual(kept);
        await expectWhole(site, line, death);
        await turn(site, back);
        await site.time.pause(2 * HOUR);
        await expectWhole(site, line, death);
      }
    });
  },
);

it.each(STORE_KINDS)(
  'what is done while history is off is a gap that is told, and no alarm, on a %s store',
  async (kind) => {
    const site = await openSite(kind);
    const client = await newProcess(site);
    const write = (path: string, text: string, actor: string): Promise<unknown> =>
      client.tree.overwrite(at(path), bytes(text), { actor });
    for (const text of ['one', 'two']) await write(A, text, 'ann');
    for (const path of [B, X]) await write(path, path, 'ann');
    await site.time.pause(2 * HOUR);
    const { line } = await writeCheckpoint(client.tenant);
    await site.time.pause(HOUR);
    await turn(site, 'off');
    for (const text of ['three', 'four']) await write(A, text, 'bad');
    await client.remove(B);
    await client.rename('/memories/d', '/memories/e');
    await site.time.pause(HOUR);
    await turn(site, 'on');
    await write(A, 'five', 'cyd');
    await site.time.pause(2 * HOUR);

    const history = historyOf(client);
    const told = (await history.list()).map((entry) =>
      'end' in entry ? [entry.path, entry.end, entry.writer] : [entry.path, entry.kind, entry.to],
    );
    expect(told).toEqual([
      [A, 'current', 'cyd'],
      [A, 'replaced', undefined],
      ['/memories/e/x', 'current', 'ann'],
      // The text that came after it is not known, nor what replaced that text.
      [A, 'unrecorded', 'ann'],
    ]);
    const { findings } = await verifyTree(client.tenant, { since: line });
    expect(findings).toMatchObject(
      [A, B].map((path) => ({ kind: 'since', state: 'untold', why: 'history_off', path })),
    );
    expect(findings).toHaveLength(2);
    expect((await verifyTree(client.tenant)).findings).toEqual([]);
    expect(await history.undo({ writer: 'bad' })).toMatchObject({ changes: [], left: [] });
  },
);
