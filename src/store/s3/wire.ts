import type { Readable } from 'node:stream';
import type { ObjectKey } from '../../format/object-keys.ts';
import type { DeleteTarget, GetOptions, ListOptions, PutMode, RequestOptions, SendBound } from '../port.ts';

/** The record of what became of the attempts of one operation on the wire. */
export interface AttemptTrace {
  /** An attempt before the last one may have been executed although it brought no clear answer. */
  earlierMayHaveLanded: boolean;
  lastMayHaveLanded: boolean;
  /** The last answer. */
  answer: HttpAnswer | undefined;
}

/** The parts of an HTTP answer that are looked at before its body is read. */
export interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

/** The options that accompany an operation to each of its attempts. */
export interface WireCall extends RequestOptions {
  readonly trace: AttemptTrace;
  readonly sendBy?: SendBound | undefined;
}

interface GetCall extends WireCall, Pick<GetOptions, 'ifNoneMatch' | 'maxBytes'> {}

export interface PutCall extends WireCall {
  readonly mode: PutMode;
}

/** The facts that the headers of an answer give of an object; a server may leave out any of them. */
export interface AnsweredMeta {
  readonly etag: string | undefined;
  readonly size: number | undefined;
  readonly lastModified: Date | undefined;
}

interface AnsweredObject extends AnsweredMeta {
  readonly body: Uint8Array;
}

/** A page as the server wrote it. */
export interface AnsweredPage {
  /** The bucket's name, which every listing says. */
  readonly name: string | undefined;
  readonly encodingType: string | undefined;
  readonly isTruncated: boolean | undefined;
  readonly nextToken: string | undefined;
  readonly entries: readonly (AnsweredMeta & { readonly key: string | undefined })[];
}

export interface AskedPage extends Pick<ListOptions, 'prefix' | 'startAfter'> {
  readonly maxKeys: number;
  readonly token: string | undefined;
}

/** One key of a batch that was not deleted. */
interface AnsweredFailure {
  readonly key: string | undefined;
  readonly code: string | undefined;
}

/** The answer to a batch of deletes. Where it is a result, every key that it does not name was deleted. */
export interface AnsweredDeletes {
  /** False: another document, which would parse as a result without failures. */
  readonly isResult: boolean;
  readonly failures: readonly AnsweredFailure[];
}

/**
 * The requests of a store of S3 and their answers, unjudged: `judgedStore` makes an object store of them. Reads and
 * puts are attempted three times where a failure passes; deletes once. Failures are thrown as the AWS SDK words them:
 * `readSdkFailure` reads them.
 */
export interface S3Wire {
  /**
   * The whole body or none of it: above `maxBytes` it throws `limit_exceeded`. A body that breaks off is not asked for
   * again.
   */
  get(key: ObjectKey, call: GetCall): Promise<AnsweredObject>;
  head(key: ObjectKey, call: WireCall): Promise<AnsweredMeta>;
  /** Returns the new ETag. Of several requests the trace follows the one that makes the object appear. */
  put(key: ObjectKey, body: Uint8Array, call: PutCall): Promise<string | undefined>;
  remove(target: DeleteTarget, call: WireCall): Promise<void>;
  /** Deletes at most 1,000 targets in one request. */
  removeAll(targets: readonly DeleteTarget[], call: WireCall): Promise<AnsweredDeletes>;
  list(page: AskedPage, call: WireCall): Promise<AnsweredPage>;
}

/** The header of a put's condition and its value; undefined for a put that overwrites. */
export function conditionOf(mode: PutMode): { readonly IfNoneMatch?: string; readonly IfMatch?: string } {
  if (mode === 'create') return { IfNoneMatch: '*' };
  return mode === 'overwrite' ? {} : { IfMatch: mode.ifMatch };
}
