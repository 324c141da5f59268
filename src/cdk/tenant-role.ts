import { Aws, Duration } from 'aws-cdk-lib';
import {
  type CfnRole,
  Effect,
  type IPrincipal,
  PolicyDocument,
  PolicyStatement,
  Role,
} from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { TenantResources } from './tenant-resources.ts';

/**
 * Patterns of the tags that STS allows and that are no tenant's id. The slash matters most: `a/data` would be a tenant
 * inside another. Letters beyond ASCII are too many to list: a tag with one opens nothing, because tenant ids are
 * ASCII.
 */
const MALFORMED = [
  ...[...'/.:=+@_ ', ...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'].map((character) => `*${character}*`),
  '-*',
  `${'?'.repeat(64)}*`,
];

/**
 * Creates the only role that may touch objects and keys. A session of it is one tenant's: the tag `tenant` is required
 * when it is assumed, and every permission is bound to it.
 */
export function createTenantRole(
  scope: Construct,
  { assumedBy }: { readonly assumedBy: readonly [IPrincipal, ...IPrincipal[]] },
): Role {
  const role = new Role(scope, 'TenantRole', {
    description: 'sealed-memory: one tenant per session, named by the session tag "tenant"',
    maxSessionDuration: Duration.hours(1),
    assumedBy: assumedBy[0],
  });
  // One statement serves all of them: the CDK makes one each, which soon exceeds the size of a trust policy.
  (role.node.defaultChild as CfnRole).assumeRolePolicyDocument = new PolicyDocument({
    statements: [
      new PolicyStatement({
        sid: 'OneTenantPerSession',
        principals: [...assumedBy],
        actions: ['sts:AssumeRole', 'sts:TagSession'],
        conditions: {
          StringLike: { 'aws:RequestTag/tenant': '?*' },
          StringNotLike: { 'aws:RequestTag/tenant': MALFORMED },
          'ForAllValues:StringEquals': { 'aws:TagKeys': ['tenant'] },
          Null: { 'aws:RequestTag/tenant': 'false', 'aws:TagKeys': 'false' },
        },
      }),
    ],
  });
  return role;
}

/** Makes the permissions on the bucket, tenant by tenant. */
export function tenantStatements({
  bucketArn,
  resources,
}: {
  readonly bucketArn: string;
  readonly resources: TenantResources;
}): readonly PolicyStatement[] {
  return [
    new PolicyStatement({
      sid: 'OwnObjects',
      actions: ['s3:AbortMultipartUpload', 's3:DeleteObject', 's3:GetObject', 's3:PutObject'],
      resources: [resources.objects],
    }),
    new PolicyStatement({
      sid: 'OwnKeyringObject',
      actions: ['s3:GetObject', 's3:PutObject'],
      resources: [resources.keyring],
    }),
    // S3 asks for this permission, with the key as the prefix, before it says that an object is missing.
    new PolicyStatement({
      sid: 'OwnListing',
      actions: ['s3:ListBucket'],
      resources: [bucketArn],
      conditions: { StringLike: { 's3:prefix': [...resources.listable] } },
    }),
    new PolicyStatement({
      sid: 'NothingWithoutTenant',
      effect: Effect.DENY,
      actions: ['*'],
      resources: ['*'],
      conditions: { Null: { 'aws:PrincipalTag/tenant': 'true' } },
    }),
  ];
}

/**
 * Makes the permission for a bucket under a KMS key (SSE-KMS), which S3 asks on behalf of the tenant; that key does not
 * guard tenants from one another.
 */
export function bucketKeyStatement(keyArn: string): PolicyStatement {
  return new PolicyStatement({
    sid: 'BucketKey',
    actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
    resources: [keyArn],
    conditions: { StringEquals: { 'kms:ViaService': `s3.${Aws.REGION}.${Aws.URL_SUFFIX}` } },
  });
}

/** Makes the permission that a role needs on its own side to become any tenant. */
export function assumeTenantRole(tenantRole: Role): PolicyStatement {
  return new PolicyStatement({
    sid: 'BecomeOneTenant',
    actions: ['sts:AssumeRole', 'sts:TagSession'],
    resources: [tenantRole.roleArn],
  });
}
