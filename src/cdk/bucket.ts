import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { AnyPrincipal, Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import type { TenantResources } from './tenant-resources.ts';

/** Every action of S3 on an object. */
const OBJECT_ACTIONS = [
  's3:AbortMultipartUpload',
  's3:BypassGovernanceRetention',
  's3:DeleteObject*',
  's3:GetObject*',
  's3:ListMultipartUploadParts',
  's3:PutObject*',
  's3:ReplicateDelete',
  's3:ReplicateObject',
  's3:RestoreObject',
];

/**
 * The bucket of all tenants. It outlives the stack. What was overwritten or deleted stays restorable for
 * `noncurrentDays`; after that shredded tenants are gone from here for good.
 */
export function createBucket(
  scope: Construct,
  { noncurrentDays }: { readonly noncurrentDays: number },
): Bucket {
  return new Bucket(scope, 'Bucket', {
    versioned: true,
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    // The objects are sealed before they get here; a KMS request per object would add cost and no secret.
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    removalPolicy: RemovalPolicy.RETAIN,
    lifecycleRules: [
      { id: 'OldVersions', noncurrentVersionExpiration: Duration.days(noncurrentDays) },
      { id: 'DeleteMarkers', expiredObjectDeleteMarker: true },
      { id: 'AbortedUploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
    ],
  });
}

/**
 * A second wall, in the bucket itself: whatever else is ever attached to the tenant role, its sessions stay with
 * their tenant, and write files and keyrings only under a precondition (docs/protocols.md).
 */
export function confineTenantRole(
  bucket: Bucket,
  { role, resources }: { readonly role: IRole; readonly resources: TenantResources },
): void {
  const byTenantRole = { ArnEquals: { 'aws:PrincipalArn': role.roleArn } };
  const deny = { effect: Effect.DENY, principals: [new AnyPrincipal()] };
  bucket.addToResourcePolicy(
    new PolicyStatement({
      ...deny,
      sid: 'TenantRoleStaysWithItsTenant',
      actions: OBJECT_ACTIONS,
      notResources: [resources.objects, resources.keyring],
      conditions: byTenantRole,
    }),
  );
  bucket.addToResourcePolicy(
    new PolicyStatement({
      ...deny,
      sid: 'TenantRoleListsItsTenant',
      actions: ['s3:ListBucket'],
      resources: [bucket.bucketArn],
      conditions: { ...byTenantRole, StringNotLike: { 's3:prefix': [...resources.listable] } },
    }),
  );
  bucket.addToResourcePolicy(
    new PolicyStatement({
      ...deny,
      sid: 'TenantRoleWritesUnderPreconditions',
      actions: ['s3:PutObject'],
      resources: [resources.files, resources.keyring],
      conditions: {
        ...byTenantRole,
        Null: { 's3:if-match': 'true', 's3:if-none-match': 'true' },
        // The requests that begin and fill a multipart upload carry no precondition; the one that ends it does.
        Bool: { 's3:ObjectCreationOperation': 'true' },
      },
    }),
  );
}
