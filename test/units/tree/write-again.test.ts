import { expect, it } from 'vitest';
import { fileKey, logicalName } from '../../../src/format/object-keys.ts';
import { readFile } from '../../../src/tree/read-file.ts';
import { writeAgain } from '../../../src/tree/write-again.ts';
import { createOperator } from '../../stage/key-operator.ts';
import { at, openSite } from '../../stage/test-tree.ts';

const PATH = at('/memories/a');

it.each([
  ['kept', 1],
  ['renewed', 2],
] as const)(
  'an object that is written again is bound to the active key: its data key is %s',
  async (dataKey, drawn) => {
    const site = await openSite();
    const client = await site.client();
    await client.create(PATH, 'text');
    await (await createOperator(site)).rotate();
    const work = await (await site.client()).open();
    const version = await readFile(work, PATH);
    if (version === undefined) throw new Error('there is no file');
    const place = { key: fileKey(work.tenant.layout, work.keyring.names, PATH), name: logicalName(PATH) };
    const request = { ...place, base: version.stored.etag, dataKey };
    const etag = await writeAgain(work, version, request);
    const { id, content, origin } = version;
    expect(await readFile(work, PATH)).toMatchObject({
      id,
      content,
      origin,
      drawnUnder: drawn,
      stored: { etag },
    });
    expect(await writeAgain(work, version, request)).toBeUndefined();
  },
);
