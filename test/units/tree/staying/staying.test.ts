import { expect, it } from 'vitest';
import { createFile } from '../../../../src/tree/create-file.ts';
import { headSized } from '../../../../src/tree/staying/staying.ts';
import { countCalls } from '../../../stage/store-wrappers.ts';
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
});
