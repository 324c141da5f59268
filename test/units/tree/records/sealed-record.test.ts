import { describe, expect, it } from 'vitest';
import { open } from '../../../../src/format/object.ts';
import { classKey, classLogicalName } from '../../../../src/format/object-keys.ts';
import type { ETag } from '../../../../src/store/port.ts';
import {
  decodeFields,
  encodeFields,
  holdRecord,
  openRecord,
  parseFields,
  readRecord,
  recallRecord,
  recordWrite,
  sealRecord,
  writeRecord,
} from '../../../../src/tree/records/sealed-record.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { bytes, createSite } from '../../../stage/test-tree.ts';

const NOTE = { cls: 'journal', id: 'note' } as const;
const OTHER = { cls: 'journal', id: 'other' } as const;
const CONTENT = bytes('content');

async function start() {
  const site = await createSite();
  const client = await site.client();
  const work = await client.open();
  client.calls.length = 0;
  return { ...site, client, work };
}

async function write(work: Work, name: typeof NOTE | typeof OTHER = NOTE): Promise<ETag> {
  const written = await writeRecord(work, name, { content: CONTENT, base: undefined });
  if ('conflict' in written) throw new Error('the record is there');
  return written.etag;
}

describe('a record', () => {
  it('is read by one GET, with its version, its age and the time of its writer', async () => {
    const { client, work, time } = await start();
    const mtime = time.clock();
    const etag = await write(work);
    client.calls.length = 0;
    await time.pause(1_500);
    const record = await readRecord(work, { ...NOTE, maxBytes: CONTENT.length });
    expect(record).toMatchObject({ content: CONTENT, etag, ageMs: 1_500, mtime });
    expect(client.calls).toMatchObject([{ verb: 'get', key: classKey(client.layout, NOTE.cls, NOTE.id) }]);
    expect(await openRecord(work, NOTE, record?.body ?? CONTENT)).toMatchObject({ content: CONTENT, mtime });
  });

  it('that is missing is none, and one beyond the bytes of its reader is refused', async () => {
    const { work } = await start();
    expect(await readRecord(work, { ...NOTE, maxBytes: 1 })).toBeUndefined();
    await write(work);
    const small = readRecord(work, { ...NOTE, maxBytes: CONTENT.length - 1 });
    await expect(small).rejects.toMatchObject({ code: 'limit_exceeded' });
  });

  it('is recalled without a request, as the version that was held, and no other', async () => {
    const { client, work } = await start();
    const etag = await write(work);
    const record = await readRecord(work, { ...NOTE, maxBytes: 100 });
    if (record === undefined) throw new Error('there is no record');
    client.calls.length = 0;
    expect(recallRecord(work, NOTE, etag)).toBeUndefined();
    holdRecord(work, NOTE, record);
    expect(recallRecord(work, NOTE, etag)).toEqual(CONTENT);
    expect(recallRecord(work, NOTE, 'another' as ETag)).toBeUndefined();
    expect(recallRecord(work, OTHER, etag)).toBeUndefined();
    expect(client.calls).toEqual([]);
  });

  it('is not recalled where its bytes do not open under its name', async () => {
    const { work } = await start();
    const etag = await write(work, OTHER);
    const record = await readRecord(work, { ...OTHER, maxBytes: 100 });
    if (record === undefined) throw new Error('there is no record');
    holdRecord(work, NOTE, record);
    expect(recallRecord(work, NOTE, etag)).toBeUndefined();
  });

  it('is created, or replaces the version that its writer knows', async () => {
    const { client, work } = await start();
    const first = await write(work);
    expect(await writeRecord(work, NOTE, { content: CONTENT, base: undefined })).toEqual({
      conflict: 'exists',
    });
    expect(await writeRecord(work, NOTE, { content: bytes('2'), base: 'another' as ETag })).toEqual({
      conflict: 'changed',
    });
    expect(await writeRecord(work, NOTE, { content: bytes('2'), base: first })).toHaveProperty('etag');
    expect(client.calls.flatMap((call) => (call.verb === 'put' ? [call.mode] : []))).toEqual([
      'create',
      'create',
      { ifMatch: 'another' },
      { ifMatch: first },
    ]);
    expect((await readRecord(work, { ...NOTE, maxBytes: 100 }))?.content).toEqual(bytes('2'));
  });

  it('is not sent where the check before it throws, which is made at each sealing', async () => {
    const { client, work } = await start();
    let checks = 0;
    const check = (): void => {
      if (++checks > 1) throw new Error('no more');
    };
    const prepared = recordWrite(work, NOTE, { content: CONTENT, base: undefined, check });
    const stamp = { clock: work.tenant.clock(), after: undefined };
    const name = classLogicalName(NOTE.cls, NOTE.id);
    expect(open({ keys: work.keyring.keys, name, object: prepared.seal(stamp) }).content).toEqual(CONTENT);
    expect(() => prepared.seal(stamp)).toThrow('no more');
    await expect(writeRecord(work, NOTE, { content: CONTENT, base: undefined, check })).rejects.toThrow(
      'no more',
    );
    expect(client.calls).toEqual([]);
  });

  it('is sealed for another place without a request, and opens under its own name alone', async () => {
    const { client, work, time } = await start();
    const body = sealRecord(work, NOTE, CONTENT);
    const mtime = time.clock();
    expect(await openRecord(work, NOTE, body)).toMatchObject({ content: CONTENT, mtime });
    await expect(openRecord(work, OTHER, body)).rejects.toMatchObject({ code: 'integrity' });
    expect(client.calls.filter(({ verb }) => verb === 'put')).toEqual([]);
  });
});

it.each([
  ['{"a":1}', { a: 1 }],
  ['{}', {}],
  ['[]', undefined],
  ['null', undefined],
  ['7', undefined],
  ['', undefined],
  ['{', undefined],
])('the text %j has the fields %j', (text, fields) => {
  expect(parseFields(text)).toEqual(fields);
});

it('the content of a record is one JSON object', () => {
  const fields = { text: 'ä', list: [1, null], nested: {} };
  expect(decodeFields(encodeFields(fields))).toEqual(fields);
  expect(decodeFields(bytes('{}'))).toEqual({});
});

it.each(['', 'null', '[]', '[{}]', '"text"', '1', 'true', '{', '{} {}'])(
  'the content of a record is never %j',
  (text) => {
    expect(decodeFields(bytes(text))).toBeUndefined();
  },
);

it('the content of a record is UTF-8', () => {
  expect(decodeFields(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d))).toBeUndefined();
});
