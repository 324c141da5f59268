import {
  type $Command,
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  type S3ClientResolvedConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { hasCode, type MemoryError } from '../../errors.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import { pause, throwIfAborted } from '../../time.ts';
import { type PutMode, type PutOptions, resentConflict, type SendBound, type WriteResult } from '../port.ts';
import type { S3Clients } from './client.ts';
import { s3CodeOf, s3Failure, s3OutcomeUnknown, statusOf } from './errors.ts';
import { parseETag } from './reading.ts';
import { mayHaveLanded, newTrace, send, type Trace } from './send.ts';

interface WritingContext {
  readonly clients: S3Clients;
  readonly bucket: string;
  /** Bodies above this many bytes go in parts of this size. */
  readonly partBytes: number;
}

const CONFLICT_ROUNDS = 8;
const FIRST_PAUSE_MS = 20;

/** Stores an object under the condition of `mode`. The SDK may resend it. */
export async function putToS3(
  context: WritingContext,
  key: ObjectKey,
  body: Uint8Array,
  options: PutOptions,
): Promise<WriteResult> {
  const { mode, signal, sendBy } = options;
  const target = { Bucket: context.bucket, Key: key, ...conditionOf(mode) };
  const client = context.clients.retrying;
  const trace = newTrace();
  const attempt = async (): Promise<WriteResult> => {
    const etag =
      body.length > context.partBytes
        ? await uploadInParts({ client, target, body, partBytes: context.partBytes, signal, sendBy, trace })
        : (await send(client, new PutObjectCommand({ ...target, Body: body }), { signal, sendBy, trace }))
            .ETag;
    return { etag: parseETag(etag) };
  };
  try {
    throwIfAborted(signal);
    return await repeatOnConflict(attempt, signal);
  } catch (error) {
    return judgeFailedPut(error, mode, trace);
  }
}

/** AWS refuses a conditional request that meets a concurrent one; it was not executed, so it is sent again. */
export async function repeatOnConflict<T>(
  attempt: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let round = 0; ; round++) {
    try {
      return await attempt();
    } catch (error) {
      if (s3CodeOf(error) !== 'ConditionalRequestConflict' || round === CONFLICT_ROUNDS) throw error;
    }
    await pause(Math.random() * FIRST_PAUSE_MS * 2 ** round, signal);
  }
}

/** Turns a definite refusal into its error and everything else into `outcome_unknown`. */
export function writeFailure(error: unknown, trace: Trace): MemoryError {
  if (hasCode(error, 'misconfigured')) return error;
  return mayHaveLanded(trace) ? s3OutcomeUnknown(error) : s3Failure(error);
}

function conditionOf(mode: PutMode): { readonly IfNoneMatch?: string; readonly IfMatch?: string } {
  if (mode === 'create') return { IfNoneMatch: '*' };
  return mode === 'overwrite' ? {} : { IfMatch: mode.ifMatch };
}

function conflictOf(error: unknown, mode: PutMode): 'exists' | 'changed' | 'missing' | undefined {
  if (mode === 'overwrite') return undefined;
  const code = s3CodeOf(error);
  if (code === 'PreconditionFailed' || statusOf(error) === 412) {
    return mode === 'create' ? 'exists' : 'changed';
  }
  return code === 'NoSuchKey' && mode !== 'create' ? 'missing' : undefined;
}

function judgeFailedPut(error: unknown, mode: PutMode, trace: Trace): WriteResult {
  const conflict = conflictOf(error, mode);
  if (conflict === undefined) throw writeFailure(error, trace);
  if (trace.earlierMayHaveLanded) throw resentConflict();
  return { conflict };
}

interface UploadRequest {
  readonly client: S3Client;
  readonly target: {
    readonly Bucket: string;
    readonly Key: string;
    readonly IfNoneMatch?: string;
    readonly IfMatch?: string;
  };
  readonly body: Uint8Array;
  readonly partBytes: number;
  readonly signal?: AbortSignal | undefined;
  /** Judged before every part and before the request that completes the upload. */
  readonly sendBy?: SendBound | undefined;
  /** Follows the request that completes the upload: only that one makes the object appear. */
  readonly trace: Trace;
}

const PARTS_AT_ONCE = 3;

/**
 * Stores a body in parts; the condition is judged by the request that completes it. A failure or an abort removes
 * the parts that were sent before it is reported.
 */
async function uploadInParts(request: UploadRequest): Promise<string | undefined> {
  const upload = new Upload({
    client: followingClient(request),
    params: { ...request.target, Body: request.body },
    partSize: request.partBytes,
    queueSize: PARTS_AT_ONCE,
  });
  const { ETag } = await upload.done();
  return ETag;
}

/**
 * What `Upload` needs of a client. The first and the clearing-up requests are not aborted, so that no upload is
 * left behind whose name is lost.
 */
function followingClient({ client, signal, sendBy, trace }: UploadRequest): S3Client {
  const view = {
    config: client.config,
    send: (command: S3Command): Promise<unknown> => {
      if (isUninterrupted(command)) return client.send(command);
      return send(client, command, { signal, sendBy, trace: isCompleting(command) ? trace : undefined });
    },
  };
  return view as unknown as S3Client;
}

type S3Command = $Command<ServiceInputTypes, ServiceOutputTypes, S3ClientResolvedConfig>;

function isUninterrupted(command: object): boolean {
  return command instanceof CreateMultipartUploadCommand || command instanceof AbortMultipartUploadCommand;
}

function isCompleting(command: object): boolean {
  return command instanceof CompleteMultipartUploadCommand;
}
