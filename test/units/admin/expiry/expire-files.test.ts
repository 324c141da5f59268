import { describe, expect, it } from 'vitest';
import { MOST_MARKS, readMarks, writeMarks } from '../../../../src/admin/expiry/expire-files.ts';
import type { ETag } from '../../../../src/store/port.ts';
import { encodeFields } from '../../../../src/tree/records/sealed-record.ts';
import { putRecord } from '../../../stage/key-operator.ts';
import { createSite } from '../../../stage/test-tree.ts';

describe('marks', () => {
  it.each([
    {},
    { marks: 'x' },
    { marks: [1] },
    { marks: [[1, 'e', 1]] },
    { marks: [['f', 1, 1]] },
    { marks: [['f', 'e', '1']] },
    { marks: [[`${'f'.repeat(42)}A`, 'e', 1, 1]] },
  ])('that are malformed are refused: %j', async (fields) => {
    const work = await (await (await createSite()).client()).open();
    await putRecord(work, 'journal', 'expiry', encodeFields(fields));
    await expect(readMarks(work)).rejects.toMatchObject({ code: 'integrity' });
  });

  it('are read as they were written, twenty thousand at most', async () => {
    const work = await (await (await createSite()).client()).open();
    const mark = (n: number) =>
      [`${`${n}`.padStart(42, 'f')}A`, { etag: `"${n}"` as ETag, since: n }] as const;
    const marks = new Map(Array.from({ length: MOST_MARKS + 1 }, (_, n) => mark(n)));
    await writeMarks(work, marks, undefined);
    const stored = await readMarks(work);
    expect(MOST_MARKS).toBe(20_000);
    expect([...stored.marks]).toEqual([...marks].slice(0, MOST_MARKS));
  });

  it('are not written over those of another run', async () => {
    const work = await (await (await createSite()).client()).open();
    await writeMarks(work, new Map(), undefined);
    const { etag } = await readMarks(work);
    await writeMarks(work, new Map(), etag);
    for (const base of [undefined, etag]) {
      await expect(writeMarks(work, new Map(), base)).rejects.toMatchObject({ code: 'unavailable' });
    }
  });
});
