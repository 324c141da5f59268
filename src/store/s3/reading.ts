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
import { newTrace, servedAt } from './attempts.ts';
import { aborted } from './body.ts';
import { s3CodeOf, s3Failure, statusOf } from './errors.ts';
import type { AnsweredPage, S3Wire } from './wire.ts';

interface ReadingContext {
  readonly wire: S3Wire;
  readonly clock: () => number;
}

export async function getFromS3(
  context: ReadingContext,
  key: ObjectKey,
  options: GetOptions = {},
): Promise<StoredObject | 'not_modified' | undefined> {
  const trace = newTrace();
  const { signal, maxBytes, ifNoneMatch } = options;
  try {
    const call = { signal, maxBytes, ifNoneMatch, trace };
    const { body, etag, lastModified } = await context.wire.get(key, call);
    return {
      body,
      etag: parseETag(etag),
      size: body.length,
      lastModified: lastModified?.getTime() ?? 0,
      servedAt: servedAt(trace, context.clock()),
    };
  } catch (error) {
    if (s3CodeOf(error) === 'NoSuchKey') return undefined;
    if (ifNoneMatch !== undefined && statusOf(error) === 304) return 'not_modified';
    throw signal?.aborted ? aborted(signal) : s3Failure(error);
  }
}

export async function headFromS3(
  context: ReadingContext,
  key: ObjectKey,
  options: RequestOptions = {},
): Promise<DatedMeta | undefined> {
  const trace = newTrace();
  try {
    const { etag, size, lastModified } = await context.wire.head(key, { signal: options.signal, trace });
    return {
      etag: parseETag(etag),
      size: size ?? 0,
      lastModified: lastModified?.getTime() ?? 0,
      servedAt: servedAt(trace, context.clock()),
    };
  } catch (error) {
    // An answer to HEAD has no body that could tell a missing object from a missing bucket.
    if (statusOf(error) === 404) return undefined;
    throw s3Failure(error);
  }
}

/** One LIST per page. Keys travel URL-encoded, because XML cannot hold every character. */
export async function* listPages(
  context: ReadingContext,
  options: ListOptions,
): AsyncGenerator<ListPage, void, undefined> {
  let token: string | undefined;
  do {
    const trace = newTrace();
    let page: AnsweredPage;
    try {
      const { prefix, startAfter, signal } = options;
      const maxKeys = Math.min(options.maxKeys ?? KEYS_PER_REQUEST, KEYS_PER_REQUEST);
      page = await context.wire.list({ prefix, startAfter, maxKeys, token }, { signal, trace });
    } catch (error) {
      throw s3Failure(error);
    }
    // Any page of a proxy or web server parses as a listing of nothing; a real one names its bucket.
    if (page.name === undefined) throw notAListing();
    yield toPage(page, servedAt(trace, context.clock()));
    token = nextToken(page, token);
  } while (token !== undefined);
}

function toPage(page: AnsweredPage, at: number): ListPage {
  const decode = page.encodingType === 'url' ? decodeKey : (text: string): string => text;
  return {
    objects: page.entries.map((entry) => ({
      key: decode(entry.key ?? '') as ObjectKey,
      etag: parseETag(entry.etag),
      size: entry.size ?? 0,
      lastModified: entry.lastModified?.getTime() ?? 0,
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

function nextToken(page: AnsweredPage, last: string | undefined): string | undefined {
  if (page.isTruncated !== true) return undefined;
  const token = page.nextToken;
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
