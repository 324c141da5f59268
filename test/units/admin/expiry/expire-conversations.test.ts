import { describe, expect, it } from 'vitest';
import { type ExpiryReport, expireTree } from '../../../../src/admin/expiry/expire.ts';
import { readRecord, writeRecord } from '../../../../src/tree/records/sealed-record.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { encodeHead, HEAD_BYTES } from '../../../../src/turns/conversation-head.ts';
import { bodyId, headId, promptId } from '../../../../src/turns/conversation-id.ts';
import type { StoredText } from '../../../../src/turns/turn-records.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import { bytes, describeOnBothKinds, type TestSite } from '../../../stage/test-tree.ts';

const DAY = 86_400_000;
const ANSWER = bytes('{"outcome":"answered","text":"","messages":[]}');

describeOnBothKinds('expiry of conversations', (newSite) => {
  async function start(): Promise<{
    readonly site: TestSite;
    readonly work: Work;
    expire(options?: {
      readonly dryRun?: boolean;
      readonly conversationDays?: number;
    }): Promise<ExpiryReport>;
  }> {
    const site = await newSite();
    return {
      site,
      work: await (await site.client()).open(),
      expire: async (options = {}) => expireTree((await (await site.client()).open()).tenant, options),
    };
  }

  /** The id of the body that was written, which the head names if it `isNamed`. */
  async function write(
    work: Work,
    {
      name,
      part,
      isNamed = true,
    }: { readonly name: string; readonly part?: string; readonly isNamed?: boolean },
  ): Promise<void> {
    const head = headId(work.keyring.names, name);
    let content: StoredText = { text: '{}' };
    if (part !== undefined) {
      content = { record: bodyId(head, part) };
      await writeRecord(
        work,
        { cls: 'conversations', id: content.record },
        { content: ANSWER, base: undefined },
      );
    }
    if (!isNamed) return;
    const named = encodeHead({ version: 1, turn: 't', content });
    await writeRecord(work, { cls: 'conversations', id: head }, { content: named, base: undefined });
  }

  const stored = async (site: TestSite): Promise<readonly string[]> => {
    const kinds: string[] = [];
    for await (const { objects } of site.base.list({ prefix: 'tenants/acme/conversations/' }))
      kinds.push(...objects.map(({ key }) => key.charAt('tenants/acme/conversations/'.length)));
    return kinds;
  };

  it('deletes those to which no turn came for so long, with their bodies', async () => {
    const { site, work, expire } = await start();
    await write(work, { name: 'old', part: 'A'.repeat(16) });
    await write(work, { name: 'small' });
    await site.time.pause(89 * DAY);
    await write(work, { name: 'new', part: 'B'.repeat(16) });
    expect(await expire()).toMatchObject({ records: 0 });
    await site.time.pause(2 * DAY);
    expect(await expire({ dryRun: true })).toMatchObject({ records: 3 });
    expect(await stored(site)).toEqual(['b', 'b', 'h', 'h', 'h']);
    expect(await expire()).toMatchObject({ records: 3 });
    expect(await stored(site)).toEqual(['b', 'h']);
  });

  it('deletes a prompt once no queue delivers its turn any longer, to the millisecond', async () => {
    const { site, work, expire } = await start();
    const id = promptId(work.keyring.names, { conversation: 'chat', turn: 't' });
    await writeRecord(work, { cls: 'conversations', id }, { content: ANSWER, base: undefined });
    await site.time.pause(30 * DAY);
    expect(await expire()).toMatchObject({ records: 0 });
    await site.time.pause(1);
    expect(await expire()).toMatchObject({ records: 1 });
  });

  it('keeps one whose body a worker has just written, however old its head is', async () => {
    const { site, work, expire } = await start();
    await write(work, { name: 'old', part: 'A'.repeat(16) });
    await site.time.pause(91 * DAY);
    await write(work, { name: 'old', part: 'B'.repeat(16), isNamed: false });
    expect(await expire()).toMatchObject({ records: 0 });
    expect(await stored(site)).toEqual(['b', 'b', 'h']);
  });

  it('deletes bodies that workers left which died, when no worker can be at work on them', async () => {
    const { site, work, expire } = await start();
    await write(work, { name: 'chat', part: 'C'.repeat(16), isNamed: false });
    await write(work, { name: 'chat', part: 'D'.repeat(16) });
    await site.time.pause(DAY / 2);
    expect(await expire()).toMatchObject({ records: 0 });
    await site.time.pause(DAY);
    expect(await expire()).toMatchObject({ records: 1 });
    const left: string[] = [];
    for await (const { objects } of site.base.list({ prefix: 'tenants/acme/conversations/b' }))
      left.push(...objects.map(({ key }) => key.slice(-16)));
    expect(left).toEqual(['D'.repeat(16)]);
  });

  it('keeps all of one to which a turn comes while it runs', async () => {
    const { site, work } = await start();
    await write(work, { name: 'chat', part: 'E'.repeat(16) });
    await site.time.pause(91 * DAY);
    const client = await site.client();
    const { tenant } = await client.open();
    let met = false;
    client.intercept(async (call, proceed) => {
      if (!met && call.verb === 'delete') {
        met = true;
        const id = headId(work.keyring.names, 'chat');
        const head = { cls: 'conversations', id, maxBytes: HEAD_BYTES } as const;
        const { content = bytes(''), etag: base } = (await readRecord(work, head)) ?? {};
        await writeRecord(work, head, { content, base });
      }
      return proceed();
    });
    expect(await expireTree(tenant, {})).toMatchObject({ records: 0 });
    expect(await stored(site)).toEqual(['b', 'h']);
  });

  it('counts no migration as a turn', async () => {
    const { site, work, expire } = await start();
    await writeRecord(work, { cls: 'receipts', id: 'one' }, { content: ANSWER, base: undefined });
    await write(work, { name: 'chat' });
    await expire();
    const operator = await createOperator(site);
    await site.time.pause(80 * DAY);
    await operator.rotate();
    await site.time.pause(DAY / 2);
    await operator.migrate();
    await site.time.pause(11 * DAY);
    await expire();
    expect(await stored(site)).toEqual([]);
  });
});

describe('the days of conversations', () => {
  it.each([0, 3_651, 1.5])('are no %s', async (conversationDays) => {
    const { createSite } = await import('../../../stage/test-tree.ts');
    const site = await createSite();
    const { tenant } = await (await site.client()).open();
    const given = expireTree(tenant, { conversationDays });
    await expect(given).rejects.toMatchObject({ code: 'misconfigured' });
  });
});
