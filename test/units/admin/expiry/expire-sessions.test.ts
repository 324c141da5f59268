import { expect, it } from 'vitest';
import { type ExpiryReport, expireTree } from '../../../../src/admin/expiry/expire.ts';
import { createSessions, type Sessions } from '../../../../src/sessions/sessions.ts';
import { createOperator, putEveryClass } from '../../../stage/key-operator.ts';
import { bytes, describeOnBothKinds, type TestSite } from '../../../stage/test-tree.ts';

const DAY = 86_400_000;
const KEY = { projectKey: 'p', sessionId: 'old' } as const;
const LONG = 'x'.repeat(70_000);

function line(uuid: string): string {
  return JSON.stringify({ uuid, LONG });
}

describeOnBothKinds('expiry of sessions', (newSite) => {
  async function start(): Promise<{
    readonly site: TestSite;
    readonly sessions: Sessions;
    expire(options?: { readonly dryRun?: boolean; readonly afterDays?: number }): Promise<ExpiryReport>;
  }> {
    const site = await newSite();
    const { tenant } = await (await site.client()).open();
    const sessions = createSessions(tenant);
    for (const uuid of ['a', 'b', 'c']) await sessions.append(KEY, [line(uuid)]);
    await sessions.append({ ...KEY, subpath: 'sub' }, [line('a')]);
    return {
      site,
      sessions,
      expire: async (options = {}) => {
        const { tenant: own } = await (await site.client()).open();
        return expireTree(own, { afterDays: 30, ...options });
      },
    };
  }
  const pagesOf = async (site: TestSite): Promise<number> => {
    let pages = 0;
    for await (const { objects } of site.base.list({ prefix: 'tenants/acme/sessions/' }))
      pages += objects.length;
    return pages;
  };

  it('deletes those to which nothing was appended for so long, with their subagents', async () => {
    const { site, sessions, expire } = await start();
    await site.time.pause(29 * DAY);
    await sessions.append({ ...KEY, sessionId: 'new' }, [line('a')]);
    expect(await expire()).toMatchObject({ sessions: 0 });
    await site.time.pause(2 * DAY);
    expect(await expire({ dryRun: true })).toMatchObject({ sessions: 1 });
    expect(await pagesOf(site)).toBe(5);
    expect(await expire()).toMatchObject({ sessions: 1 });
    expect(await pagesOf(site)).toBe(1);
    expect((await sessions.list('p')).map(({ sessionId }) => sessionId)).toEqual(['new']);
  });

  it.each([
    ['itself alone', {}, 4],
    ['a subagent alone', { subpath: 'sub' }, 3],
  ])('keeps all of one that was appended to by %s', async (_, by, lines) => {
    const { site, sessions, expire } = await start();
    await site.time.pause(29 * DAY);
    await sessions.append({ ...KEY, ...by }, [line('d')]);
    await site.time.pause(2 * DAY);
    expect(await expire()).toMatchObject({ sessions: 0 });
    expect(await sessions.load(KEY)).toHaveLength(lines);
  });

  it('counts no migration as a use', async () => {
    const { site, expire } = await start();
    await expire();
    const operator = await createOperator(site);
    await site.time.pause(29 * DAY);
    await operator.rotate();
    await site.time.pause(DAY / 2);
    await operator.migrate();
    await site.time.pause(2 * DAY);
    expect(await expire()).toMatchObject({ sessions: 1 });
  });

  it.each([
    ['keeps all of one whose last page is written to', false],
    ['keeps the new page of one', true],
  ])('%s while it runs', async (_, isFull) => {
    const { site, sessions } = await start();
    if (!isFull) await sessions.append(KEY, ['{}']);
    await site.time.pause(31 * DAY);
    const client = await site.client();
    const { tenant } = await client.open();
    let met = false;
    client.intercept(async (call, proceed) => {
      if (!met && call.verb === 'delete') {
        met = true;
        await sessions.append(KEY, [line('d')]);
      }
      return proceed();
    });
    await expireTree(tenant, { afterDays: 30 });
    const all = [...['a', 'b', 'c'].map(line), '{}'];
    expect(await sessions.load(KEY)).toEqual([...(isFull ? [] : all), line('d')]);
  });

  it('deletes nothing when it stood still behind its look', async () => {
    const { site, sessions } = await start();
    await site.time.pause(31 * DAY);
    const client = await site.client();
    const { tenant } = await client.open();
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'list' && call.prefix.endsWith('/sessions/')) await site.time.pause(30_001);
      return answer;
    });
    expect(await expireTree(tenant, { afterDays: 30 })).toMatchObject({ sessions: 0 });
    expect(await sessions.load(KEY)).toHaveLength(3);
  });

  it('leaves everything alone where nothing expires, and what is no page', async () => {
    const { site, expire } = await start();
    const { tenant, ...work } = await (await site.client()).open();
    await putEveryClass({ tenant, ...work }, bytes('{}'));
    await site.time.pause(300 * DAY);
    expect(await expireTree(tenant, {})).toMatchObject({ sessions: 0 });
    expect(await expire()).toMatchObject({ sessions: 1 });
    expect(await pagesOf(site)).toBe(1);
  });
});
