import { describe, expect, it } from 'vitest';
import { type ExpiryOptions, type ExpiryReport, expireTree } from '../../../../src/admin/expiry/expire.ts';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { readActors } from '../../../../src/history/save/actors.ts';
import type { ListPage } from '../../../../src/store/port.ts';
import { keysOf } from '../../../stage/bucket.ts';
import { historyOf } from '../../../stage/history-site.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import {
  at,
  bytes,
  createSite,
  describeOnBothKinds,
  type TestClient,
  type TestSite,
} from '../../../stage/test-tree.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const A = '/memories/a';
const B = '/memories/b';

/** A process of a tenant that keeps history. */
async function keeping(site: TestSite): Promise<TestClient> {
  const client = await site.client({ keepsHistory: true });
  await client.open();
  return client;
}

async function expire(
  site: TestSite,
  around: (client: TestClient) => void = () => {},
  options: ExpiryOptions = {},
): Promise<ExpiryReport & { readonly gets: number }> {
  const client = await site.client();
  await client.open();
  around(client);
  client.calls.length = 0;
  const report = await expireTree(client.tenant, { historyDays: 30, ...options });
  return { ...report, gets: client.calls.filter(({ verb }) => verb === 'get').length };
}

async function listed(site: TestSite, prefix: string): Promise<ListPage['objects']> {
  const found: ListPage['objects'][number][] = [];
  for await (const { objects } of site.base.list({ prefix })) found.push(...objects);
  return found;
}

async function actorsIn(client: TestClient): Promise<readonly string[]> {
  return [...(await readActors(await client.open())).values()].sort();
}

const write = (client: TestClient, actor: string, path = A): Promise<unknown> =>
  client.tree.overwrite(at(path), bytes(`by ${actor}`), { actor });

/** Named in the store, by a command that changes nothing. */
async function nameOnly(client: TestClient, actor: string): Promise<void> {
  const edit = client.tree.edit(at('/memories/none'), (content) => ({ content, result: '' }), { actor });
  await expect(edit).rejects.toMatchObject({ code: 'not_found' });
}

/** Puts something into the run, once, before its first request of that kind. */
function before(
  verb: 'delete' | 'list',
  cls: string,
  meet: () => Promise<unknown>,
): (client: TestClient) => void {
  let met = false;
  return (client) =>
    client.intercept(async (call, proceed) => {
      const keys = call.verb === 'delete' ? call.targets.map(({ key }) => key as string) : [];
      const place = call.verb === 'list' ? call.prefix : (keys[0] ?? '');
      if (!met && call.verb === verb && place.startsWith(`tenants/acme/${cls}/`)) {
        met = true;
        await meet();
      }
      return proceed();
    });
}

describeOnBothKinds('the expiry of actors', (newSite) => {
  it('deletes actors that nothing there or kept names, and leaves all others', async () => {
    const site = await newSite();
    const client = await keeping(site);
    const deeds: Record<string, (actor: string) => Promise<unknown>> = {
      renamed: (actor) => client.tree.rename({ from: at(B), to: at('/memories/c') }, { actor }),
      deleted: (actor) => client.tree.remove(at('/memories/c'), { actor }),
      redacted: async (actor) => {
        const kept = (await historyOf(client).list(A)).find(({ version }) => version !== current);
        await historyOf(client).redact(kept ?? expect.unreachable('a version is kept'), { actor });
      },
      replaced: (actor) => write(client, actor),
    };
    await write(client, 'gone');
    await write(client, 'gone', B);
    await site.time.pause(30 * DAY);
    for (const actor of Object.keys(deeds)) await nameOnly(client, actor);
    await write(client, 'current');
    const [{ version: current } = expect.unreachable('there is a file')] = await historyOf(client).list(A);
    await site.time.pause(6 * DAY);
    for (const [actor, deed] of Object.entries(deeds)) await deed(actor);
    await write(client, 'current');
    await site.time.pause(26 * DAY);
    // It has looked, because of `gone`, who wrote what is kept since it was replaced and deleted.
    expect(await expire(site)).toMatchObject({ history: 0 });
    expect(await actorsIn(client)).toEqual(['current', ...Object.keys(deeds), 'gone'].sort());
    await site.time.pause(5 * DAY);
    expect(await expire(site)).toMatchObject({ history: 6 });
    expect(await actorsIn(client)).toEqual(['current', ...Object.keys(deeds), 'gone'].sort());
    await site.time.pause(56 * DAY);
    expect(await expire(site)).toMatchObject({ history: 5 });
    expect(await actorsIn(client)).toEqual(['current']);
    expect((await historyOf(client).list()).map(({ writer }) => writer)).toEqual(['current']);
    expect((await verifyTree(client.tenant)).findings).toEqual([]);
  });

  it('keeps who writes again while the run is at work, though nothing named him until then', async () => {
    const site = await newSite();
    const client = await keeping(site);
    await nameOnly(client, 'ann');
    await nameOnly(client, 'bob');
    await site.time.pause(80 * DAY);
    const report = await expire(
      site,
      before('delete', 'actors', () => write(client, 'ann')),
    );
    expect(report.history).toBe(1);
    expect(await actorsIn(client)).toEqual(['ann']);
  });

  it('keeps an actor that a process named a day ago', async () => {
    const site = await newSite();
    const client = await keeping(site);
    await nameOnly(client, 'ann');
    await nameOnly(client, 'bob');
    for (let days = 0; days < 80; days += 8) {
      await site.time.pause(8 * DAY);
      await nameOnly(client, 'ann');
    }
    await site.time.pause(DAY - HOUR);
    // Without a request that would name him.
    const report = await expire(
      site,
      before('delete', 'actors', () => write(client, 'ann')),
    );
    expect(report.history).toBe(1);
    expect(await actorsIn(client)).toEqual(['ann']);
  });

  it('keeps whom a process has found there just behind a migration of keys', async () => {
    const site = await newSite();
    const client = await keeping(site);
    await nameOnly(client, 'ann');
    await nameOnly(client, 'bob');
    await site.time.pause(80 * DAY);
    await client.create(B, 'of which a version is kept');
    await client.append(B, ', so that migrations note what they write');
    const operator = await createOperator(site);
    await operator.rotate();
    await site.time.pause(HOUR);
    await operator.migrate();
    await site.time.pause(HOUR);
    await nameOnly(client, 'ann');
    expect(await expire(site)).toMatchObject({ history: 0 });
    await site.time.pause(15 * DAY);
    await nameOnly(client, 'ann');
    expect(await expire(site)).toMatchObject({ history: 1 });
    expect(await actorsIn(client)).toEqual(['ann']);
  });
});

describe('the expiry of actors', () => {
  it.each(['data', 'history'])(
    'keeps all while something of %s cannot be opened, and may name any',
    async (cls) => {
      const site = await createSite();
      const client = await keeping(site);
      await write(client, 'ann');
      await write(client, 'bob');
      await nameOnly(client, 'cid');
      await site.time.pause(20 * DAY);
      await client.append(A, ' and more');
      await site.time.pause(60 * DAY);
      const [object] = await listed(site, `tenants/acme/${cls}/`);
      const { key } = object ?? expect.unreachable(`something of ${cls} is there`);
      const whole = await site.base.get(key);
      const body = typeof whole === 'object' ? whole.body : expect.unreachable('it is there');
      await site.base.put(key, body.with(-1, (body.at(-1) ?? 0) ^ 1), { mode: 'overwrite' });
      await expire(site, () => {}, { historyDays: 45 });
      expect(await actorsIn(client)).toContain('cid');
      await site.base.put(key, body, { mode: 'overwrite' });
      await expire(site, () => {}, { historyDays: 45 });
      expect(await actorsIn(client)).not.toContain('cid');
    },
  );

  it('follows the history, whose note is there before its first record goes', async () => {
    const site = await createSite();
    const client = await keeping(site);
    for (const actor of ['ann', 'bob']) await write(client, actor);
    await site.time.pause(31 * DAY);
    const changes: string[] = [];
    await expire(site, (operator) =>
      operator.intercept((call, proceed) => {
        if (call.verb === 'put') changes.push(`put ${call.key}`);
        if (call.verb === 'delete') changes.push(...call.targets.map(({ key }) => `delete ${key}`));
        return proceed();
      }),
    );
    const [note, ...deletes] = changes;
    expect(note).toMatch(/^put .*\/journal\/history$/);
    expect(deletes.join('\n')).toMatch(/^delete .*\/history\//);
  });

  it('costs a LIST where none is old, and looks once in thirty days where some are', async () => {
    const site = await createSite();
    const client = await keeping(site);
    await write(client, 'ann');
    const idle = (await expire(site)).gets;
    await site.time.pause(59 * DAY);
    expect((await expire(site)).gets).toBe(idle);
    await write(client, 'bob', B);
    await site.time.pause(2 * DAY);
    // A GET for the actor, and for each file.
    expect(await expire(site)).toMatchObject({ history: 0, gets: idle + 3 });
    for (let days = 0; days < 58; days += 29) {
      await site.time.pause(29 * DAY);
      expect((await expire(site)).gets).toBe(idle);
    }
    await site.time.pause(4 * DAY);
    expect((await expire(site)).gets).toBe(idle + 4);
    expect(await actorsIn(client)).toEqual(['ann', 'bob']);
  });

  it('is not without the days of the history, nor in a dry run, which tells how many it would delete', async () => {
    const site = await createSite();
    const client = await keeping(site);
    await nameOnly(client, 'ann');
    await site.time.pause(80 * DAY);
    expect(await expire(site, undefined, { historyDays: undefined })).not.toHaveProperty('history');
    expect(await expire(site, undefined, { dryRun: true })).toMatchObject({ history: 1 });
    expect(await actorsIn(client)).toEqual(['ann']);
    expect(await expire(site)).toMatchObject({ history: 1 });
    expect(await actorsIn(client)).toEqual([]);
  });

  it('keeps all while a directory is being renamed', async () => {
    const site = await createSite();
    const client = await keeping(site);
    await nameOnly(client, 'ann');
    await site.time.pause(80 * DAY);
    for (const name of ['a', 'b']) await client.create(`/memories/d/${name}`, name);
    let report: ExpiryReport | undefined;
    client.intercept(async (call, proceed) => {
      if (report === undefined && call.verb === 'put' && call.key.includes('/data/'))
        report = await expire(site);
      return proceed();
    });
    await client.rename('/memories/d', '/memories/e');
    expect(report).toMatchObject({ busy: true, history: 0 });
    expect(await expire(site)).toMatchObject({ busy: false, history: 1 });
  });

  it('keeps the writer of a file that was at neither place when those were listed', async () => {
    const site = await createSite();
    const client = await keeping(site);
    await write(client, 'ann');
    await site.time.pause(80 * DAY);
    let missed = 0;
    const missing = (run: TestClient): void =>
      run.intercept(async (call, proceed) => {
        const answer = await proceed();
        if (call.verb !== 'list' || !call.prefix.startsWith('tenants/acme/data/') || missed > 0)
          return answer;
        const { value } = answer as { readonly value?: ListPage };
        if (value === undefined) return answer;
        missed += value.objects.length;
        return { ...answer, value: { ...value, objects: [] } };
      });
    expect(await expire(site, missing)).toMatchObject({ history: 0 });
    expect(missed).toBe(1);
    expect(await actorsIn(client)).toEqual(['ann']);
  });

  it('leaves one that cannot be opened to verify, and looks for the sake of no such one', async () => {
    const site = await createSite();
    const client = await keeping(site);
    await write(client, 'ann');
    const idle = (await expire(site)).gets;
    const [key] = (await keysOf(site)).filter((each) => each.includes('/actors/'));
    await site.time.pause(80 * DAY);
    await site.base.put(key as never, bytes('x'.repeat(300)), { mode: 'overwrite' });
    await site.time.pause(80 * DAY);
    expect((await expire(site)).gets).toBe(idle + 1);
    expect((await verifyTree(client.tenant)).findings).toMatchObject([{ kind: 'damaged_record' }]);
    // Its actor writes it again, once that is a week old.
    await write(client, 'ann');
    expect((await verifyTree(client.tenant)).findings).toEqual([]);
  });
});
