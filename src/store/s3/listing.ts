import { ListObjectsV2Command, type ListObjectsV2CommandOutput } from '@aws-sdk/client-s3';
import { MemoryError } from '../../errors.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import { KEYS_PER_REQUEST, type ListOptions, type ListPage } from '../port.ts';
import type { S3Clients } from './client.ts';
import { s3Failure } from './errors.ts';
import { parseETag } from './etag.ts';
import { newTrace, send, servedAt } from './send.ts';

export interface ListingContext {
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
