import { describe, expect, it } from 'vitest';
import {
  BUCKET,
  KEYRING,
  LISTABLE,
  OBJECTS,
  OWN_CONTEXT,
  ROLE,
  SQS,
  statementsOf,
  TAG,
} from './statements.ts';
import { synthesize } from './synthesized.ts';

const FILES = `${BUCKET}/memories/tenants/${TAG}/data/*`;

const template = synthesize({ prefix: 'memories' });
const statements = (type: string, name: string, member: string) =>
  statementsOf(template, { type, name, member });

describe('the policy of the root key', () => {
  it('lets the account administer and the tenant role use it', () => {
    const [administration, use, ...others] = statements('AWS::KMS::Key', 'MemoryRootKey', 'KeyPolicy');
    expect(others).toEqual([]);
    expect(administration).toMatchObject({
      Sid: 'AccountAdministers',
      Effect: 'Allow',
      Principal: { AWS: 'arn:aws:iam::111122223333:root' },
      Resource: '*',
    });
    const { Action: actions } = administration as { readonly Action: readonly string[] };
    expect(
      actions.filter((action) => /\*|crypt|DataKey|Grant$|Sign|Mac|Replicate|Import/.test(action)),
    ).toEqual(['kms:RetireGrant', 'kms:RevokeGrant']);
    expect(use).toEqual({
      Sid: 'TenantRoleUsesOwnContext',
      Effect: 'Allow',
      Principal: { AWS: `${ROLE}MemoryTenantRole` },
      Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
      Resource: '*',
      Condition: OWN_CONTEXT,
    });
  });
});

describe('the policy of the key of the queues', () => {
  it('lets the account administer it, and leaves its use through SQS to IAM', () => {
    const [administration, use, ...others] = statements('AWS::KMS::Key', 'MemoryQueueKey', 'KeyPolicy');
    expect(others).toEqual([]);
    expect(administration).toEqual(statements('AWS::KMS::Key', 'MemoryRootKey', 'KeyPolicy')[0]);
    expect(use).toEqual({
      Sid: 'AccountUsesThroughQueues',
      Effect: 'Allow',
      Principal: { AWS: 'arn:aws:iam::111122223333:root' },
      Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
      Resource: '*',
      Condition: {
        StringEquals: {
          'kms:CallerAccount': '111122223333',
          'kms:ViaService': 'sqs.eu-central-1.amazonaws.com',
        },
      },
    });
  });
});

describe('the policy of the bucket', () => {
  it('wants TLS 1.2 and keeps the tenant role with its tenant', () => {
    const everything = [BUCKET, `${BUCKET}/*`];
    const deny = { Effect: 'Deny', Principal: { AWS: '*' } };
    const byTenantRole = { ArnEquals: { 'aws:PrincipalArn': `${ROLE}MemoryTenantRole` } };
    expect(statements('AWS::S3::BucketPolicy', 'MemoryBucket', 'PolicyDocument')).toEqual([
      {
        ...deny,
        Action: 's3:*',
        Resource: everything,
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      },
      {
        ...deny,
        Action: 's3:*',
        Resource: everything,
        Condition: { NumericLessThan: { 's3:TlsVersion': 1.2 } },
      },
      {
        ...deny,
        Sid: 'TenantRoleStaysWithItsTenant',
        Action: [
          's3:AbortMultipartUpload',
          's3:BypassGovernanceRetention',
          's3:DeleteObject*',
          's3:GetObject*',
          's3:ListMultipartUploadParts',
          's3:PutObject*',
          's3:ReplicateDelete',
          's3:ReplicateObject',
          's3:RestoreObject',
        ],
        NotResource: [OBJECTS, KEYRING],
        Condition: byTenantRole,
      },
      {
        ...deny,
        Sid: 'TenantRoleListsItsTenant',
        Action: 's3:ListBucket',
        Resource: BUCKET,
        Condition: { ...byTenantRole, StringNotLike: { 's3:prefix': LISTABLE } },
      },
      {
        ...deny,
        Sid: 'TenantRoleWritesUnderPreconditions',
        Action: 's3:PutObject',
        Resource: [FILES, KEYRING],
        Condition: {
          ...byTenantRole,
          Null: { 's3:if-match': 'true', 's3:if-none-match': 'true' },
          Bool: { 's3:ObjectCreationOperation': 'true' },
        },
      },
    ]);
  });
});

describe('the policy of every queue', () => {
  it.each(['Turns', 'DeadLetters', 'Replies', 'ExpiryQueue'])('of %s wants TLS', (name) => {
    expect(statements('AWS::SQS::QueuePolicy', `Memory${name}Policy`, 'PolicyDocument')).toEqual([
      {
        Effect: 'Deny',
        Principal: { AWS: '*' },
        Action: 'sqs:*',
        Resource: `${SQS}Memory${name}`,
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      },
    ]);
  });
});
