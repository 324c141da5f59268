import { addAbortListener } from 'node:events';
import type { Readable } from 'node:stream';
import { GetObjectCommand, type GetObjectCommandOutput, HeadObjectCommand } from '@aws-sdk/client-s3';
import { MemoryError } from '../../errors.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import type { DatedMeta, GetOptions, RequestOptions, StoredObject } from '../port.ts';
import type { S3Clients } from './client.ts';
import { s3CodeOf, s3Failure, statusOf } from './errors.ts';
import { parseETag } from './etag.ts';
import { newTrace, send, servedAt, type Trace } from './send.ts';

export interface ReadingContext {
  readonly clients: S3Clients;
  readonly bucket: string;
  readonly clock: () => number;
}

export async function getFromS3(
  context: ReadingContext,
  key: ObjectKey,
  options: GetOptions = {},
): Promise<StoredObject | undefined> {
  const trace = newTrace();
  const command = new GetObjectCommand({ Bucket: context.bucket, Key: key });
  try {
    const output = await send(context.clients.retrying, command, { signal: options.signal, trace });
    const body = await readBody(output, trace, options);
    return {
      body,
      etag: parseETag(output.ETag),
      size: body.length,
      lastModified: output.LastModified?.getTime() ?? 0,
      servedAt: servedAt(trace, context.clock()),
    };
  } catch (error) {
    if (s3CodeOf(error) === 'NoSuchKey') return undefined;
    throw options.signal?.aborted ? aborted(options.signal) : s3Failure(error);
  }
}

export async function headFromS3(
  context: ReadingContext,
  key: ObjectKey,
  options: RequestOptions = {},
): Promise<DatedMeta | undefined> {
  const trace = newTrace();
  const command = new HeadObjectCommand({ Bucket: context.bucket, Key: key });
  try {
    const output = await send(context.clients.retrying, command, { signal: options.signal, trace });
    return {
      etag: parseETag(output.ETag),
      size: output.ContentLength ?? 0,
      lastModified: output.LastModified?.getTime() ?? 0,
      servedAt: servedAt(trace, context.clock()),
    };
  } catch (error) {
    // An answer to HEAD has no body that could tell a missing object from a missing bucket.
    if (statusOf(error) === 404) return undefined;
    throw s3Failure(error);
  }
}

/** Reads the whole body, or none of it when it is too large. Its socket is destroyed unless all was read. */
async function readBody(
  output: GetObjectCommandOutput,
  trace: Trace,
  options: GetOptions,
): Promise<Uint8Array> {
  const { maxBytes = Number.POSITIVE_INFINITY, signal } = options;
  const wire = trace.answer?.body;
  const chunks: Uint8Array[] = [];
  let size = output.ContentLength ?? 0;
  const listener = signal && addAbortListener(signal, () => wire?.destroy(aborted(signal)));
  try {
    if (size > maxBytes) throw tooLarge(size, maxBytes);
    size = 0;
    for await (const chunk of output.Body as Readable) {
      size += (chunk as Uint8Array).length;
      if (size > maxBytes) throw tooLarge(size, maxBytes);
      chunks.push(chunk as Uint8Array);
    }
  } catch (error) {
    wire?.destroy();
    throw error;
  } finally {
    listener?.[Symbol.dispose]();
  }
  const body = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

function tooLarge(value: number, max: number): MemoryError {
  return new MemoryError('limit_exceeded', 'The stored object is larger than the caller accepts.', {
    details: { limit: 'object_bytes', value, max },
  });
}

function aborted(signal: AbortSignal): MemoryError {
  return new MemoryError('aborted', 'The caller cancelled the call.', { cause: signal.reason });
}
