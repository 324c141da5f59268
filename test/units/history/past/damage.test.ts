import { expect, it } from 'vitest';
import { concat, lengthPrefixed } from '../../../../src/format/encoding.ts';
import { NO_ID } from '../../../../src/format/wrap.ts';
import { readHistoryRecord } from '../../../../src/history/past/records.ts';
import {
  encodeHistoryRecord,
  historyRecordId,
  WHOLE_TREE,
} from '../../../../src/history/save/history-record.ts';
import { writeKept } from '../../../../src/history/save/write-kept.ts';
import { listIds } from '../../../../src/tree/records/list-ids.ts';
import { encodeFields } from '../../../../src/tree/records/sealed-record.ts';
import { historyOf, keepingClient } from '../../../stage/history-site.ts';
import { at, bytes, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const [NOTES, OTHER] = ['/memories/notes.md', '/memories/other.md'];

async function start(site: TestSite): Promise<TestClient> {
  const client = await keepingClient(site);
  for (const path of [NOTES, OTHER]) {
    await client.create(path, 'one');
    await client.append(path, ' two');
  }
  return client;
}

/** Writes a record at a path with any content, as only a holder of keys can. */
async function writeRecordAt(client: TestClient, path: string, content: Uint8Array): Promise<void> {
  const work = await client.open();
  const id = historyRecordId(work, { path: at(path), bound: 1n, id: NO_ID });
  await writeKept(work, { cls: 'history', id, content });
}

describeOnBothKinds('a record of the history that says what none may say', (newSite) => {
  it.each([
    ['no record at all', bytes('')],
    ['a kind of a later version', concat(lengthPrefixed(encodeFields({ kind: 'later', at: 1 })), bytes(''))],
    [
      'a time beyond every date',
      concat(lengthPrefixed(encodeFields({ kind: 'deleted', at: 9e15, by: '', files: [] }))),
    ],
  ])('ends nothing: %s', async (_, content) => {
    const client = await start(await newSite());
    const history = historyOf(client);
    for (const path of [NOTES, WHOLE_TREE]) await writeRecordAt(client, path, content);
    for (const path of [undefined, NOTES, OTHER]) {
      const entries = await history.list(path);
      expect(entries.filter(({ kind }) => kind === 'written')).toHaveLength(path === undefined ? 4 : 2);
    }
    const [, first] = await history.list(NOTES, { limit: 2 });
    if (first === undefined) throw new Error('nothing is kept');
    expect((await history.read(first)).text()).toBe('one');
    await history.restore(first);
    expect(await client.text(NOTES)).toBe('one');
    await expect(history.trace({ path: OTHER })).resolves.toMatchObject({
      untold: [{ kind: 'unnamed' }, { kind: 'damaged', count: 2 }],
    });
    expect(await history.undo({ writer: 'nobody', dryRun: true })).toMatchObject({ changes: [] });
  });
});

describeOnBothKinds('an id that two texts bear', (newSite) => {
  it('has none of them read or restored', async () => {
    const client = await start(await newSite());
    const history = historyOf(client);
    const [, first] = await history.list(NOTES);
    const work = await client.open();
    for (const { id } of await listIds(work, 'history')) {
      const record = await readHistoryRecord(work, id);
      if (record?.kind !== 'replaced' || record.version.path !== NOTES) continue;
      const version = { ...record.version, bound: record.version.bound + 1n };
      const content = encodeHistoryRecord({ ...record, version, text: bytes('eno') });
      await writeKept(work, { cls: 'history', id: historyRecordId(work, version), content });
    }
    if (first === undefined) throw new Error('nothing is kept');
    await expect(history.read(first)).rejects.toMatchObject({ code: 'integrity' });
    await expect(history.restore(first)).rejects.toMatchObject({ code: 'integrity' });
    expect((await history.list(NOTES)).map(({ version }) => version)).toContain(first.version);
  });
});
