import {
  type $Command,
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type S3Client,
  type S3ClientResolvedConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { newTrace } from '../attempts.ts';
import type { WireCall } from '../wire.ts';
import { prepare, send } from './clients.ts';

/** `sendBy` is judged before every part; the trace follows the request that makes the object appear. */
interface UploadRequest extends WireCall {
  readonly client: S3Client;
  readonly target: {
    readonly Bucket: string;
    readonly Key: string;
    readonly IfNoneMatch?: string;
    readonly IfMatch?: string;
  };
  readonly body: Uint8Array;
  readonly partBytes: number;
}

const PARTS_AT_ONCE = 3;

/**
 * Stores a body in parts; the condition is judged by the request that completes it. A failure or an abort removes
 * the parts that were sent before it is reported.
 */
export async function uploadInParts(request: UploadRequest): Promise<string | undefined> {
  await prepare(request.client, request.signal);
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
      return send(client, command, { signal, sendBy, trace: isCompleting(command) ? trace : newTrace() });
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
