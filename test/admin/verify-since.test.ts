import { expect, it } from 'vitest';
import { checkpointTree } from '../../src/admin/accept-checkpoint.ts';
import { acceptanceId } from '../../src/admin/checkpoint-record.ts';
import { expireTree } from '../../src/admin/expire.ts';
import { verifyTree } from '../../src/admin/verify.ts';
import { encodeFields, writeRecord } from '../../src/tree/sealed-record.ts';
import { openWork } from '../../src/tree/session.ts';
import { describeOnBothKinds } from '../support/test-tree.ts';
import { createCheckedTenant, DAY } from './checked-tenant.ts';

describeOnBothKinds('verify since a checkpoint', (newSite) => {
  const start = async (history: 'on' | 'off' = 'on') => createCheckedTenant(await newSite(), history);

  it('finds nothing where nothing changed, and nothing in what honest writers did', async () => {
    const { site, client, later, checkpoint, since } = await start();
    const line = await checkpoint();
    expect(line).toMatch(/^1:[A-Za-z0-9_-]{43}$/);
    expect(await since(line)).toEqual([]);
    await later();
    await client.append('/memories/a', ' a3');
    await client.rename('/memories/b', '/memories/d/c');
    await client.rename('/memories/d', '/memories/e');
    await client.append('/memories/e/c', ' b1');
    await client.create('/memories/new', 'n');
    expect(await since(line)).toEqual([]);
    await client.remove('/memories/e');
    await client.create('/memories/b', 'another');
    expect(await since(line)).toEqual([]);
    await site.time.pause(40 * DAY);
    expect(await since(line, 30)).toEqual([]);
  });

  it('names a version that was put back, and both versions', async () => {
    const { site, client, later, checkpoint, since, bucket, putBack, nameOf } = await start();
    const old = await bucket();
    await client.append('/memories/a', ' a3');
    const line = await checkpoint();
    await later();
    await putBack(old, await nameOf('/memories/a'));
    const { findings } = await verifyTree((await site.client()).session, { since: line });
    expect(findings).toMatchObject([
      { kind: 'since', state: 'rolled_back', path: '/memories/a', expected: {}, found: {} },
    ]);
    const other = await site.client();
    await other.append('/memories/a', ' forked');
    expect(await since(line)).toEqual(['forked a']);
  });

  it('names what was dropped, and what came back after its delete', async () => {
    const { client, later, checkpoint, since, bucket, putBack, drop } = await start();
    const line = await checkpoint();
    const old = await bucket();
    await later();
    await client.remove('/memories/a');
    await drop('/memories/b');
    expect(await since(line)).toEqual(['dropped b']);
    await putBack(old, '/data/');
    expect(await since(line)).toEqual(['brought_back a']);
  });

  it('names a file that lay nowhere at the checkpoint, without its record too', async () => {
    const { client, later, checkpoint, since, bucket, putBack, nameOf } = await start();
    const old = await bucket();
    await client.remove('/memories/b');
    await later();
    const line = await checkpoint();
    await putBack(old, await nameOf('/memories/b'));
    await putBack(old, '/history/');
    expect(await since(line)).toContain('brought_back b');
  });

  it('names a file whose chain was cut, and cannot tell where the history is not kept for so long', async () => {
    const { site, client, later, checkpoint, since, bucket, putBack } = await start();
    const line = await checkpoint();
    const old = await bucket();
    await later();
    await client.append('/memories/a', ' a3');
    await client.append('/memories/a', ' a4');
    expect(await since(line)).toEqual([]);
    await putBack(old, '/history/');
    expect(await since(line)).toEqual(['history', 'cut a']);
    await site.time.pause(40 * DAY);
    expect(await since(line, 30)).toEqual(['untold not_kept a']);
  });

  it('tells what a tenant without history cannot tell', async () => {
    const { client, later, checkpoint, since, bucket, putBack } = await start('off');
    const old = await bucket();
    await client.append('/memories/a', ' a3');
    await later();
    const line = await checkpoint();
    await later();
    expect(await since(line)).toEqual([]);
    await client.append('/memories/a', ' a4');
    expect(await since(line)).toEqual([]);
    await client.append('/memories/a', ' a5');
    await client.remove('/memories/b');
    expect(await since(line)).toEqual(['untold history_off a', 'untold history_off b']);
    await putBack(old, '/data/');
    expect(await since(line)).toEqual(['rolled_back a']);
  });

  it('sees that the whole tenant was put back, and an older keyring', async () => {
    const { later, checkpoint, since, bucket, putBack } = await start();
    const old = await bucket();
    await later();
    const line = await checkpoint();
    const now = await bucket();
    await putBack(old);
    expect(await since(line)).toEqual(['checkpoint missing']);
    await checkpoint();
    expect(await since(line)).toEqual(['checkpoint other']);
    await putBack(now);
    expect(await since(line)).toEqual([]);
    await putBack(new Map(), '/checkpoints/p');
    expect(await since(line)).toEqual(['checkpoint damaged']);
  });

  it('takes what was accepted for what is meant, since the old line and the new one', async () => {
    const { site, client, later, checkpoint, since, bucket, putBack, nameOf } = await start();
    const backup = await bucket();
    await later();
    await client.append('/memories/a', ' a3');
    await client.append('/memories/a', ' a4');
    await client.remove('/memories/b');
    await client.create('/memories/c', 'c');
    await later();
    const line = await checkpoint();
    await putBack(backup, '/data/');
    expect(await since(line)).toEqual(['rolled_back a', 'brought_back b', 'dropped c']);
    const report = await checkpointTree((await site.client()).session, { accept: line });
    expect(report.accepted).toHaveLength(3);
    expect([await since(line), await since(report.line)]).toEqual([[], []]);
    await later();
    const other = await site.client();
    await other.append('/memories/a', ' after');
    await other.append('/memories/a', ' and on');
    const next = await checkpoint();
    await other.append('/memories/b', ' after');
    for (const each of [line, report.line, next]) expect(await since(each)).toEqual([]);
    await putBack(backup, await nameOf('/memories/a'));
    for (const each of [line, report.line, next]) expect(await since(each)).toEqual(['rolled_back a']);
  });

  it('accepts again what a note had accepted that is damaged now', async () => {
    const { site, client, later, checkpoint, since, bucket, putBack, drop } = await start();
    const old = await bucket();
    await client.append('/memories/a', ' a3');
    await client.append('/memories/a', ' a4');
    await later();
    const line = await checkpoint();
    await putBack(old, '/history/');
    await drop('/memories/b');
    const accept = async () => checkpointTree((await site.client()).session, { accept: line });
    await accept();
    expect(await since(line)).toEqual([]);
    const note = [...(await bucket()).keys()].find((key) => /\/checkpoints\/a\d+$/.test(key));
    if (note === undefined) throw new Error('nothing was accepted');
    for (const size of [0, 500, 17 * 1_048_576]) {
      await site.base.put(note, new Uint8Array(size), { mode: 'overwrite' });
      expect(await since(line)).toEqual(['damaged_record', 'history', 'dropped b']);
      const { accepted, line: next } = await accept();
      expect(accepted).toMatchObject([{ kind: 'history', state: 'missing' }, { state: 'dropped' }]);
      expect([await since(line), await since(next)]).toEqual([[], []]);
    }
  });

  it.each([
    { by: 'two', missing: [] },
    { by: 2, missing: 'all' },
    { by: 2, missing: [3] },
  ])('accepts nothing in the place of a note of a later version, and says so: %o', async (fields) => {
    const { site, later, checkpoint, since, drop } = await start();
    await later();
    const line = await checkpoint();
    await drop('/memories/b');
    const { session } = await site.client();
    const work = await openWork(session, {});
    if (work === undefined) throw new Error('there is no keyring');
    const note = { content: encodeFields(fields), base: undefined };
    await writeRecord(work, { cls: 'checkpoints', id: acceptanceId(1) }, note);
    const refused = { code: 'unsupported_format' };
    await expect(since(line)).rejects.toMatchObject(refused);
    await expect(checkpointTree(session, { accept: line })).rejects.toMatchObject(refused);
  });

  it('accepts a whole store that was put back to before the checkpoint', async () => {
    const { site, client, later, checkpoint, since, bucket, putBack } = await start();
    const backup = await bucket();
    await client.append('/memories/a', ' a3');
    await later();
    const line = await checkpoint();
    await putBack(backup);
    expect(await since(line)).toEqual(['checkpoint missing']);
    const report = await checkpointTree((await site.client()).session, { accept: line });
    expect(report.number).toBe(2);
    expect([await since(line), await since(report.line)]).toEqual([[], []]);
  });

  it('accepts what the history has not, which a plain verification does not name then either', async () => {
    const { site, client, later, checkpoint, since, bucket, putBack } = await start();
    const old = await bucket();
    await client.append('/memories/a', ' a3');
    await client.append('/memories/a', ' a4');
    await later();
    const line = await checkpoint();
    await client.append('/memories/b', ' b1');
    // The files of a later backup, the history of an earlier one.
    await putBack(old, '/history/');
    const plain = async () => (await verifyTree((await site.client()).session)).findings;
    expect(await plain()).toMatchObject([
      { kind: 'history', state: 'missing', path: '/memories/a' },
      { kind: 'history', state: 'missing', path: '/memories/b' },
    ]);
    const { session } = await site.client();
    expect((await checkpointTree(session, { accept: line })).accepted).toHaveLength(2);
    expect([await plain(), await since(line)]).toEqual([[], []]);
    const now = await bucket();
    await client.append('/memories/a', ' a5');
    await client.append('/memories/a', ' a6');
    await putBack(now, '/history/');
    expect(await plain()).toMatchObject([{ kind: 'history', state: 'missing', path: '/memories/a' }]);
    await checkpointTree(session, { accept: line });
    expect(await plain()).toEqual([]);
    // Once more: what was accepted before stays so, and it does not expire before the history does.
    await site.time.pause(100 * DAY);
    await expireTree(session, {});
    expect(await plain()).toEqual([]);
  });
});
