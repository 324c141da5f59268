import { expect, it } from 'vitest';
import { checkpointTree } from '../../src/admin/accept-checkpoint.ts';
import { writeCheckpoint } from '../../src/admin/checkpoint.ts';
import { verifyTree } from '../../src/admin/verify.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import type { Finding } from '../../src/tree/findings.ts';
import { describeOnBothKinds, type TestClient, type TestSite } from '../support/test-tree.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

type Bucket = ReadonlyMap<ObjectKey, Uint8Array>;

describeOnBothKinds('verify since a checkpoint', (newSite) => {
  async function start(history: 'on' | 'off' = 'on') {
    const site = await newSite();
    const client = await site.client({ keepsHistory: history === 'on' });
    await client.create('/memories/a', 'a0');
    await client.create('/memories/b', 'b0');
    await client.append('/memories/a', ' a1');
    await client.append('/memories/a', ' a2');
    const later = () => site.time.pause(HOUR);
    await later();
    const checkpoint = async () => (await writeCheckpoint((await site.client()).session)).line;
    return {
      site,
      client,
      later,
      checkpoint,
      since: (line: string, days?: number) => since(site, line, days),
    };
  }

  /** As a process that has seen nothing tells it. */
  async function since(site: TestSite, line: string, historyDays?: number): Promise<readonly string[]> {
    const { findings } = await verifyTree((await site.client()).session, { since: line, historyDays });
    return findings.map(told);
  }

  function told(finding: Finding): string {
    if (finding.kind === 'since')
      return [finding.state, finding.why, finding.path.slice(10)]
        .filter((word) => word !== undefined)
        .join(' ');
    return finding.kind === 'checkpoint' ? `checkpoint ${finding.state}` : finding.kind;
  }

  async function bucket(site: TestSite): Promise<Bucket> {
    const objects = new Map<ObjectKey, Uint8Array>();
    for await (const page of site.base.list({ prefix: '' })) {
      for (const { key } of page.objects) {
        const found = await site.base.get(key);
        if (typeof found === 'object') objects.set(key, found.body);
      }
    }
    return objects;
  }

  /** What lies there whose key holds `part`; everything else stays. */
  async function putBack(site: TestSite, old: Bucket, part = ''): Promise<void> {
    const now = await bucket(site);
    for (const key of now.keys()) {
      if (key.includes(part) && !old.has(key)) await site.base.delete([{ key }]);
    }
    for (const [key, body] of old) {
      if (key.includes(part)) await site.base.put(key, body, { mode: 'overwrite' });
    }
  }

  const keyOf = async (client: TestClient, path: string): Promise<string> => {
    const { names } = (await client.open()).keyring;
    return names.encodeFile(path.split('/').slice(2));
  };

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
    const { site, client, later, checkpoint } = await start();
    const old = await bucket(site);
    await client.append('/memories/a', ' a3');
    const line = await checkpoint();
    await later();
    await putBack(site, old, await keyOf(client, '/memories/a'));
    const { findings } = await verifyTree((await site.client()).session, { since: line });
    expect(findings).toMatchObject([
      { kind: 'since', state: 'rolled_back', path: '/memories/a', expected: {}, found: {} },
    ]);
    const other = await site.client();
    await other.append('/memories/a', ' forked');
    expect(await since(site, line)).toEqual(['forked a']);
  });

  it('names what was dropped, and what came back after its delete', async () => {
    const { site, client, later, checkpoint, since } = await start();
    const line = await checkpoint();
    const old = await bucket(site);
    await later();
    await client.remove('/memories/a');
    await site.base.delete([
      { key: `${client.layout.data}${await keyOf(client, '/memories/b')}` as ObjectKey },
    ]);
    expect(await since(line)).toEqual(['dropped b']);
    await putBack(site, old, '/data/');
    expect(await since(line)).toEqual(['brought_back a']);
  });

  it('names a file that lay nowhere at the checkpoint, without its record too', async () => {
    const { site, client, later, checkpoint, since } = await start();
    const old = await bucket(site);
    await client.remove('/memories/b');
    await later();
    const line = await checkpoint();
    await putBack(site, old, await keyOf(client, '/memories/b'));
    await putBack(site, old, '/history/');
    expect(await since(line)).toContain('brought_back b');
  });

  it('names a file whose chain was cut, and cannot tell where the history is not kept for so long', async () => {
    const { site, client, later, checkpoint, since } = await start();
    const line = await checkpoint();
    const old = await bucket(site);
    await later();
    await client.append('/memories/a', ' a3');
    await client.append('/memories/a', ' a4');
    expect(await since(line)).toEqual([]);
    await putBack(site, old, '/history/');
    expect(await since(line)).toEqual(['history', 'cut a']);
    await site.time.pause(40 * DAY);
    expect(await since(line, 30)).toEqual(['untold not_kept a']);
  });

  it('tells what a tenant without history cannot tell', async () => {
    const { site, client, later, checkpoint, since } = await start('off');
    const old = await bucket(site);
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
    await putBack(site, old, '/data/');
    expect(await since(line)).toEqual(['rolled_back a']);
  });

  it('sees that the whole tenant was put back, and an older keyring', async () => {
    const { site, later, checkpoint, since } = await start();
    const old = await bucket(site);
    await later();
    const line = await checkpoint();
    const now = await bucket(site);
    await putBack(site, old);
    expect(await since(line)).toEqual(['checkpoint missing']);
    await checkpoint();
    expect(await since(line)).toEqual(['checkpoint other']);
    await putBack(site, now);
    expect(await since(line)).toEqual([]);
    await putBack(site, new Map(), '/checkpoints/p');
    expect(await since(line)).toEqual(['checkpoint damaged']);
  });

  it('takes what was accepted for what is meant, since the old line and the new one', async () => {
    const { site, client, later, checkpoint, since } = await start();
    const backup = await bucket(site);
    await later();
    await client.append('/memories/a', ' a3');
    await client.append('/memories/a', ' a4');
    await client.remove('/memories/b');
    await client.create('/memories/c', 'c');
    await later();
    const line = await checkpoint();
    await putBack(site, backup, '/data/');
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
    await putBack(site, backup, await keyOf(client, '/memories/a'));
    for (const each of [line, report.line, next]) expect(await since(each)).toEqual(['rolled_back a']);
  });

  it('accepts a whole store that was put back to before the checkpoint', async () => {
    const { site, client, later, checkpoint, since } = await start();
    const backup = await bucket(site);
    await client.append('/memories/a', ' a3');
    await later();
    const line = await checkpoint();
    await putBack(site, backup);
    expect(await since(line)).toEqual(['checkpoint missing']);
    const report = await checkpointTree((await site.client()).session, { accept: line });
    expect(report.number).toBe(2);
    expect([await since(line), await since(report.line)]).toEqual([[], []]);
  });
});
