import { describe, expect, it } from 'vitest';
import { writeCheckpoint } from '../../src/admin/checkpoints/checkpoint.ts';
import { expireTree } from '../../src/admin/expiry/expire.ts';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { MemoryError } from '../../src/errors.ts';
import { historyOf, keepingClient, textsOf } from '../stage/history-site.ts';
import { at, bytes, openSite, STORE_KINDS, type TestClient, type TestSite } from '../stage/test-tree.ts';

const DAY = 86_400_000;
const [A, B, C] = ['/memories/a', '/memories/b', '/memories/c'];

const write = (client: TestClient, path: string, text: string, actor: string): Promise<unknown> =>
  client.tree.overwrite(at(path), bytes(text), { actor });

async function textsKept(client: TestClient, path: string): Promise<readonly string[]> {
  const history = historyOf(client);
  const written = (await history.list(path)).filter(({ kind }) => kind === 'written');
  return Promise.all(written.map(async (entry) => (await history.read(entry)).text()));
}

const expire = ({ tenant }: TestClient): Promise<unknown> => expireTree(tenant, { historyDays: 30 });

describe.each(STORE_KINDS)('the expiry of history, on a %s store', (kind) => {
  // The third request finds the old record gone, or renews it.
  it.each([1, 2, 3, 4])(
    'takes no version that a slow writer saves once more, before its request %i for the record',
    async (nth) => {
      const site = await openSite(kind);
      const first = await keepingClient(site);
      await write(first, A, 'one', 'ann');
      // The version is saved for an edit that comes to nothing, so long ago that the record expires.
      first.intercept(async (call, proceed) => {
        if (call.verb === 'put' && call.key.includes('/data/')) throw new MemoryError('aborted', 'dead');
        return proceed();
      });
      await expect(write(first, A, 'never', 'ann')).rejects.toThrow('dead');
      await site.time.pause(31 * DAY);
      const [writer, operator] = [await keepingClient(site), await keepingClient(site)];
      let requests = 0;
      writer.intercept(async (call, proceed) => {
        if ('key' in call && call.key.includes('/history/') && ++requests === nth) await expire(operator);
        return proceed();
      });
      await write(writer, A, 'two', 'bob');
      const reader = await keepingClient(site);
      expect(await textsKept(reader, A)).toEqual(['two', 'one']);
      expect((await verifyTree(reader.tenant)).findings).toEqual([]);
    },
  );

  /** `bad` builds on a text of `ann`, which is about to expire, and creates a file. */
  async function spoil(): Promise<{ readonly site: TestSite; readonly client: TestClient }> {
    const site = await openSite(kind);
    const client = await keepingClient(site);
    await write(client, C, 'old', 'ann');
    await write(client, A, 'good', 'ann');
    await write(client, A, 'bad', 'bad');
    await site.time.pause(31 * DAY);
    await write(client, B, 'new', 'bad');
    return { site, client };
  }

  it('lets an undo leave what has expired since its preview, and take back the rest', async () => {
    const { client } = await spoil();
    const history = historyOf(client);
    const { changes } = await history.undo({ writer: 'bad', dryRun: true });
    expect(changes.map(({ what, path }) => [what, path])).toEqual([
      ['replace', A],
      ['delete', B],
    ]);
    await expire(client);
    const done = await history.undo({ writer: 'bad' });
    expect(done).toMatchObject({
      outcome: 'written',
      changes: [{ what: 'delete', path: B }],
      left: [{ path: A, reason: 'expired' }],
    });
    expect(await textsOf(client)).toEqual({ [A]: 'bad', [C]: 'old' });
    expect(await history.undo({ writer: 'bad' })).toMatchObject({ changes: [], left: done.left });
  });

  it('lets an undo plan once more what expires between its plan and its writes', async () => {
    const { site } = await spoil();
    const [client, operator] = [await keepingClient(site), await keepingClient(site)];
    let [isPlanned, isBegun] = [false, false];
    client.intercept(async (call, proceed) => {
      // The first look at a file behind those at the records.
      const read = call.verb === 'get' ? call.key : '';
      isPlanned ||= read.includes('/history/');
      if (isPlanned && read.includes('/data/') && !isBegun) {
        isBegun = true;
        await expire(operator);
      }
      return proceed();
    });
    expect(await historyOf(client).undo({ writer: 'bad' })).toMatchObject({
      outcome: 'written',
      left: [{ path: A, reason: 'expired' }],
    });
    expect(isBegun).toBe(true);
    expect(await textsOf(client)).toEqual({ [A]: 'bad', [C]: 'old' });
    expect((await verifyTree(operator.tenant)).findings).toEqual([]);
  });

  it('lets restoreAt withhold what has expired since its preview, or restore the rest when told to', async () => {
    const { client } = await spoil();
    const history = historyOf(client);
    const [{ time } = expect.unreachable('there is a version')] = (await history.list(A)).slice(-1);
    const moment = new Date(time.getTime() + 1);
    expect(await history.restoreAt(moment, { dryRun: true })).toMatchObject({ left: [] });
    await expire(client);
    const expected = [{ path: A, reason: 'expired' }];
    expect(await history.restoreAt(moment)).toMatchObject({ outcome: 'withheld', left: expected });
    expect(await textsOf(client)).toEqual({ [A]: 'bad', [B]: 'new', [C]: 'old' });
    const partly = await history.restoreAt(moment, { partial: true });
    expect(partly).toMatchObject({ outcome: 'written', left: expected });
    expect(await textsOf(client)).toEqual({ [A]: 'bad', [C]: 'old' });
  });

  it('lets a trace and a restore of an expired version say that it is not known', async () => {
    const { client } = await spoil();
    const history = historyOf(client);
    const [, good = expect.unreachable('it is kept')] = await history.list(A);
    await expire(client);
    for (const verb of ['trace', 'restore', 'read', 'redact'] as const)
      await expect(history[verb](good)).rejects.toMatchObject({ code: 'not_found' });
    expect(await history.trace({ path: A })).toMatchObject({ versions: [{ path: A }] });
  });

  it('makes no alarm of what a checkpoint names and has expired', async () => {
    const site = await openSite(kind);
    const client = await keepingClient(site);
    for (const text of ['one', 'two']) await write(client, A, text, 'ann');
    await write(client, B, 'stays', 'ann');
    await site.time.pause(DAY);
    const { line } = await writeCheckpoint(client.tenant);
    await site.time.pause(DAY);
    for (const text of ['three', 'four']) await write(client, A, text, 'bad');
    await site.time.pause(20 * DAY);
    await historyOf(client).undo({ writer: 'bad', actor: 'cyd' });
    expect(await client.text(A)).toBe('two');
    for (const [days, findings] of [
      [0, []],
      [15, [{ kind: 'since', state: 'untold', path: A }]],
    ] as const) {
      await site.time.pause(days * DAY);
      await expire(client);
      const reader = await site.client();
      const found = await verifyTree(reader.tenant, { since: line });
      expect(found.findings).toMatchObject(findings);
      expect(found.findings).toHaveLength(findings.length);
      expect((await verifyTree(reader.tenant)).findings).toEqual([]);
    }
    expect((await historyOf(client).undo({ writer: 'bad' })).changes).toEqual([]);
  });
});
