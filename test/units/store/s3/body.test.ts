import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readBody } from '../../../../src/store/s3/body.ts';

describe('the body of an answer', () => {
  it('is what arrived up to its end', async () => {
    expect(await readBody(Readable.from([Uint8Array.of(1, 2), Uint8Array.of(3)]))).toEqual(
      Uint8Array.of(1, 2, 3),
    );
  });

  it('is none where it closes before its end, with or without a part of it', async () => {
    for (const part of [[], [Uint8Array.of(1)]]) {
      const body = new Readable({ read: () => {} });
      for (const bytes of part) body.push(bytes);
      const reading = readBody(body);
      body.once('data', () => body.destroy());
      if (part.length === 0) body.destroy();
      await expect(reading).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
    }
  });
});
