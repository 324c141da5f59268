import { describe, expect, it } from 'vitest';
import { createLayout, parseTenantId } from '../../src/format/object-keys.ts';
import { deploy, encryptionContextOf, type Session, tenantSession } from './iam/deployment.ts';
import { synthesize } from './synthesized.ts';

const UNDER_PRECONDITION = { 's3:if-none-match': '*', 's3:ObjectCreationOperation': 'true' };

describe.each([
  { prefix: '', top: '' },
  { prefix: 'memories', top: 'memories/' },
  { prefix: 'a/b', top: 'a/b/' },
])('a session of one tenant, below the prefix "$prefix"', { timeout: 60_000 }, ({ prefix, top }) => {
  const cloud = deploy(synthesize({ prefix }));
  const acme = tenantSession(cloud, 'acme');
  const layout = (tenant: string) => createLayout({ prefix, tenant: parseTenantId(tenant) });
  const [own, other] = [layout('acme'), layout('globex')];
  const object = (key: string) => `${cloud.bucketArn}/${key}`;

  const ownKeys = [`${own.data}x`, `${own.data}x/y`, own.probe, `${own.tenantPrefix}receipts/r`];
  const foreignKeys = [
    `${other.data}x`,
    other.probe,
    `${other.tenantPrefix}journal/register`,
    `${other.tenantPrefix}receipts/r`,
    other.keyring,
    layout('acme-2').keyring,
    `${layout('acme-2').data}x`,
    `${top}tenants/acme`,
    `${top}tenants/ACME/data/x`,
    `${top}keyrings/acme/x`,
    `${top}keyrings/`,
    `other/tenants/acme/data/x`,
    `other/keyrings/acme`,
    `x${own.data}x`,
    ...(prefix === '' ? [] : [own.data.slice(top.length), own.keyring.slice(top.length)]),
  ];
  const foreignListings = [
    ...[other.data, other.tenantPrefix, other.keyring, layout('acme-2').data],
    ...['', '/', top, `${top}tenants/`, `${top}tenants/acme`, `${top}tenants/a`, `${top}keyrings/`],
    ...[`${top}keyrings/acme-2`, `${top}keyrings/acme/`, `${top}keyrings/a`],
  ];
  const reading = ['s3:GetObject', 's3:DeleteObject', 's3:AbortMultipartUpload'];

  it.each(ownKeys)('reads, writes and deletes %s', (key) => {
    for (const action of reading) expect(cloud.s3(acme, action, object(key)), action).toBe('allowed');
    expect(cloud.s3(acme, 's3:PutObject', object(key), UNDER_PRECONDITION)).toBe('allowed');
  });

  it('reads and writes its keyring, but does not delete it', () => {
    expect(cloud.s3(acme, 's3:GetObject', object(own.keyring))).toBe('allowed');
    expect(cloud.s3(acme, 's3:PutObject', object(own.keyring), UNDER_PRECONDITION)).toBe('allowed');
    expect(cloud.s3(acme, 's3:DeleteObject', object(own.keyring))).toBe('not allowed');
  });

  it.each(foreignKeys)('is denied %s', (key) => {
    const actions = [...reading, 's3:PutObject', 's3:GetObjectVersion', 's3:DeleteObjectVersion'];
    for (const action of [...actions, 's3:PutObjectTagging', 's3:RestoreObject']) {
      expect(cloud.s3(acme, action, object(key), UNDER_PRECONDITION), action).toBe('denied');
    }
  });

  it.each([`${own.data}x`, own.keyring])('writes %s only under a precondition', (key) => {
    const put = (facts: Readonly<Record<string, string>>) =>
      cloud.s3(acme, 's3:PutObject', object(key), facts);
    expect(put({ 's3:ObjectCreationOperation': 'true' })).toBe('denied');
    expect(put({ 's3:ObjectCreationOperation': 'true', 's3:if-match': '"etag"' })).toBe('allowed');
    expect(put({ 's3:ObjectCreationOperation': 'true', 's3:if-none-match': '*' })).toBe('allowed');
    // The parts of a multipart upload.
    expect(put({ 's3:ObjectCreationOperation': 'false' })).toBe('allowed');
  });

  it('gets no older versions of its objects', () => {
    expect(cloud.s3(acme, 's3:GetObjectVersion', object(`${own.data}x`))).toBe('not allowed');
    expect(cloud.s3(acme, 's3:DeleteObjectVersion', object(`${own.data}x`))).toBe('not allowed');
  });

  it('lists its objects, and learns of a missing one that it is missing', () => {
    for (const listed of [own.data, own.tenantPrefix, `${own.tenantPrefix}access/`, own.keyring]) {
      expect(cloud.s3(acme, 's3:ListBucket', cloud.bucketArn, { 's3:prefix': listed }), listed).toBe(
        'allowed',
      );
    }
  });

  it('lists nothing else', () => {
    for (const listed of foreignListings) {
      expect(cloud.s3(acme, 's3:ListBucket', cloud.bucketArn, { 's3:prefix': listed }), listed).toBe(
        'denied',
      );
    }
    expect(cloud.s3(acme, 's3:ListBucket', cloud.bucketArn)).toBe('denied');
    expect(cloud.s3(acme, 's3:ListBucketVersions', cloud.bucketArn, { 's3:prefix': own.data })).toBe(
      'not allowed',
    );
    expect(cloud.s3(acme, 's3:GetBucketPolicy', cloud.bucketArn)).toBe('not allowed');
    expect(cloud.s3(acme, 's3:PutBucketPolicy', cloud.bucketArn)).toBe('not allowed');
  });

  it('is denied everything without TLS 1.2', () => {
    for (const facts of [{ 'aws:SecureTransport': 'false' }, { 's3:TlsVersion': '1.1' }]) {
      expect(cloud.s3(acme, 's3:GetObject', object(`${own.data}x`), facts)).toBe('denied');
    }
  });

  it('does not become another tenant, nor itself again', () => {
    for (const tenant of ['globex', 'acme']) {
      expect(cloud.assume(acme, cloud.tenantRoleArn, { tenant })).toBe('not allowed');
    }
  });

  it('is denied everything when the session carries no tenant', () => {
    const untagged: Session = { roleArn: cloud.tenantRoleArn, tags: {} };
    const misnamed: Session = { roleArn: cloud.tenantRoleArn, tags: { customer: 'acme' } };
    for (const session of [untagged, misnamed]) {
      for (const key of [...ownKeys, own.keyring, `${top}tenants//data/x`, `${top}keyrings/`]) {
        expect(cloud.s3(session, 's3:GetObject', object(key))).toBe('denied');
      }
      expect(cloud.s3(session, 's3:ListBucket', cloud.bucketArn, { 's3:prefix': own.data })).toBe('denied');
      expect(cloud.kms(session, 'kms:Decrypt', encryptionContextOf('acme'))).toBe('denied');
    }
  });

  it('is all that the worker and the expiry function can reach of the objects and keys', () => {
    for (const role of ['WorkerRole', 'ExpiryRole']) {
      const session = cloud.functionSession(role);
      for (const action of [...reading, 's3:PutObject']) {
        expect(cloud.s3(session, action, object(`${own.data}x`), UNDER_PRECONDITION)).toBe('not allowed');
        expect(cloud.s3(session, action, object(own.keyring), UNDER_PRECONDITION)).toBe('not allowed');
      }
      expect(cloud.s3(session, 's3:ListBucket', cloud.bucketArn, { 's3:prefix': own.data })).toBe(
        'not allowed',
      );
      for (const action of ['kms:Decrypt', 'kms:GenerateDataKey', 'kms:Encrypt', 'kms:CreateGrant']) {
        expect(cloud.kms(session, action, encryptionContextOf('acme'))).toBe('not allowed');
      }
    }
  });

  it('opens no message of a queue, which the functions open through SQS alone', () => {
    for (const action of ['kms:Decrypt', 'kms:GenerateDataKey']) {
      expect(cloud.queueKey(acme, action)).toBe('not allowed');
      for (const role of ['WorkerRole', 'ExpiryRole']) {
        const session = cloud.functionSession(role);
        expect(cloud.queueKey(session, action), role).toBe('allowed');
        expect(cloud.queueKey(session, action, 'secretsmanager.eu-central-1.amazonaws.com')).toBe(
          'not allowed',
        );
      }
    }
    expect(cloud.queueKey(cloud.functionSession('WorkerRole'), 'kms:CreateGrant')).toBe('not allowed');
    expect(cloud.other(acme, 'sqs:ReceiveMessage', 'arn:aws:sqs:eu-central-1:111122223333:MemoryTurns')).toBe(
      'not allowed',
    );
  });

  it('tells the expiry function alone who the tenants are', () => {
    const list = (role: string, listed: string) =>
      cloud.s3(cloud.functionSession(role), 's3:ListBucket', cloud.bucketArn, { 's3:prefix': listed });
    expect(list('ExpiryRole', `${top}keyrings/`)).toBe('allowed');
    expect(list('WorkerRole', `${top}keyrings/`)).toBe('not allowed');
    for (const listed of ['', `${top}tenants/`, own.keyring]) {
      expect(list('ExpiryRole', listed)).toBe('not allowed');
    }
  });

  it('is kept with its tenant by its own permissions as well, without the bucket’s policy', () => {
    const template = synthesize({ prefix });
    const policy = Object.values(template.Resources).find(({ Type }) => Type === 'AWS::S3::BucketPolicy');
    const document = policy?.Properties['PolicyDocument'] as { Statement: { readonly Sid?: string }[] };
    document.Statement = document.Statement.filter(({ Sid }) => !Sid?.startsWith('TenantRole'));
    const bare = deploy(template);
    const session = tenantSession(bare, 'acme');
    expect(bare.s3(session, 's3:GetObject', `${bare.bucketArn}/${own.data}x`)).toBe('allowed');
    for (const key of foreignKeys) {
      for (const action of [...reading, 's3:PutObject']) {
        expect(bare.s3(session, action, `${bare.bucketArn}/${key}`), key).toBe('not allowed');
      }
    }
    for (const listed of foreignListings) {
      expect(bare.s3(session, 's3:ListBucket', bare.bucketArn, { 's3:prefix': listed }), listed).toBe(
        'not allowed',
      );
    }
    expect(bare.s3(session, 's3:ListBucket', bare.bucketArn)).toBe('not allowed');
  });

  it('is denied other tenants even where the role is allowed everything', () => {
    const template = synthesize({ prefix });
    const policy = Object.values(template.Resources).find(
      ({ Type, Properties }) =>
        Type === 'AWS::IAM::Policy' && JSON.stringify(Properties['Roles']).includes('MemoryTenantRole'),
    );
    const document = policy?.Properties['PolicyDocument'] as { readonly Statement: object[] };
    document.Statement.push({ Effect: 'Allow', Action: '*', Resource: '*' });
    const open = deploy(template);
    const session = tenantSession(open, 'acme');
    expect(open.s3(session, 's3:DeleteObjectVersion', `${open.bucketArn}/${own.data}x`)).toBe('allowed');
    for (const key of foreignKeys) {
      expect(open.s3(session, 's3:GetObject', `${open.bucketArn}/${key}`), key).toBe('denied');
    }
    expect(open.s3(session, 's3:ListBucket', open.bucketArn, { 's3:prefix': other.data })).toBe('denied');
    expect(open.kms(session, 'kms:Decrypt', encryptionContextOf('globex'))).toBe('not allowed');
  });
});
