import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { fileKey } from '../../../../src/format/object-keys.ts';
import { sealedSize } from '../../../../src/format/sizes.ts';
import { createFile } from '../../../../src/tree/create-file.ts';
import { headSized, readSized } from '../../../../src/tree/staying/staying.ts';
import { atFirst, countCalls } from '../../../stage/store-wrappers.ts';
import { at, bytes, describeOnBothKinds } from '../../../stage/test-tree.ts';

const PATH = at('/memories/a');

describeOnBothKinds('a file that another process has put there', (newSite) => {
  it.each([
    [0, { head: 1, list: 1 }],
    [59_999, { head: 1, list: 1 }],
    [60_000, { head: 1, list: 1 }],
    [60_001, { head: 1 }],
  ])('is looked around for where it is %i ms old: %o', async (age, requests) => {
    const site = await newSite();
    await createFile(await (await site.client()).open(), PATH, bytes('text'));
    const client = await site.client();
    const work = await client.open();
    await site.time.pause(age);
    client.calls.length = 0;
    expect(await headSized(work, PATH)).toBeDefined();
    expect(countCalls(client.calls)).toEqual(requests);
  });

  it('is replaced as it was read, unread where it cannot be opened, and not where it cannot be reached', async () => {
    const client = await (await newSite()).client();
    const etag = await client.tree.create(PATH, bytes('text'));
    const work = await client.open();
    const key = fileKey(work.tenant.layout, work.keyring.names, PATH);
    expect(await readSized(work, PATH)).toMatchObject({ etag, size: 4, version: { content: bytes('text') } });
    expect(await readSized(work, at('/memories/none'))).toBeUndefined();
    const damaged = await work.tenant.store.put(key, new Uint8Array(sealedSize(7)), { mode: 'overwrite' });
    expect(await readSized(work, PATH)).toEqual({ etag: 'etag' in damaged && damaged.etag, size: 7 });
    client.intercept(atFirst('get', () => Promise.reject(new MemoryError('unavailable', 'down'))));
    await expect(readSized(work, PATH)).rejects.toMatchObject({ code: 'unavailable' });
  });
});
