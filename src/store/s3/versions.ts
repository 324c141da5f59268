import { once } from '../../time.ts';
import type { ObjectVersions } from '../port.ts';
import { openS3Connections, type S3ConnectionOptions } from './connection.ts';

export interface S3VersionsOptions extends S3ConnectionOptions {
  readonly bucket: string;
  /** Versions per page; 1,000 unless given. */
  readonly pageSize?: number | undefined;
}

/**
 * The versions in a bucket. Needs `s3:ListBucketVersions`, `s3:DeleteObjectVersion`, and to read them
 * `s3:GetObjectVersion`. The SDK is loaded at the first use.
 */
export function openS3Versions(options: S3VersionsOptions): ObjectVersions {
  const versions = once(async () => {
    const { openSdkVersions } = await import('./sdk/versions.ts');
    return openSdkVersions({ ...options, connections: options.connections ?? openS3Connections() });
  });
  return {
    async *list(key, request) {
      yield* (await versions()).list(key, request);
    },
    async *below(prefix, request) {
      yield* (await versions()).below(prefix, request);
    },
    get: async (key, versionId, request) => (await versions()).get(key, versionId, request),
    async remove(key, versionId, request) {
      await (await versions()).remove(key, versionId, request);
    },
  };
}
