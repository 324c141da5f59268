import { beforeAll, describe, expect, it } from 'vitest';
import { createNames, type Names } from '../../../src/format/names.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { readActors } from '../../../src/history/save/actors.ts';
import {
  decodeHistoryRecord,
  encodeHistoryRecord,
  type HistoryRecord,
  historyRecordId,
  type WrapFacts,
} from '../../../src/history/save/history-record.ts';
import { writeRecord } from '../../../src/tree/records/sealed-record.ts';
import type { EndedFile } from '../../../src/tree/tenant.ts';
import { added, fromHex, input, toHex } from '../../format/format-vectors.ts';
import { createSite } from '../../stage/test-tree.ts';

const { historyRecords, actorRecords } = added;

function flatVersion({ id, previous, writer, bound, ...rest }: WrapFacts) {
  return {
    ...rest,
    bound: String(bound),
    id: toHex(id),
    previous: toHex(previous),
    writer: toHex(writer),
  };
}

const flatFiles = (files: readonly EndedFile[]) =>
  files.map(([path, id, bound]) => [path, toHex(id), String(bound)]);

/** As the vectors tell of a record. */
function flat(record: HistoryRecord): Readonly<Record<string, unknown>> {
  const noted = { kind: record.kind, at: record.at, by: toHex(record.by) };
  switch (record.kind) {
    case 'replaced':
      return {
        ...noted,
        ...flatVersion(record.version),
        ...(record.for && { for: record.for }),
        text: toHex(record.text),
      };
    case 'redacted':
      return { ...noted, ...flatVersion(record.version) };
    case 'deleted':
      return { ...noted, files: flatFiles(record.files) };
    case 'moved':
      return { ...noted, from: record.from, to: record.to, files: flatFiles(record.files) };
  }
}

function decoded(content: string): HistoryRecord {
  const record = decodeHistoryRecord(fromHex(content));
  if (record === undefined) throw new Error('the record of a vector was not read');
  return record;
}

describe('the vectors of records of history', () => {
  let names: Names;
  beforeAll(async () => {
    await loadSodium();
    names = createNames({ mode: 'encrypted', nameKey: input('NK') });
  });

  it('are of every kind', () => {
    const kinds = new Set(historyRecords.accept.map(({ record }) => record['kind']));
    expect([...kinds].sort()).toEqual(['deleted', 'moved', 'redacted', 'replaced']);
    expect(historyRecords.refuse.length).toBeGreaterThan(150);
  });

  it.each(historyRecords.accept)('are read, and read again when they were written: $what', (vector) => {
    const record = decoded(vector.content);
    expect(flat(record)).toEqual(vector.record);
    expect(decodeHistoryRecord(encodeHistoryRecord(record))).toEqual(record);
  });

  it('have the ids that versions have', () => {
    const versions = historyRecords.accept.flatMap(({ content, id }) =>
      id === undefined ? [] : [{ record: decoded(content), id }],
    );
    expect(versions.length).toBeGreaterThan(5);
    for (const { record, id } of versions) {
      if (!('version' in record)) throw new Error('an id stands with a record of no version');
      const { path, bound, id: versionId } = record.version;
      expect(historyRecordId({ keyring: { names } } as never, { path, bound, id: versionId })).toBe(id);
    }
  });

  it('are taken for none where they are malformed', () => {
    const read = historyRecords.refuse.filter(({ content }) => decodeHistoryRecord(fromHex(content)));
    expect(read.map(({ what }) => what)).toEqual([]);
  });
});

describe('the vectors of records of actors', () => {
  it('are read, and taken for none where they are malformed', async () => {
    const client = await (await createSite()).client();
    const work = await client.open();
    const contents = [...actorRecords.accept.map(({ content }) => content), ...actorRecords.refuse];
    for (const [index, content] of contents.entries()) {
      const record = { cls: 'actors', id: `record-${index}` } as const;
      await writeRecord(work, record, { content: fromHex(content), base: undefined });
    }
    const actors = await readActors(work);
    expect([...actors.values()].sort()).toEqual(actorRecords.accept.map(({ actor }) => actor).sort());
  });
});
