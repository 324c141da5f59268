import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { MemoryError } from '../../../errors.ts';
import type { ObjectKey } from '../../../format/object-keys.ts';
import { redactedCause } from '../../failures.ts';
import {
  KEYS_PER_REQUEST,
  type KeptVersion,
  noVersions,
  type ObjectVersions,
  type RequestOptions,
} from '../../port.ts';
import { newTrace } from '../attempts.ts';
import type { S3StoreOptions } from '../connection.ts';
import { s3CodeOf, s3Failure, statusOf } from '../errors.ts';
import { deleteUnconfirmed, isConfirmedDelete } from '../writing.ts';
import { send } from './clients.ts';

/** The versions in a bucket, through the AWS SDK's own client. */
export function openSdkVersions(options: S3StoreOptions, client: S3Client): ObjectVersions {
  const { bucket, versionsPerPage = KEYS_PER_REQUEST } = options;
  /** A server that has listed versions once knows them, whatever it answers later. */
  let hasListed = false;

  async function* below(
    prefix: string,
    { signal }: RequestOptions = {},
  ): AsyncGenerator<readonly KeptVersion[]> {
    let from: { readonly KeyMarker: string; readonly VersionIdMarker?: string } | undefined;
    for (;;) {
      const command = new ListObjectVersionsCommand({
        Bucket: bucket,
        Prefix: prefix,
        MaxKeys: versionsPerPage,
        ...from,
      });
      const page = await send(client, command, { signal, trace: newTrace() }).catch((error: unknown) => {
        throw !hasListed && isUnknownRequest(error) ? noVersions(causeOf(error)) : s3Failure(error);
      });
      // Any page of a proxy or web server parses as a listing of nothing; a real one names its bucket.
      if (page.Name === undefined) throw notAsS3();
      hasListed = true;
      const marks = (page.DeleteMarkers ?? []).map((entry) => ({ ...entry, Size: undefined }));
      yield [...(page.Versions ?? []), ...marks].map(({ Key, VersionId = 'null', IsLatest, Size }) => {
        // One that might be the current one must not pass for an older one.
        if (Key === undefined || IsLatest === undefined) throw notAsS3();
        return { key: Key as ObjectKey, versionId: VersionId, isCurrent: IsLatest, size: Size };
      });
      if (page.IsTruncated !== true) return;
      const { NextKeyMarker: KeyMarker, NextVersionIdMarker: VersionIdMarker } = page;
      const isFurther = KeyMarker !== from?.KeyMarker || VersionIdMarker !== from?.VersionIdMarker;
      if (KeyMarker === undefined || !isFurther) throw notAsS3();
      // The markers go back as they came: MinIO puts more into them than the key.
      from = { KeyMarker, ...(VersionIdMarker !== undefined && { VersionIdMarker }) };
    }
  }

  async function* list(key: ObjectKey, request?: RequestOptions): AsyncGenerator<readonly KeptVersion[]> {
    for await (const page of below(key, request)) {
      yield page.filter((version) => version.key === key);
      // Keys that begin with this one come after it.
      if (page.some((version) => version.key !== key)) return;
    }
  }

  return {
    list,
    below,
    async get(key, versionId, { signal } = {}) {
      const command = new GetObjectCommand({ Bucket: bucket, Key: key, VersionId: versionId });
      try {
        const { Body } = await send(client, command, { signal, trace: newTrace() });
        return (await Body?.transformToByteArray()) ?? new Uint8Array(0);
      } catch (error) {
        if (['NoSuchKey', 'NoSuchVersion'].includes(s3CodeOf(error))) return undefined;
        throw s3Failure(error);
      }
    },
    async remove(key, versionId, { signal } = {}) {
      const command = new DeleteObjectCommand({ Bucket: bucket, Key: key, VersionId: versionId });
      const trace = newTrace();
      try {
        await send(client, command, { signal, trace });
      } catch (error) {
        const code = s3CodeOf(error);
        if (['NoSuchKey', 'NoSuchVersion'].includes(code)) return;
        throw code === 'InvalidRequest' ? locked(error) : s3Failure(error);
      }
      if (!isConfirmedDelete(trace)) throw deleteUnconfirmed();
    },
  };
}

function isUnknownRequest(error: unknown): boolean {
  return s3CodeOf(error) === 'NotImplemented' || statusOf(error) === 501;
}

/** Makes the failure for a lock on an object, which MinIO answers as `InvalidRequest`; AWS denies the access. */
function locked(cause: unknown): MemoryError {
  return new MemoryError('access_denied', 'An object lock or a legal hold keeps a version of an object.', {
    cause: causeOf(cause),
  });
}

function notAsS3(): MemoryError {
  return new MemoryError('misconfigured', 'The server does not list the versions of objects as S3 does.');
}

function causeOf(error: unknown): Error {
  return redactedCause(error, 'The object store');
}
