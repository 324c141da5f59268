import { setTimeout as sleep } from 'node:timers/promises';
import {
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  type ObjectLockRetentionMode,
  PutBucketVersioningCommand,
  PutObjectLegalHoldCommand,
  PutObjectRetentionCommand,
} from '@aws-sdk/client-s3';
import { deleteAll } from '../../infra/local/servers/fresh-bucket.ts';
import { createTestBucket, type S3Server, type TestBucket } from './s3.ts';

/** Makes a bucket that keeps older versions; removing it removes those as well. */
export async function createVersionedBucket(server: S3Server): Promise<TestBucket> {
  const created = await createTestBucket(server);
  const { client, bucket: Bucket } = created;
  const VersioningConfiguration = { Status: 'Enabled' } as const;
  await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
  return removedWithVersions(created);
}

/** The kind of lock that keeps a version from being removed. */
type Lock = ObjectLockRetentionMode | 'legal hold';

/** One version in a bucket, as a listing of the client names it. */
interface Named {
  readonly Key?: string | undefined;
  readonly VersionId?: string | undefined;
}

/** A version that may be locked. */
export interface LockableVersion extends Named {
  readonly Size?: number | undefined;
  readonly isCurrent: boolean;
}

/** A bucket whose versions can be locked. */
export interface LockableBucket extends TestBucket {
  /** Locks each version that is there now and that `isMeant`; nothing but `unlock`, or time, takes that back. */
  lock(how: Lock, isMeant: (version: LockableVersion) => boolean): Promise<number>;
  /** Takes all locks back, but those of the mode COMPLIANCE. */
  unlock(): Promise<void>;
}

/** The time of a lock that nobody can take back, by which the bucket itself can be removed again. */
const COMPLIANCE_MS = 10_000;
/** The pause before versions that are locked are tried again. */
const LOCKED_PAUSE_MS = 500;
/** The longest time for a removal, which must stay below the limit of a hook: a suite leaves thousands of versions. */
const LONGEST_REMOVAL_MS = 55_000;

/** Makes a bucket for locks, which keeps older versions; removing it unlocks and removes those as well. */
export async function createLockableBucket(server: S3Server): Promise<LockableBucket> {
  const created = await createTestBucket(server, { ObjectLockEnabledForBucket: true });
  const { client, bucket: Bucket } = created;
  const hold = (version: Named, Status: 'ON' | 'OFF'): Promise<unknown> =>
    client.send(new PutObjectLegalHoldCommand({ Bucket, ...nameOf(version), LegalHold: { Status } }));
  const retain = (version: Named, Mode: ObjectLockRetentionMode): Promise<unknown> => {
    const RetainUntilDate = new Date(Date.now() + (Mode === 'COMPLIANCE' ? COMPLIANCE_MS : 86_400_000));
    const Retention = { Mode, RetainUntilDate };
    return client.send(new PutObjectRetentionCommand({ Bucket, ...nameOf(version), Retention }));
  };
  const unlock = async (): Promise<void> => {
    const { Versions = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }));
    for (const version of Versions) {
      await hold(version, 'OFF');
      const free = { Bucket, ...nameOf(version), Retention: {}, BypassGovernanceRetention: true };
      await client.send(new PutObjectRetentionCommand(free)).catch(() => {});
    }
  };
  const bucket = removedWithVersions(created, unlock);
  return {
    ...bucket,
    async lock(how, isMeant) {
      const { Versions = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }));
      const meant = Versions.filter((version) =>
        isMeant({ ...version, isCurrent: version.IsLatest === true }),
      );
      for (const version of meant) await (how === 'legal hold' ? hold(version, 'ON') : retain(version, how));
      return meant.length;
    },
    unlock,
  };
}

function nameOf({ Key, VersionId }: Named): { readonly Key: string; readonly VersionId: string } {
  return { Key: Key ?? '', VersionId: VersionId ?? '' };
}

function removedWithVersions(created: TestBucket, unlock = async (): Promise<void> => {}): TestBucket {
  const { client, bucket: Bucket } = created;
  const remove = async (): Promise<void> => {
    await unlock();
    const deadline = performance.now() + LONGEST_REMOVAL_MS;
    for (;;) {
      const page: ListObjectVersionsCommandOutput = await client.send(
        new ListObjectVersionsCommand({ Bucket, MaxKeys: 1_000 }),
      );
      const versions = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])];
      // A version that was being written while they were listed is removed at the next look.
      if (versions.length === 0 && (await isRemoved(created))) return;
      const staying = versions.length > 0 ? await deleteAll(client, Bucket, versions) : 0;
      if (staying > 0) await sleep(LOCKED_PAUSE_MS);
      if (performance.now() > deadline) throw new Error('versions of the bucket stay');
    }
  };
  return { ...created, remove, [Symbol.asyncDispose]: remove };
}

/** Removes the bucket; false where the server finds something in it. */
async function isRemoved(bucket: TestBucket): Promise<boolean> {
  try {
    await bucket.remove();
    return true;
  } catch (error) {
    if (error instanceof Error && error.name === 'BucketNotEmpty') return false;
    throw error;
  }
}
