import { getEventListeners } from 'node:events';
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

  it.each([
    ['which it declares', { declared: 4, maxBytes: 3 }, 4],
    ['which it does not', { maxBytes: 2 }, 3],
  ])('is none where it is larger than its caller accepts, %s', async (_, options, value) => {
    const body = Readable.from([Uint8Array.of(1, 2), Uint8Array.of(3)]);
    await expect(readBody(body, options)).rejects.toMatchObject({
      code: 'limit_exceeded',
      details: { limit: 'object_bytes', value, max: options.maxBytes },
    });
    expect(body.destroyed).toBe(true);
  });

  it('is read where it is as large as its caller accepts', async () => {
    const body = Readable.from([Uint8Array.of(1, 2), Uint8Array.of(3)]);
    expect(await readBody(body, { declared: 3, maxBytes: 3 })).toEqual(Uint8Array.of(1, 2, 3));
  });

  it('ends with its caller, and listens to it no longer than it is read', async () => {
    const call = new AbortController();
    await readBody(Readable.from([Uint8Array.of(1)]), { signal: call.signal });
    expect(getEventListeners(call.signal, 'abort')).toEqual([]);
    const body = new Readable({ read: () => {} });
    const reading = readBody(body, { signal: call.signal });
    call.abort(new Error('enough'));
    await expect(reading).rejects.toMatchObject({ code: 'aborted', cause: { message: 'enough' } });
    expect(body.destroyed).toBe(true);
  });

  it('is none where reading it fails', async () => {
    const body = new Readable({ read: () => {} });
    const reading = readBody(body);
    const error = new Error('no');
    body.destroy(error);
    await expect(reading).rejects.toBe(error);
  });
});
