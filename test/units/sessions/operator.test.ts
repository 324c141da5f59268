import { expect, it } from 'vitest';
import { shredTenant } from '../../../src/admin/keys/shred.ts';
import { verifyTree } from '../../../src/admin/verify/verify.ts';
import type { NameMode } from '../../../src/format/names.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { decodePage, encodePage } from '../../../src/sessions/page.ts';
import { parsePageId } from '../../../src/sessions/session-key.ts';
import { createSessions, type Sessions } from '../../../src/sessions/sessions.ts';
import { readRecord } from '../../../src/tree/records/sealed-record.ts';
import type { Tenant, Work } from '../../../src/tree/tenant.ts';
import { putRecord, storedObjects } from '../../stage/key-operator.ts';
import { bytes, createSite, describeOnBothKinds, type TestClient } from '../../stage/test-tree.ts';

const KEY = { projectKey: 'a-project', sessionId: 'a-session' } as const;
const SUB = { ...KEY, subpath: 'a-subagent' } as const;
const TEXT = JSON.stringify({ uuid: 'a-uuid', text: 'what was said' });
const PREFIX = 'tenants/acme/sessions/';

async function start(names?: NameMode): Promise<{
  readonly client: TestClient;
  readonly work: Work;
  readonly tenant: Tenant;
  readonly sessions: Sessions;
  pages(): Promise<ReadonlyMap<ObjectKey, Uint8Array>>;
}> {
  const site = await createSite();
  const client = await site.client(names === undefined ? {} : { names });
  const work = await client.open();
  const { tenant } = work;
  const sessions = createSessions(tenant);
  for (const key of [KEY, SUB]) await sessions.append(key, [TEXT]);
  return { client, work, tenant, sessions, pages: () => storedObjects(tenant, PREFIX) };
}

it('hides lines, projects, sessions and subagents, in either name mode', async () => {
  for (const names of ['plain', 'encrypted'] as const) {
    const { pages } = await start(names);
    const stored = [...(await pages())].map(
      ([key, body]) => `${key} ${Buffer.from(body).toString('latin1')}`,
    );
    expect(stored).toHaveLength(2);
    for (const object of stored) {
      for (const word of ['a-project', 'a-session', 'a-subagent', 'a-uuid', 'what was said']) {
        expect(object).not.toContain(word);
      }
    }
  }
});

it('a damaged page is named by verify, keeps its transcript from being read, and others from nothing', async () => {
  const { client, tenant, sessions, pages } = await start();
  await sessions.append({ ...KEY, sessionId: 'other' }, [TEXT]);
  expect((await verifyTree(tenant)).findings).toEqual([]);
  const [key, body] =
    [...(await pages())].find(([each]) => parsePageId(each.slice(PREFIX.length))?.isMain) ?? [];
  if (key === undefined || body === undefined) throw new Error('there is no page');
  await tenant.store.put(key, body.with(230, 1 ^ (body[230] ?? 0)), { mode: 'overwrite' });
  const name = `/sessions/${key.slice(PREFIX.length)}`;
  expect((await verifyTree(tenant)).findings).toEqual([{ kind: 'damaged_record', name }]);
  const damaged =
    (await sessions.load(KEY).catch(() => undefined)) === undefined ? KEY : { ...KEY, sessionId: 'other' };
  await expect(sessions.load(damaged)).rejects.toMatchObject({ code: 'integrity' });
  expect(await sessions.list('a-project')).toHaveLength(1);
  expect(client.logged.filter(({ message }) => message === 'a session could not be read')).toHaveLength(1);
  expect(JSON.stringify(client.logged)).not.toContain('a-session');
});

it('a page is refused in the place of another one, also where hashes meet', async () => {
  const { work, tenant, sessions, pages } = await start();
  const ids = [...(await pages()).keys()].map((key) => key.slice(PREFIX.length));
  const [main = '', sub = ''] = ids;
  const record = await readRecord(work, { cls: 'sessions', id: main, maxBytes: 1_000_000 });
  // The bytes of one page at the key of the other one do not open there.
  const bodies = [...(await pages()).values()];
  await tenant.store.put(`${PREFIX}${sub}` as ObjectKey, bodies[0] ?? bytes(''), { mode: 'overwrite' });
  await expect(sessions.load(SUB)).rejects.toMatchObject({ code: 'integrity' });
  // Sealed for that key, it still says whose it is.
  await putRecord(work, 'sessions', sub, record?.content ?? bytes(''));
  await expect(sessions.load(SUB)).rejects.toMatchObject({ code: 'integrity' });
});

it('a page that is malformed is refused', async () => {
  const { work, sessions, pages } = await start();
  const [id = ''] = [...(await pages()).keys()].map((key) => key.slice(PREFIX.length));
  const record = await readRecord(work, { cls: 'sessions', id, maxBytes: 1_000_000 });
  const page = decodePage(record?.content ?? bytes(''));
  const whole = new TextDecoder().decode(encodePage(page));
  for (const content of [
    '',
    'x',
    '{}',
    whole.replace('"first":0', '"first":"0"'),
    whole.replace('"first":0', '"first":0,"summary":1'),
    whole.replace('a-project', ''),
    `${whole}\n`,
    `${whole}\nx`,
  ]) {
    await putRecord(work, 'sessions', id, bytes(content));
    await expect(sessions.load(page.key), content).rejects.toMatchObject({ code: 'integrity' });
  }
});

describeOnBothKinds('a tenant that is shredded', (newSite) => {
  it('has no session any more that could be read', async () => {
    const site = await newSite();
    const { tenant } = await (await site.client()).open();
    const sessions = createSessions(tenant);
    await sessions.append(KEY, [TEXT]);
    await shredTenant(tenant);
    // Longer than a keyring stays in a cache.
    await site.time.pause(3_600_000);
    await expect(sessions.load(KEY)).rejects.toMatchObject({ code: 'key_unavailable' });
  });
});

it('a memory for reading loads and lists, and writes and deletes nothing', async () => {
  const { tenant: session, client } = await start();
  const reader = createSessions({ ...session, readOnly: true });
  client.calls.length = 0;
  expect(await reader.load(KEY)).toEqual([TEXT]);
  await expect(reader.append(KEY, [TEXT])).rejects.toMatchObject({ code: 'read_only' });
  await expect(reader.remove(KEY)).rejects.toMatchObject({ code: 'read_only' });
  expect(client.calls.filter(({ verb }) => verb === 'put' || verb === 'delete')).toEqual([]);
});
