import { DeleteObjectCommand, GetObjectCommand, ListObjectVersionsCommand } from '@aws-sdk/client-s3';
import { MemoryError } from '../../../errors.ts';
import type { ObjectKey } from '../../../format/object-keys.ts';
import { redactedCause } from '../../failures.ts';
import {
  KEYS_PER_REQUEST,
  type KeptVersion,
  type ObjectVersion,
  type ObjectVersions,
  type RequestOptions,
} from '../../port.ts';
import { newTrace } from '../attempts.ts';
import { s3CodeOf, s3Failure } from '../errors.ts';
import { createS3Clients, type OpenConnectionOptions, send } from './clients.ts';

/** The versions in a bucket, through the AWS SDK's own client. */
export function openSdkVersions(
  options: OpenConnectionOptions & { readonly bucket: string; readonly pageSize?: number | undefined },
): ObjectVersions {
  const { bucket, pageSize = KEYS_PER_REQUEST } = options;
  const client = createS3Clients(options).retrying;

  async function* below(
    prefix: string,
    { signal }: RequestOptions = {},
  ): AsyncGenerator<readonly KeptVersion[]> {
    let from: { readonly KeyMarker: string; readonly VersionIdMarker?: string } | undefined;
    for (;;) {
      const page = await attempt(() =>
        send(
          client,
          new ListObjectVersionsCommand({ Bucket: bucket, Prefix: prefix, MaxKeys: pageSize, ...from }),
          { signal, trace: newTrace() },
        ),
      );
      const marks = (page.DeleteMarkers ?? []).map((entry) => ({ ...entry, Size: undefined }));
      yield [...(page.Versions ?? []), ...marks].map((entry) => ({
        key: entry.Key as ObjectKey,
        versionId: entry.VersionId ?? 'null',
        isCurrent: entry.IsLatest === true,
        size: entry.Size,
      }));
      if (page.IsTruncated !== true) return;
      const { NextKeyMarker: KeyMarker, NextVersionIdMarker: VersionIdMarker } = page;
      const isFurther = KeyMarker !== from?.KeyMarker || VersionIdMarker !== from?.VersionIdMarker;
      if (KeyMarker === undefined || !isFurther) throw notAsS3();
      // As they are: MinIO puts more into its markers than the key.
      from = { KeyMarker, ...(VersionIdMarker !== undefined && { VersionIdMarker }) };
    }
  }

  async function* list(key: ObjectKey, request?: RequestOptions): AsyncGenerator<readonly ObjectVersion[]> {
    for await (const page of below(key, request)) {
      yield page
        .filter((version) => version.key === key)
        .map(({ versionId, isCurrent }) => ({ versionId, isCurrent }));
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
        return await Body?.transformToByteArray();
      } catch (error) {
        const code = s3CodeOf(error) ?? '';
        if (['NoSuchKey', 'NoSuchVersion', 'MethodNotAllowed'].includes(code)) return undefined;
        throw s3Failure(error);
      }
    },
    async remove(key, versionId, { signal } = {}) {
      const command = new DeleteObjectCommand({ Bucket: bucket, Key: key, VersionId: versionId });
      await attempt(() => send(client, command, { signal, trace: newTrace() }));
    },
  };
}

async function attempt<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw s3CodeOf(error) === 'NotImplemented' ? notAsS3(error) : s3Failure(error);
  }
}

function notAsS3(cause?: unknown): MemoryError {
  return new MemoryError('misconfigured', 'The server does not list the versions of objects as S3 does.', {
    ...(cause !== undefined && { cause: redactedCause(cause, 'The object store') }),
  });
}
