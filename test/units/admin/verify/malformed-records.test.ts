import { describe, expect, it } from 'vitest';
import { expireTree } from '../../../../src/admin/expiry/expire.ts';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { toBase64url } from '../../../../src/format/encoding.ts';
import { classLogicalName, type ObjectClass, type ObjectKey } from '../../../../src/format/object-keys.ts';
import { encodeFields } from '../../../../src/tree/records/sealed-record.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { historyOf, keepingClient } from '../../../stage/history-site.ts';
import { putRecord } from '../../../stage/key-operator.ts';
import { createSite } from '../../../stage/test-tree.ts';

const HASH = toBase64url(new Uint8Array(32).fill(9));
const RUN = HASH.slice(0, 22);

/** Ids of every kind of record that a verification judges, and which healthy tenants have. */
const IDS: readonly (readonly [cls: ObjectClass, id: string])[] = [
  ['history', `${HASH}_01234567890_abcdefgh`],
  ['actors', HASH],
  ['answers', HASH],
  ['receipts', HASH],
  ['journal', 'expiry'],
  ['journal', 'swept'],
  ['journal', 'history'],
  ['sessions', `${HASH.slice(0, 38)}m00000000`],
  ['sessions', `${HASH.slice(0, 38)}s${HASH.slice(0, 16)}00000000`],
  ['conversations', `h${HASH}`],
  ['conversations', `b${HASH}${HASH.slice(0, 16)}`],
  ['conversations', `p${HASH}`],
  ['checkpoints', 'c000000000001'],
  ['checkpoints', `p${RUN}_000000`],
];
/** No text, and so no JSON. */
const MALFORMED = Uint8Array.of(0xff);

/** A file with two versions, and a malformed record beside it. */
async function openBeside(cls: ObjectClass, id: string) {
  const client = await keepingClient(await createSite());
  await client.create('/memories/a', 'first');
  await client.append('/memories/a', ' second');
  await client.append('/memories/a', ' third');
  await putRecord(await client.open(), cls, id, MALFORMED);
  return { client, history: historyOf(client) };
}

describe.each(IDS)('a malformed record /%s/%s', (cls, id) => {
  it('is named by a verification', async () => {
    const { client } = await openBeside(cls, id);
    const { findings } = await verifyTree(client.tenant);
    expect(findings).toMatchObject([{ name: classLogicalName(cls, id) }]);
    expect(['damaged_record', 'history']).toContain(findings[0]?.kind);
  });

  it('ends nothing that is asked of the history of another file', async () => {
    const { client, history } = await openBeside(cls, id);
    const all = await history.list();
    const log = await history.list('/memories/a');
    expect([all.length, log.length]).toEqual([3, 3]);
    const [third, second] = log;
    if (third === undefined || second === undefined) throw new Error('versions are missing');
    await history.restore(second);
    expect(await client.text('/memories/a')).toBe('first second');
    // Nobody knows then of which file a record of the history tells, and only a caller who asks for a part gets it.
    await history.restoreAt(second.time, { partial: cls === 'history' });
    expect(await client.text('/memories/a')).toBe('first');
    expect((await history.trace({ path: '/memories/a' })).versions.length).toBeGreaterThan(0);
    expect(await history.redact(third)).toMatchObject({ path: '/memories/a' });
  });

  // Without the marks nobody knows which files were found unused before.
  it(`${id === 'expiry' ? 'ends' : 'does not end'} a run of expiry`, async () => {
    const { client } = await openBeside(cls, id);
    const run = expireTree(client.tenant, { afterDays: 30, historyDays: 30 });
    if (id === 'expiry') await expect(run).rejects.toMatchObject({ code: 'integrity' });
    else expect(await run).toMatchObject({ files: 1, deleted: 0 });
  });
});

/** Grammars of the journal that a writer with keys broke: none is acted upon. */
const JOURNAL = {
  history: [{}, { expiredBefore: -1 }, { expiredBefore: 8.64e15 + 1 }, { expiredBefore: '1' }],
  expiry: [{}, { marks: [[HASH, '"e"', -1]] }, { marks: [['/memories/a', '"e"', 0]] }, { marks: {} }],
  register: [
    {},
    { ...rename(), phase: 'ended' },
    { ...rename(), id: 'short' },
    { ...rename(), from: '/elsewhere' },
    { ...rename(), to: '/memories/..' },
    { ...rename(), by: null },
  ],
} as const;

function rename() {
  return { phase: 'moving', id: RUN, from: '/memories/a', to: '/memories/b', owner: 'o' };
}

describe.each(Object.entries(JOURNAL))('a journal/%s that says what none may say', (id, malformed) => {
  it.each(malformed.map((fields) => [JSON.stringify(fields), fields] as const))(
    'as %s is a finding, and nothing expires or ends by it',
    async (_, fields) => {
      const site = await createSite();
      const client = await keepingClient(site);
      await client.create('/memories/a/file', 'first');
      await client.append('/memories/a/file', ' second');
      const work = await client.open();
      await putRecord(work, 'journal', id, encodeFields(fields));
      const record = id === 'register' ? { kind: 'register' } : { name: `/journal/${id}` };
      await site.time.pause(40 * 86_400_000);
      const before = await keysOf(work);
      const expired = expireTree(client.tenant, { afterDays: 30, historyDays: 30 });
      await expect(expired).rejects.toMatchObject({ code: 'integrity' });
      const { findings } = await verifyTree(client.tenant, { repair: true });
      expect(findings).toEqual([expect.objectContaining(record)]);
      expect(await keysOf(work)).toEqual(expect.arrayContaining(before));
    },
  );
});

async function keysOf({ tenant }: Work): Promise<ObjectKey[]> {
  const keys: ObjectKey[] = [];
  for await (const { objects } of tenant.store.list({ prefix: tenant.layout.tenantPrefix }))
    for (const { key } of objects) keys.push(key);
  return keys;
}
