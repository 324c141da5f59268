import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import type { ObjectKey } from '../../../format/object-keys.ts';
import { readBody } from '../body.ts';
import { isDeleteResult } from '../deleting.ts';
import { conditionOf, type S3Wire } from '../wire.ts';
import { createS3Clients, noteBeginning, type OpenConnectionOptions, send } from './clients.ts';
import { uploadInParts } from './upload.ts';

/** The wire as the AWS SDK's own client makes it. */
export function openSdkWire(options: OpenConnectionOptions & { readonly bucket: string }): S3Wire {
  const { retrying, once } = createS3Clients(options);
  const Bucket = options.bucket;
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
      const command = new PutObjectCommand({ ...at(key), ...conditionOf(call.mode), Body: body });
      return (await send(retrying, command, call)).ETag;
    },
    putInParts: (key, body, call) =>
      uploadInParts({ ...call, client: retrying, target: { ...at(key), ...conditionOf(call.mode) }, body }),
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
