import { describe, expect, it } from 'vitest';
import { ADMINISTRATOR, deploy, encryptionContextOf, type Session, tenantSession } from './iam/deployment.ts';
import { synthesize } from './synthesized.ts';

const OPERATOR = 'arn:aws:iam::111122223333:role/operator';
const STRANGER = 'arn:aws:iam::111122223333:role/stranger';
const CUSTOMER = 'arn:aws:kms:us-east-1:444455556666:key/';
const FORMER_KEY = 'arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-3333-4444-555555555555';

describe('the role of the tenants', { timeout: 60_000 }, () => {
  const cloud = deploy(synthesize({ operatorRoleArns: OPERATOR }));
  const worker = cloud.functionSession('WorkerRole');
  const assume = (session: Session, tags: Readonly<Record<string, string>>) => {
    const got = cloud.assume(session, cloud.tenantRoleArn, tags);
    return typeof got === 'string' ? got : 'assumed';
  };

  it.each(['acme', '0', 'a-b-c', 'z9', 'a'.repeat(63)])('is assumed for the tenant %s', (tenant) => {
    expect(assume(worker, { tenant })).toBe('assumed');
  });

  it('is assumed by the expiry function and by operators', () => {
    expect(assume(cloud.functionSession('ExpiryRole'), { tenant: 'acme' })).toBe('assumed');
    expect(assume({ roleArn: OPERATOR, tags: {} }, { tenant: 'acme' })).toBe('assumed');
  });

  it('is assumed by no other principal', () => {
    const others = [
      STRANGER,
      'arn:aws:iam::111122223333:role/WorkerRole',
      'arn:aws:iam::999999999999:role/operator',
    ];
    for (const roleArn of others) {
      expect(assume({ roleArn, tags: {} }, { tenant: 'acme' })).toBe('not allowed');
      expect(assume({ roleArn, tags: { tenant: 'acme' } }, { tenant: 'acme' })).toBe('not allowed');
    }
  });

  it.each<readonly [string, Readonly<Record<string, string>>]>([
    ['without a tag', {}],
    ['with another tag alone', { customer: 'acme' }],
    ['with a tag more', { tenant: 'acme', customer: 'acme' }],
    ['with the tag in another spelling', { Tenant: 'acme' }],
    ['with an empty tenant', { tenant: '' }],
    ['with a tenant inside another', { tenant: 'acme/data' }],
    ['with a slash at the end', { tenant: 'acme/' }],
    ['with dots', { tenant: '..' }],
    ['with a capital letter', { tenant: 'Acme' }],
    ['with a space', { tenant: 'ac me' }],
    ['with an underscore', { tenant: 'ac_me' }],
    ['with a colon', { tenant: 'ac:me' }],
    ['with a hyphen at the beginning', { tenant: '-acme' }],
    ['with 64 characters', { tenant: 'a'.repeat(64) }],
  ])('is not assumed %s', (_, tags) => {
    expect(assume(worker, tags)).toBe('not allowed');
  });

  it('is the only one the worker and the expiry function become', () => {
    for (const role of ['WorkerRole', 'ExpiryRole']) {
      const session = cloud.functionSession(role);
      expect(cloud.other(session, 'sts:AssumeRole', OPERATOR)).toBe('not allowed');
      expect(cloud.other(session, 'sts:AssumeRole', cloud.tenantRoleArn)).toBe('allowed');
    }
  });
});

describe('an administrator of the account, who is allowed everything by IAM', { timeout: 60_000 }, () => {
  const template = synthesize();
  const cloud = deploy({ ...template, Resources: { ...template.Resources, ...ADMINISTRATOR.resources } });
  const session: Session = { roleArn: ADMINISTRATOR.roleArn, tags: { tenant: 'acme' } };

  it('administers the root key', () => {
    for (const action of ['PutKeyPolicy', 'DescribeKey', 'ScheduleKeyDeletion', 'RotateKeyOnDemand']) {
      expect(cloud.kms(session, `kms:${action}`, {})).toBe('allowed');
    }
  });

  it('does not use it, nor grants its use', () => {
    for (const action of [
      'Decrypt',
      'GenerateDataKey',
      'Encrypt',
      'ReEncryptFrom',
      'ReEncryptTo',
      'CreateGrant',
    ]) {
      expect(cloud.kms(session, `kms:${action}`, encryptionContextOf('acme')), action).toBe('not allowed');
    }
  });

  it('does not become a tenant', () => {
    expect(cloud.assume(session, cloud.tenantRoleArn, { tenant: 'acme' })).toBe('not allowed');
  });

  it('reads sealed objects, but not without TLS', () => {
    const key = `${cloud.bucketArn}/tenants/acme/data/x`;
    expect(cloud.s3(session, 's3:GetObject', key)).toBe('allowed');
    expect(cloud.s3(session, 's3:GetObject', key, { 'aws:SecureTransport': 'false' })).toBe('denied');
  });
});

describe('the root key, to a session of one tenant', { timeout: 60_000 }, () => {
  const cloud = deploy(synthesize({ formerRootKeyArns: FORMER_KEY }));
  const acme = tenantSession(cloud, 'acme');

  it('serves for keyrings of its own', () => {
    for (const action of ['kms:GenerateDataKey', 'kms:Decrypt']) {
      expect(cloud.kms(acme, action, encryptionContextOf('acme'))).toBe('allowed');
    }
  });

  it.each<readonly [string, Readonly<Record<string, string>>]>([
    ['of another tenant', encryptionContextOf('globex')],
    ['of a tenant whose name begins the same', encryptionContextOf('acme-2')],
    [
      'of no tenant',
      Object.fromEntries(Object.entries(encryptionContextOf('acme')).filter(([name]) => name !== 'tenant')),
    ],
    ['of two tenants', { ...encryptionContextOf('globex'), Tenant: 'acme' }],
    ['of the tenant in another spelling', { ...encryptionContextOf('acme'), Tenant: 'globex' }],
    ['of another app', { ...encryptionContextOf('acme'), app: 'another' }],
    ['of another kind', { ...encryptionContextOf('acme'), kind: 'object' }],
    ['of another version', { ...encryptionContextOf('acme'), version: '2' }],
    [
      'without a keyring id',
      Object.fromEntries(Object.entries(encryptionContextOf('acme')).filter(([name]) => name !== 'keyring')),
    ],
    ['with a pair more', { ...encryptionContextOf('acme'), more: 'x' }],
    ['without a context', {}],
  ])('serves for no keyring %s', (_, pairs) => {
    for (const action of ['kms:GenerateDataKey', 'kms:Decrypt']) {
      expect(cloud.kms(acme, action, pairs), action).toBe('not allowed');
    }
  });

  it('only opens, once it is a former one', () => {
    expect(cloud.kms(acme, 'kms:Decrypt', encryptionContextOf('acme'), FORMER_KEY)).toBe('allowed');
    expect(cloud.kms(acme, 'kms:GenerateDataKey', encryptionContextOf('acme'), FORMER_KEY)).toBe(
      'not allowed',
    );
    expect(cloud.kms(acme, 'kms:Decrypt', encryptionContextOf('globex'), FORMER_KEY)).toBe('not allowed');
  });

  it.each(['Encrypt', 'ReEncryptFrom', 'ReEncryptTo', 'CreateGrant', 'PutKeyPolicy', 'ScheduleKeyDeletion'])(
    'does not serve for kms:%s',
    (action) => {
      expect(cloud.kms(acme, `kms:${action}`, encryptionContextOf('acme'))).toBe('not allowed');
    },
  );
});

describe('a key in a customer’s account, to a session of one tenant', { timeout: 60_000 }, () => {
  const cloud = deploy(synthesize({ customerKeyArns: `${CUSTOMER}*` }));
  const acme = tenantSession(cloud, 'acme');
  const key = `${CUSTOMER}11111111-2222-3333-4444-555555555555`;

  it('serves for keyrings of its own, as far as the key lets it', () => {
    for (const action of ['kms:GenerateDataKey', 'kms:Decrypt']) {
      expect(cloud.kms(acme, action, encryptionContextOf('acme'), key)).toBe('allowed');
    }
  });

  it('serves for nothing else, and no other account’s key does', () => {
    const more = { ...encryptionContextOf('acme'), more: 'x' };
    for (const pairs of [encryptionContextOf('globex'), more, {}]) {
      expect(cloud.kms(acme, 'kms:Decrypt', pairs, key)).toBe('not allowed');
    }
    for (const action of ['kms:Encrypt', 'kms:CreateGrant', 'kms:DisableKey']) {
      expect(cloud.kms(acme, action, encryptionContextOf('acme'), key)).toBe('not allowed');
    }
    const others = key.replace('444455556666', '777788889999');
    expect(cloud.kms(acme, 'kms:Decrypt', encryptionContextOf('acme'), others)).toBe('not allowed');
    const closed = deploy(synthesize());
    const session = tenantSession(closed, 'acme');
    expect(closed.kms(session, 'kms:Decrypt', encryptionContextOf('acme'), key)).toBe('not allowed');
  });

  it('is used by the sessions of tenants alone', () => {
    for (const role of ['WorkerRole', 'ExpiryRole']) {
      const session = cloud.functionSession(role);
      expect(cloud.kms(session, 'kms:Decrypt', encryptionContextOf('acme'), key)).toBe('not allowed');
    }
  });

  it.each(['*', 'arn:aws:kms:us-east-1:444455556666:alias/acme', 'arn:aws:s3:::bucket', '444455556666'])(
    'is not named %s',
    (customerKeyArns) => {
      expect(() => synthesize({ customerKeyArns })).toThrow('customerKeyArns');
    },
  );
});
