import { describe, expect, it } from 'vitest';
import { parseLine } from '../../../../src/admin/checkpoints/checkpoint-record.ts';
import { readCheckpoint } from '../../../../src/admin/checkpoints/read-checkpoint.ts';
import { createNames } from '../../../../src/format/names.ts';
import { writeRecord } from '../../../../src/tree/records/sealed-record.ts';
import { added, fromHex, input } from '../../../format/format-vectors.ts';
import { createSite } from '../../../stage/test-tree.ts';

const { checkpoints, textHashes } = added;

/** Answers what a process reads of these records, in a tenant of their own, against the line. */
async function read({ records, line }: (typeof checkpoints.refuse)[number]) {
  const work = await (await (await createSite()).client()).open();
  for (const [id, content] of Object.entries(records)) {
    await writeRecord(work, { cls: 'checkpoints', id }, { content: fromHex(content), base: undefined });
  }
  return readCheckpoint(work, parseLine(line));
}

describe('the vectors of checkpoints', () => {
  it.each(checkpoints.accept)('are read against their line: $what', async (vector) => {
    const found = await read(vector);
    if (typeof found === 'string') throw new Error(found);
    const { number, files, began, ended, epoch, keepsHistory } = found.head;
    expect(JSON.stringify([number, files, began, ended, epoch, keepsHistory])).toBe(vector.facts);
    expect(`${number}:${found.root}`).toBe(vector.line);
    expect(found.entries).toHaveLength(files);
  });

  it.each(checkpoints.refuse)('are none of that line: $what', async (vector) => {
    expect(['missing', 'other', 'damaged']).toContain(await read(vector));
  });

  it('name texts by their keyed hashes', () => {
    const names = createNames({ mode: 'encrypted', nameKey: input('NK') });
    for (const { content, hash } of textHashes) expect(names.textHash(fromHex(content))).toBe(hash);
  });
});
