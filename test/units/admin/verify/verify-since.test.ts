import { expect, it } from 'vitest';
import { checkpointTree } from '../../../../src/admin/checkpoints/checkpoint.ts';
import { turnTenantHistory } from '../../../../src/admin/keys/turn-history.ts';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { classKey, fileKey, logicalName, type ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ListOptions } from '../../../../src/store/port.ts';
import { exchangeText } from '../../../stage/bucket.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import { at, describeOnBothKinds, inTime } from '../../../stage/test-tree.ts';
import { createCheckedTenant, DAY } from '../checked-tenant.ts';

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
    const { findings } = await verifyTree((await site.client()).tenant, { since: line });
    expect(findings).toMatchObject([
      { kind: 'since', state: 'older', path: '/memories/a', expected: {}, found: {} },
    ]);
    const other = await site.client();
    await other.append('/memories/a', ' forked');
    expect(await since(line)).toEqual(['older a']);
  });

  it('names what was dropped, and what came back after its delete', async () => {
    const { client, later, checkpoint, since, bucket, putBack, drop } = await start();
    const line = await checkpoint();
    const old = await bucket();
    await later();
    await client.remove('/memories/a');
    await drop('/memories/b');
    expect(await since(line)).toEqual(['gone b']);
    await putBack(old, '/data/');
    expect(await since(line)).toEqual(['older a']);
  });

  it('tells once of a damaged record that another process wrote behind the scan', async () => {
    const { site, later, checkpoint, drop } = await start();
    const line = await checkpoint();
    await later();
    await drop('/memories/b');
    const { tenant } = await site.client();
    const { store, layout } = tenant;
    const key = classKey(layout, 'history', `${'a'.repeat(43)}_${'b'.repeat(11)}_${'c'.repeat(8)}`);
    async function* list(options: ListOptions) {
      if (options.prefix.endsWith('/history/'))
        await site.base.put(key, new Uint8Array(400), { mode: 'overwrite' });
      yield* store.list(options);
    }
    const { findings } = await verifyTree({ ...tenant, store: { ...store, list } }, { since: line });
    expect(findings).toMatchObject([
      { kind: 'history', state: 'damaged' },
      { kind: 'since', state: 'gone' },
    ]);
  });

  it('names a file that lay nowhere at the checkpoint, without its record too', async () => {
    const { client, later, checkpoint, since, bucket, putBack, nameOf } = await start();
    const old = await bucket();
    await client.remove('/memories/b');
    await later();
    const line = await checkpoint();
    await putBack(old, await nameOf('/memories/b'));
    await putBack(old, '/history/');
    expect(await since(line)).toContain('older b');
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
    expect(await since(line)).toEqual(['history']);
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
    expect(await since(line)).toEqual(['older a']);
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

  it('finds nothing behind a restore on purpose once the history begins anew, and then one attack', async () => {
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
    expect(await since(line)).toEqual(['older a', 'older b', 'gone c']);
    const plain = await checkpoint();
    expect(await since(plain)).toEqual(['older a', 'older b']);
    const { editor } = await createOperator(site);
    await turnTenantHistory({ editor, stamps: inTime(site.time.clock) }, 'anew');
    const next = await checkpoint();
    expect(await since(next)).toEqual([]);
    await later();
    const other = await site.client();
    await other.append('/memories/a', ' after');
    await other.append('/memories/a', ' and on');
    await other.append('/memories/b', ' after');
    expect(await since(next)).toEqual([]);
    await putBack(backup, await nameOf('/memories/a'));
    expect(await since(next)).toEqual(['older a']);
  });

  it('names an attack since the line before, and no checkpoint vouches for it that compares first', async () => {
    const { site, client, later, checkpoint, since, bucket, putBack, nameOf, drop } = await start();
    const old = await bucket();
    await client.append('/memories/a', ' a3');
    await later();
    const line = await checkpoint();
    const take = async (of: string) => checkpointTree((await site.client()).tenant, { since: of });
    const daily = await take('last');
    expect(daily).toMatchObject({ number: 2, findings: [] });
    await later();
    await putBack(old, await nameOf('/memories/a'));
    for (const of of [line, String(daily.line), 'last']) {
      const refused = await take(of);
      expect(refused.line).toBeUndefined();
      expect(refused.findings).toMatchObject([{ state: 'older', path: '/memories/a' }]);
    }
    expect([...(await bucket()).keys()].filter((key) => /\/checkpoints\/c/.test(key))).toHaveLength(2);
    // Who writes one all the same has a line that vouches for what lies there; the line before still names it.
    const vouching = await checkpoint();
    expect(await since(vouching)).toEqual([]);
    expect(await since(line)).toEqual(['older a']);
    await later();
    await drop('/memories/b');
    expect(await since(vouching)).toEqual(['gone b']);
  });

  it('lets no checkpoint leave out a file that is larger than the limit, for nothing would miss it later', async () => {
    const { site, client, later, checkpoint, since, nameOf } = await start();
    await later();
    const line = await checkpoint();
    const key = `${client.layout.data}${await nameOf('/memories/b')}` as ObjectKey;
    await site.base.put(key, new Uint8Array(2_000_000), { mode: 'overwrite' });
    expect(await since(line)).toEqual(['too_large']);
    const taken = await checkpointTree((await site.client()).tenant, { since: line });
    expect(taken.line).toBeUndefined();
  });

  it('takes no note of a number: a new checkpoint is above that of its line', async () => {
    const { site, later, checkpoint, since } = await start();
    await later();
    const line = await checkpoint();
    const other = `7:${line.slice(2)}`;
    expect(await since(other)).toEqual(['checkpoint missing']);
    const { tenant } = await site.client();
    expect(await checkpointTree(tenant, { since: other })).toMatchObject({ line: undefined });
    expect(await checkpointTree(tenant, { since: line })).toMatchObject({ number: 2 });
    await expect(checkpointTree(tenant, { since: 'no line' })).rejects.toMatchObject({
      code: 'invalid_command',
    });
  });

  it('names a file whose text was exchanged under a header that stays', async () => {
    const { site, client, later, checkpoint, since } = await start();
    await later();
    const line = await checkpoint();
    const { keys, names } = (await client.open()).keyring;
    const path = at('/memories/b');
    const key = fileKey(client.layout, names, path);
    const stored = await site.base.get(key);
    if (typeof stored !== 'object') expect.unreachable('the file is there');
    const forged = exchangeText({ keys, name: logicalName(path), object: stored.body });
    await site.base.put(key, forged, { mode: 'overwrite' });
    expect(await (await site.client()).text('/memories/b')).not.toBe('b0');
    expect(await since(line)).toEqual(['damaged']);
    // It is named once where its second look finds no more than bytes.
    const process = await site.client();
    process.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'get' && call.key === key)
        await site.base.put(key, forged.slice(1), { mode: 'overwrite' });
      return answer;
    });
    const { findings } = await verifyTree(process.tenant, { since: line });
    expect(findings.map(({ kind }) => kind)).toEqual(['damaged']);
  });

  it('reads every file and record once where nothing is found', async () => {
    const { site, client, later, checkpoint } = await start();
    await client.append('/memories/a', ' a3');
    await later();
    const line = await checkpoint();
    const process = await site.client();
    await verifyTree(process.tenant, { since: line });
    const read = process.calls
      .filter(({ verb }) => verb === 'get')
      .map((call) => String('key' in call && call.key));
    const objects = read.filter((key) => /\/(data|history)\//.test(key));
    expect(objects.length).toBeGreaterThan(3);
    expect(new Set(objects).size).toBe(objects.length);
  });

  it('reads again what changed while it looked, and takes nothing of it for an attack', async () => {
    const { site, client, later, checkpoint } = await start();
    await later();
    const line = await checkpoint();
    const process = await site.client();
    let isDone = false;
    process.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'get' && call.key.includes('/data/') && !isDone) {
        isDone = true;
        await client.append('/memories/a', ' a3');
        await client.append('/memories/a', ' a4');
        await client.rename('/memories/b', '/memories/c');
        await client.remove('/memories/a');
      }
      return answer;
    });
    expect((await verifyTree(process.tenant, { since: line })).findings).toEqual([]);
  });

  it('names a file that an attacker touches again while it looks: what is wrong there is another thing at each look', async () => {
    const { site, client, later, checkpoint, bucket, putBack, drop, nameOf } = await start();
    const old = await bucket();
    await later();
    const line = await checkpoint();
    await client.append('/memories/b', ' b1');
    await client.append('/memories/b', ' b2');
    await later();
    const name = await nameOf('/memories/b');
    await putBack(old, name);
    const process = await site.client();
    process.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'get' && call.key.endsWith(name)) await drop('/memories/b');
      return answer;
    });
    const { findings } = await verifyTree(process.tenant, { since: line });
    expect(findings).toMatchObject([{ kind: 'since', state: 'gone', path: '/memories/b' }]);
  });

  it('follows a file that is renamed at each look, and takes it for none that is gone', async () => {
    const { site, client: renamer, later, checkpoint } = await start();
    await later();
    const line = await checkpoint();
    await later();
    const client = await site.client();
    const { layout, keyring } = { ...client, ...(await client.open()) };
    const [first, ...others] = ['b', 'c', 'e', 'f'].map((name) => `/memories/${name}`);
    let path = first ?? '';
    client.intercept(async (call, proceed) => {
      if (call.verb !== 'get' || call.key !== fileKey(layout, keyring.names, at(path))) return proceed();
      const to = others.shift();
      if (to === undefined) return proceed();
      const from = path;
      path = to;
      await renamer.rename(from, to);
      return proceed();
    });
    expect((await verifyTree(client.tenant, { since: line })).findings).toEqual([]);
    expect(others).toEqual([]);
  });
});
