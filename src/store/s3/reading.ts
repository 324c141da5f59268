import { addAbortListener } from 'node:events';
import type { Readable } from 'node:stream';
import {
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
} from '@aws-sdk/client-s3';
import { MemoryError } from '../../errors.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import {
  type DatedMeta,
  type ETag,
  type GetOptions,
  KEYS_PER_REQUEST,
  type ListOptions,
  type ListPage,
  type RequestOptions,
  type StoredObject,
} from '../port.ts';
import type { S3Clients } from './client.ts';
import { s3CodeOf, s3Failure, statusOf } from './errors.ts';
import { newTrace, send, servedAt, type Trace } from './send.ts';

interface ReadingContext {
  readonly clients: S3Clients;
  readonly bucket: string;
  readonly clock: () => number;
}

export async function getFromS3(
  context: ReadingContext,
  key: ObjectKey,
  options: GetOptions = {},
): Promise<StoredObject | 'not_modified' | undefined> {
  const trace = newTrace();
  const { ifNoneMatch } = options;
  const condition = ifNoneMatch === undefined ? {} : { IfNoneMatch: ifNoneMatch };
  const command = new GetObjectCommand({ Bucket: context.bucket, Key: key, ...condition });
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
    if (ifNoneMatch !== undefined && statusOf(error) === 304) return 'not_modified';
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

interface ListingContext {
  readonly clients: S3Clients;
  readonly bucket: string;
  readonly clock: () => number;
}

/** One LIST per page. Keys travel URL-encoded, because XML cannot hold every character. */
export async function* listPages(
  context: ListingContext,
  options: ListOptions,
): AsyncGenerator<ListPage, void, undefined> {
  let token: string | undefined;
  do {
    const trace = newTrace();
    const command = new ListObjectsV2Command({
      Bucket: context.bucket,
      Prefix: options.prefix,
      StartAfter: options.startAfter,
      MaxKeys: Math.min(options.maxKeys ?? KEYS_PER_REQUEST, KEYS_PER_REQUEST),
      EncodingType: 'url',
      ContinuationToken: token,
    });
    let output: ListObjectsV2CommandOutput;
    try {
      output = await send(context.clients.retrying, command, { signal: options.signal, trace });
    } catch (error) {
      throw s3Failure(error);
    }
    // Any page of a proxy or web server parses as a listing of nothing; a real one names its bucket.
    if (output.Name === undefined) throw notAListing();
    yield toPage(output, servedAt(trace, context.clock()));
    token = nextToken(output, token);
  } while (token !== undefined);
}

function toPage(output: ListObjectsV2CommandOutput, at: number): ListPage {
  const decode = output.EncodingType === 'url' ? decodeKey : (text: string): string => text;
  return {
    objects: (output.Contents ?? []).map((entry) => ({
      key: decode(entry.Key ?? '') as ObjectKey,
      etag: parseETag(entry.ETag),
      size: entry.Size ?? 0,
      lastModified: entry.LastModified?.getTime() ?? 0,
    })),
    servedAt: at,
  };
}

function notAListing(): MemoryError {
  return new MemoryError(
    'misconfigured',
    'What answers at the endpoint is no object store: its listing is not one. Check the endpoint.',
  );
}

/** S3 writes a space as `+` and a plus as `%2B`. */
function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw new MemoryError('misconfigured', 'The object store lists keys in an unknown encoding.', { cause });
  }
}

function nextToken(output: ListObjectsV2CommandOutput, last: string | undefined): string | undefined {
  if (output.IsTruncated !== true) return undefined;
  const token = output.NextContinuationToken;
  if (token === undefined || token === '' || token === last) {
    throw new MemoryError('misconfigured', 'The object store cut a listing short and does not continue it.');
  }
  return token;
}

/**
 * The ETag of an answer in its quoted form, the same from every request. Without a strong one, conditions cannot
 * work: `misconfigured`.
 */
export function parseETag(text: string | undefined): ETag {
  const value = text?.match(/^(?:"([^"]+)"|([^"]+))$/);
  const inner = value?.[1] ?? value?.[2];
  if (inner === undefined || inner.startsWith('W/')) {
    throw new MemoryError(
      'misconfigured',
      'The endpoint answers without a usable ETag: it, or a proxy before it, is not fit for conditional writes.',
    );
  }
  return `"${inner}"` as ETag;
}
