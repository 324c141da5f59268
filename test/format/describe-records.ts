import { describe, expect, it } from 'vitest';
import { hasCode } from '../../src/errors.ts';
import { added, fromHex } from './format-vectors.ts';

/**
 * Reads the content of a record by src, and answers it as the vectors tell it; undefined, or a failure, for what is malformed.
 */
export type RecordReader = (content: Uint8Array) => unknown;

/** Declares the suite of the vectors of one kind of record. */
export function describeRecords(kind: string, reader: RecordReader): void {
  const vectors = added.records.find((of) => of.kind === kind);
  const read = async (content: string): Promise<unknown> => reader(fromHex(content));

  describe(`the vectors of records ${kind}`, () => {
    it('are read', async () => {
      for (const { content, record } of vectors?.accept ?? []) {
        const found = expect(await read(content), content);
        // Members that the vector leaves out may be there as well.
        if (typeof record === 'object') found.toMatchObject(record ?? {});
        else found.toBe(record);
      }
      expect(vectors?.accept).not.toHaveLength(0);
    });

    it('are refused as damaged where they are malformed', async () => {
      for (const content of vectors?.refuse ?? []) {
        const found = await read(content).catch((error: unknown) => {
          if (!hasCode(error, 'integrity')) throw error;
        });
        expect(found, Buffer.from(content, 'hex').toString()).toBeUndefined();
      }
      expect(vectors?.refuse).not.toHaveLength(0);
    });
  });
}
