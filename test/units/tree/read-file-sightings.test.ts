import { expect, it } from 'vitest';
import { fileKey } from '../../../src/format/object-keys.ts';
import { readFile } from '../../../src/tree/read-file.ts';
import { readRecord, writeRecord } from '../../../src/tree/records/sealed-record.ts';
import { at, createSite, type TestClient, type TestSite } from '../../stage/test-tree.ts';

const PATH = at('/memories/a.md');
const putBack = { code: 'integrity', details: { reason: 'put_back' } };

/** The file as it lies in the store, to be put back, or taken away, past every process. */
async function stored(site: TestSite, client: TestClient) {
  const {
    tenant: { layout },
    keyring,
  } = await client.open();
  const key = fileKey(layout, keyring.names, PATH);
  const found = await site.base.get(key);
  if (typeof found !== 'object') throw new Error('there is no file');
  const { body, etag } = found;
  return {
    remove: () => site.base.delete([{ key, ifMatch: etag }]),
    putBack: () => site.base.put(key, body, { mode: 'overwrite' }),
    replace: (by: (body: Uint8Array) => Uint8Array) => site.base.put(key, by(body), { mode: 'overwrite' }),
  };
}

it('a read that finds nothing tells the sightings, which then refuse what was there', async () => {
  const site = await createSite();
  const [client, reader] = [await site.client(), await site.client()];
  await client.create('/memories/a.md', 'text');
  const work = await reader.open();
  expect(await readFile(work, PATH)).toBeDefined();
  const file = await stored(site, client);
  await file.remove();
  expect(await readFile(work, PATH)).toBeUndefined();
  await file.putBack();
  await expect(readFile(work, PATH)).rejects.toMatchObject(putBack);
});

it('a read that finds another version tells the sightings, which then refuse the earlier one', async () => {
  const site = await createSite();
  const [client, reader] = [await site.client(), await site.client()];
  await client.create('/memories/a.md', 'text');
  const file = await stored(site, client);
  const work = await reader.open();
  await readFile(work, PATH);
  await client.append('/memories/a.md', '!');
  await readFile(work, PATH);
  await file.putBack();
  await expect(readFile(work, PATH)).rejects.toMatchObject(putBack);
});

it('a read that is refused tells the sightings nothing, so that what was there may be there again', async () => {
  const site = await createSite();
  const client = await site.client();
  await client.create('/memories/a.md', 'text');
  const work = await client.open();
  await readFile(work, PATH);
  const file = await stored(site, client);
  await file.replace((body) => body.map((byte) => byte ^ 1));
  await expect(readFile(work, PATH)).rejects.toMatchObject({ code: 'integrity' });
  await file.putBack();
  expect(await readFile(work, PATH)).toBeDefined();
});

it('a read counts from before its request: what was written during it is no old version', async () => {
  const site = await createSite();
  const [client, reader] = [await site.client(), await site.client()];
  await client.create('/memories/a.md', 'text');
  const work = await reader.open();
  await readFile(work, PATH);
  let first = true;
  reader.intercept(async (call, proceed) => {
    const answer = await proceed();
    if (call.verb !== 'get' || !first) return answer;
    first = false;
    await client.append('/memories/a.md', '!');
    await readFile(work, PATH);
    return answer;
  });
  // Its answer was true when it was given, though a later read has come back before it.
  expect(await readFile(work, PATH)).toBeDefined();
});

it('a read is cancelled with its caller', async () => {
  const site = await createSite();
  const client = await site.client();
  await client.create('/memories/a.md', 'text');
  const work = await client.open(AbortSignal.abort());
  await expect(readFile(work, PATH)).rejects.toMatchObject({ code: 'aborted' });
});

it('a record is as old as the server says, whatever the clock of the process says', async () => {
  const site = await createSite();
  const client = await site.client({ clock: () => 0 });
  const work = await client.open();
  const record = { cls: 'journal', id: 'test' } as const;
  await writeRecord(work, record, { content: new Uint8Array(8), base: undefined });
  await site.time.pause(5_000);
  expect(await readRecord(work, { ...record, maxBytes: 8 })).toMatchObject({ ageMs: 5_000 });
  await expect(readRecord(work, { ...record, maxBytes: 7 })).rejects.toMatchObject({
    code: 'limit_exceeded',
  });
});
