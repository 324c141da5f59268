import type { Readable } from 'node:stream';
import {
  type $Command,
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  type S3ClientResolvedConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { ObjectKey } from '../../../format/object-keys.ts';
import { newTrace } from '../attempts.ts';
import { readBody } from '../body.ts';
import { type OpenS3Options, PART_BYTES, type S3Store } from '../connection.ts';
import { judgedStore } from '../judged-store.ts';
import { conditionOf, type S3Wire, type WireCall } from '../wire.ts';
import { isDeleteResult } from '../writing.ts';
import { createS3Clients, noteBeginning, prepare, type S3Clients, send } from './clients.ts';
import { openSdkVersions } from './versions.ts';

/** A bucket of any kind, bodies of any size, and the versions, through the AWS SDK's own client. */
export function openSdkStore(options: OpenS3Options): S3Store {
  const clients = createS3Clients(options);
  const versions = openSdkVersions(options, clients.retrying);
  return { ...judgedStore(openSdkWire(options, clients), options), versions };
}

/** The wire as the AWS SDK's own client makes it. */
export function openSdkWire(options: OpenS3Options, clients: S3Clients = createS3Clients(options)): S3Wire {
  const { retrying, once } = clients;
  const { bucket: Bucket, partBytes = PART_BYTES } = options;
  const at = (Key: ObjectKey): { readonly Bucket: string; readonly Key: string } => ({ Bucket, Key });
  return {
    async get(key, call) {
      const { signal, maxBytes, ifNoneMatch } = call;
      const condition = ifNoneMatch === undefined ? {} : { IfNoneMatch: ifNoneMatch };
      const output = await send(retrying, new GetObjectCommand({ ...at(key), ...condition }), call);
      const { ETag: etag, ContentLength: declared, LastModified: lastModified } = output;
      const body = await readBody(output.Body as Readable, { declared, maxBytes, signal });
      return { body, etag, size: body.length, lastModified };
    },
    async head(key, call) {
      const output = await send(retrying, new HeadObjectCommand(at(key)), call);
      const { ETag: etag, ContentLength: size, LastModified: lastModified } = output;
      return { etag, size, lastModified };
    },
    async put(key, body, call) {
      const params = { ...at(key), ...conditionOf(call.mode), Body: body };
      if (body.length > partBytes) return uploadInParts(retrying, params, { ...call, partBytes });
      return (await send(retrying, new PutObjectCommand(params), call)).ETag;
    },
    async remove({ key, ifMatch }, call) {
      await send(once, new DeleteObjectCommand({ ...at(key), IfMatch: ifMatch }), call);
    },
    async removeAll(targets, call) {
      const Objects = targets.map(({ key, ifMatch }) => ({ Key: key, ETag: ifMatch }));
      const command = new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } });
      const beginning = noteBeginning(command);
      const { Errors = [] } = await send(once, command, call);
      const failures = Errors.map(({ Key: key, Code: code }) => ({ key, code }));
      return { isResult: isDeleteResult(beginning()), failures };
    },
    async list({ prefix, startAfter, maxKeys, token }, call) {
      const command = new ListObjectsV2Command({
        Bucket,
        Prefix: prefix,
        StartAfter: startAfter,
        MaxKeys: maxKeys,
        EncodingType: 'url',
        ContinuationToken: token,
      });
      const output = await send(retrying, command, call);
      return {
        name: output.Name,
        encodingType: output.EncodingType,
        isTruncated: output.IsTruncated,
        nextToken: output.NextContinuationToken,
        entries: (output.Contents ?? []).map((entry) => ({
          key: entry.Key,
          etag: entry.ETag,
          size: entry.Size,
          lastModified: entry.LastModified,
        })),
      };
    },
  };
}

const PARTS_AT_ONCE = 3;

/**
 * Stores a body in parts; the condition is judged by the request that completes it. `sendBy` is judged before every
 * part; the trace follows the request that makes the object appear. A failure or an abort removes the parts that were
 * sent before it is reported.
 */
async function uploadInParts(
  client: S3Client,
  params: PutObjectCommandInput,
  call: WireCall & { readonly partBytes: number },
): Promise<string | undefined> {
  await prepare(client, call.signal);
  const upload = new Upload({
    client: followingClient(client, call),
    params,
    partSize: call.partBytes,
    queueSize: PARTS_AT_ONCE,
  });
  return (await upload.done()).ETag;
}

/**
 * Makes the part of a client that `Upload` uses. The request that begins an upload and the one that clears it up run to
 * their end, whatever the signal says: otherwise an upload would stay in the bucket whose id nobody knows.
 */
function followingClient(client: S3Client, { signal, sendBy, trace }: WireCall): S3Client {
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
