import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parsePolicy, type Statement } from './iam/policy.ts';
import { judge, type Verdict } from './iam/simulator.ts';

/*
 * A key in a customer's account is used from ours: AWS asks the policy of the key and that of our role, and both must
 * allow it. The documents are those that docs/byok.md hands out.
 */

const TENANT_ROLE = 'arn:aws:iam::111122223333:role/tenant';
const CUSTOMER = '444455556666';
const KEY = `arn:aws:kms:eu-central-1:${CUSTOMER}:key/1234abcd-12ab-34cd-56ef-1234567890ab`;

const documentOf = (name: string): readonly Statement[] =>
  parsePolicy(
    JSON.parse(
      readFileSync(`docs/iam/${name}.json`, 'utf8')
        .replaceAll('<TENANT_ROLE_ARN>', TENANT_ROLE)
        .replaceAll('<CUSTOMER_ACCOUNT>', CUSTOMER)
        .replaceAll('<CUSTOMER_KEY_ARN>', KEY)
        .replaceAll('<TENANT>', 'acme'),
    ),
  );
const ofKey = documentOf('customer-key');
const ofRole = documentOf('customer-keys');

interface Asked {
  readonly roleArn?: string;
  /** The tenant in the session of the role. */
  readonly session?: string;
  readonly action?: string;
  readonly pairs?: Readonly<Record<string, string>>;
  readonly key?: string;
}

const PAIRS = {
  app: 'sealed-memory',
  keyring: 'AAAAAAAAAAAAAAAAAAAAAA',
  kind: 'keyring',
  tenant: 'acme',
  version: '1',
};

function ask({
  roleArn = TENANT_ROLE,
  session = 'acme',
  action = 'kms:Decrypt',
  pairs = PAIRS,
  key = KEY,
}: Asked): {
  readonly key: Verdict;
  readonly role: Verdict;
} {
  const facts = Object.entries(pairs).map(
    ([name, value]) => [`kms:encryptioncontext:${name}`, [value]] as const,
  );
  const context = new Map<string, readonly string[]>([
    ['aws:principalarn', [roleArn]],
    ['aws:principaltag/tenant', [session]],
    ['kms:encryptioncontextkeys', Object.keys(pairs)],
    ...facts,
  ]);
  const request = { roleArn, action, resource: key, context };
  return {
    key: judge(request, { identity: [], resource: ofKey, resourceDecides: true }),
    role: judge(request, { identity: ofRole, resource: [], resourceDecides: false }),
  };
}

const BOTH = { key: 'allowed', role: 'allowed' };
const NO = 'not allowed';

describe('a key in a customer’s account', () => {
  it.each(['kms:Decrypt', 'kms:GenerateDataKey'])('lets our role %s for his tenant', (action) => {
    expect(ask({ action })).toEqual(BOTH);
  });

  it.each([
    ['another tenant', { ...PAIRS, tenant: 'globex' }],
    ['another program', { ...PAIRS, app: 'other' }],
    ['no context', {}],
  ])('is not used by our role for %s', (_, pairs) => {
    expect(ask({ pairs })).toEqual({ key: NO, role: NO });
  });

  it('is not used for his tenant in the session of another one, by the policy of our role', () => {
    expect(ask({ session: 'globex' })).toEqual({ key: 'allowed', role: NO });
  });

  it('is not used by another role of ours, nor by our account', () => {
    for (const roleArn of [`${TENANT_ROLE}2`, 'arn:aws:iam::111122223333:role/worker']) {
      expect(ask({ roleArn }).key).toBe(NO);
    }
  });

  it.each([
    'kms:Encrypt',
    'kms:ReEncryptFrom',
    'kms:DescribeKey',
    'kms:CreateGrant',
    'kms:DisableKey',
    'kms:PutKeyPolicy',
  ])('does not let our role %s', (action) => {
    expect(ask({ action })).toEqual({ key: NO, role: NO });
  });

  it('is no other key to our role', () => {
    expect(ask({ key: KEY.replace(/b$/, 'c') }).role).toBe(NO);
  });

  it('is disabled, enabled and given away by its account, which does not use it by this policy', () => {
    const identity = parsePolicy({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 'kms:*', Resource: '*' }],
    });
    const as = (action: string): Verdict =>
      judge(
        {
          roleArn: `arn:aws:iam::${CUSTOMER}:role/admin`,
          action,
          resource: KEY,
          context: new Map(
            Object.entries(PAIRS).map(([name, value]) => [`kms:encryptioncontext:${name}`, [value]]),
          ),
        },
        { identity, resource: ofKey, resourceDecides: true },
      );
    for (const action of ['kms:DisableKey', 'kms:EnableKey', 'kms:PutKeyPolicy', 'kms:ScheduleKeyDeletion']) {
      expect(as(action), action).toBe('allowed');
    }
    for (const action of ['kms:Decrypt', 'kms:GenerateDataKey']) expect(as(action), action).toBe(NO);
  });

  it('is told of in two pairs of the context, and names one principal besides its account', () => {
    const text = readFileSync('docs/iam/customer-key.json', 'utf8');
    expect(text.match(/kms:EncryptionContext:\w+/g)).toEqual([
      'kms:EncryptionContext:app',
      'kms:EncryptionContext:tenant',
    ]);
    expect(text.match(/"AWS": "[^"]+"/g)).toEqual([
      '"AWS": "arn:aws:iam::<CUSTOMER_ACCOUNT>:root"',
      '"AWS": "<TENANT_ROLE_ARN>"',
    ]);
  });
});
