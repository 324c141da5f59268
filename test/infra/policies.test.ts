import { describe, expect, it } from 'vitest';
import { BUCKET, KEYRING, LISTABLE, OBJECTS, OWN_CONTEXT, ROLE, SQS, statementsOf } from './statements.ts';
import { synthesize } from './synthesized.ts';

const OPERATOR = `${ROLE}operator`;
const FORMER_KEY = 'arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-3333-4444-555555555555';
const ROOT_KEY = 'arn:aws:kms:eu-central-1:111122223333:key/MemoryRootKey';
const LOGS = 'arn:aws:logs:eu-central-1:111122223333:log-group:';
const BECOME_ONE_TENANT = {
  Sid: 'BecomeOneTenant',
  Effect: 'Allow',
  Action: ['sts:AssumeRole', 'sts:TagSession'],
  Resource: `${ROLE}MemoryTenantRole`,
};
const USE_QUEUE_KEY = {
  Sid: 'UseQueueKey',
  Effect: 'Allow',
  Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
  Resource: 'arn:aws:kms:eu-central-1:111122223333:key/MemoryQueueKey',
  Condition: { StringEquals: { 'kms:ViaService': 'sqs.eu-central-1.amazonaws.com' } },
};
const BY_LAMBDA = [
  { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } },
];

const template = synthesize({
  prefix: 'memories',
  operatorRoleArns: OPERATOR,
  formerRootKeyArns: FORMER_KEY,
});
const statements = (type: string, name: string, member: string) =>
  statementsOf(template, { type, name, member });

describe('the permissions', () => {
  it('of the worker are to read turns, reply, send turns on, open messages, read the API key, become a tenant and log', () => {
    expect(statements('AWS::IAM::Policy', 'MemoryWorkerRole', 'PolicyDocument')).toEqual([
      {
        Sid: 'ReadTurns',
        Effect: 'Allow',
        Action: [
          'sqs:ChangeMessageVisibility',
          'sqs:DeleteMessage',
          'sqs:GetQueueAttributes',
          'sqs:ReceiveMessage',
        ],
        Resource: `${SQS}MemoryTurns`,
      },
      { Sid: 'SendReplies', Effect: 'Allow', Action: 'sqs:SendMessage', Resource: `${SQS}MemoryReplies` },
      {
        Sid: 'SendTurnsOn',
        Effect: 'Allow',
        Action: 'sqs:SendMessage',
        Resource: [`${SQS}MemoryDeadLetters`, `${SQS}MemoryTurns`],
      },
      {
        Sid: 'ReadApiKey',
        Effect: 'Allow',
        Action: 'secretsmanager:GetSecretValue',
        Resource: 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:MemoryApiKey',
      },
      USE_QUEUE_KEY,
      BECOME_ONE_TENANT,
      {
        Sid: 'WriteWorkerLog',
        Effect: 'Allow',
        Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        Resource: `${LOGS}MemoryWorkerLogs:*`,
      },
    ]);
    expect(statements('AWS::IAM::Role', 'MemoryWorkerRole', 'AssumeRolePolicyDocument')).toEqual(BY_LAMBDA);
  });

  it('of the expiry function are to list the tenants, hand them out, become one and log', () => {
    expect(statements('AWS::IAM::Policy', 'MemoryExpiryRole', 'PolicyDocument')).toEqual([
      {
        Sid: 'ListTenants',
        Effect: 'Allow',
        Action: 's3:ListBucket',
        Resource: BUCKET,
        Condition: { StringEquals: { 's3:prefix': 'memories/keyrings/' } },
      },
      {
        Sid: 'SendAndReceiveTenants',
        Effect: 'Allow',
        Action: [
          'sqs:ChangeMessageVisibility',
          'sqs:DeleteMessage',
          'sqs:GetQueueAttributes',
          'sqs:ReceiveMessage',
          'sqs:SendMessage',
        ],
        Resource: `${SQS}MemoryExpiryQueue`,
      },
      USE_QUEUE_KEY,
      BECOME_ONE_TENANT,
      {
        Sid: 'WriteExpiryLog',
        Effect: 'Allow',
        Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        Resource: `${LOGS}MemoryExpiryLogs:*`,
      },
    ]);
    expect(statements('AWS::IAM::Role', 'MemoryExpiryRole', 'AssumeRolePolicyDocument')).toEqual(BY_LAMBDA);
  });

  it('of the tenant role are bound to the tag of its session', () => {
    expect(statements('AWS::IAM::Policy', 'MemoryTenantRole', 'PolicyDocument')).toEqual([
      {
        Sid: 'OwnObjects',
        Effect: 'Allow',
        Action: ['s3:AbortMultipartUpload', 's3:DeleteObject', 's3:GetObject', 's3:PutObject'],
        Resource: OBJECTS,
      },
      {
        Sid: 'OwnKeyringObject',
        Effect: 'Allow',
        Action: ['s3:GetObject', 's3:PutObject'],
        Resource: KEYRING,
      },
      {
        Sid: 'OwnListing',
        Effect: 'Allow',
        Action: 's3:ListBucket',
        Resource: BUCKET,
        Condition: { StringLike: { 's3:prefix': LISTABLE } },
      },
      {
        Sid: 'NothingWithoutTenant',
        Effect: 'Deny',
        Action: '*',
        Resource: '*',
        Condition: { Null: { 'aws:PrincipalTag/tenant': 'true' } },
      },
      {
        Sid: 'OwnKeyring',
        Effect: 'Allow',
        Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
        Resource: ROOT_KEY,
        Condition: OWN_CONTEXT,
      },
      {
        Sid: 'OwnKeyringUnderFormerRootKeys',
        Effect: 'Allow',
        Action: 'kms:Decrypt',
        Resource: FORMER_KEY,
        Condition: OWN_CONTEXT,
      },
    ]);
  });

  it('to become a tenant need the tag, well-formed and alone', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'].map((letter) => `*${letter}*`);
    const [trust, ...others] = statements('AWS::IAM::Role', 'MemoryTenantRole', 'AssumeRolePolicyDocument');
    expect(others).toEqual([]);
    expect(trust).toEqual({
      Sid: 'OneTenantPerSession',
      Effect: 'Allow',
      Principal: { AWS: [`${ROLE}MemoryWorkerRole`, `${ROLE}MemoryExpiryRole`, OPERATOR] },
      Action: ['sts:AssumeRole', 'sts:TagSession'],
      Condition: {
        StringLike: { 'aws:RequestTag/tenant': '?*' },
        StringNotLike: {
          'aws:RequestTag/tenant': [
            ...['*/*', '*.*', '*:*', '*=*', '*+*', '*@*', '*_*', '* *'],
            ...letters,
            '-*',
            `${'?'.repeat(64)}*`,
          ],
        },
        'ForAllValues:StringEquals': { 'aws:TagKeys': ['tenant'] },
        Null: { 'aws:RequestTag/tenant': 'false', 'aws:TagKeys': 'false' },
      },
    });
    // What IAM lets a trust policy measure, with room for a few operators more.
    expect(JSON.stringify(trust).length).toBeLessThan(1_400);
  });

  it('are attached to these three roles alone', () => {
    const policies = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::IAM::Policy');
    expect(policies).toHaveLength(3);
    const roles = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::IAM::Role');
    expect(roles).toHaveLength(3);
    for (const { Properties } of roles) {
      expect(Object.keys(Properties)).not.toContain('ManagedPolicyArns');
      expect(Object.keys(Properties)).not.toContain('Policies');
    }
  });
});
