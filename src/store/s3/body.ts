import { addAbortListener } from 'node:events';
import type { Readable } from 'node:stream';
import { MemoryError } from '../../errors.ts';

interface BodyOptions {
  /** The length that the answer declares, in bytes. */
  readonly declared?: number | undefined;
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads the whole body, or none of it when it is larger than `maxBytes`: `limit_exceeded`. Its socket is destroyed
 * unless all was read.
 */
export async function readBody(body: Readable, options: BodyOptions = {}): Promise<Uint8Array> {
  const { declared = 0, maxBytes = Number.POSITIVE_INFINITY, signal } = options;
  const listener = signal && addAbortListener(signal, () => body.destroy(aborted(signal)));
  try {
    if (declared > maxBytes) throw tooLarge(declared, maxBytes);
    return await collect(body, maxBytes);
  } catch (error) {
    body.destroy();
    throw error;
  } finally {
    listener?.[Symbol.dispose]();
  }
}

function collect(body: Readable, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    body.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size > maxBytes) reject(tooLarge(size, maxBytes));
      else chunks.push(chunk);
    });
    body.once('end', () => resolve(joined(chunks, size)));
    body.once('error', reject);
    // Behind the end or an error this comes too late to change anything.
    body.once('close', () => reject(brokenOff()));
  });
}

/** Copies the chunks: the parser of HTTP hands out pieces of larger buffers. */
function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function brokenOff(): Error {
  return Object.assign(new Error('The answer broke off.'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });
}

function tooLarge(value: number, max: number): MemoryError {
  return new MemoryError('limit_exceeded', 'The stored object is larger than the caller accepts.', {
    details: { limit: 'object_bytes', value, max },
  });
}

export function aborted(signal: AbortSignal): MemoryError {
  return new MemoryError('aborted', 'The caller cancelled the call.', { cause: signal.reason });
}
