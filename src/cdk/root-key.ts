import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { AccountRootPrincipal, type IRole, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { TENANT_TAG } from './tenant-resources.ts';

/** All that runs the key and nothing that uses it: no Encrypt, Decrypt, GenerateDataKey, ReEncrypt, CreateGrant. */
const ADMINISTRATION = [
  'kms:CancelKeyDeletion',
  'kms:CreateAlias',
  'kms:DeleteAlias',
  'kms:DescribeKey',
  'kms:DisableKey',
  'kms:DisableKeyRotation',
  'kms:EnableKey',
  'kms:EnableKeyRotation',
  'kms:GetKeyPolicy',
  'kms:GetKeyRotationStatus',
  'kms:ListGrants',
  'kms:ListKeyPolicies',
  'kms:ListKeyRotations',
  'kms:ListResourceTags',
  'kms:PutKeyPolicy',
  'kms:RetireGrant',
  'kms:RevokeGrant',
  'kms:RotateKeyOnDemand',
  'kms:ScheduleKeyDeletion',
  'kms:TagResource',
  'kms:UntagResource',
  'kms:UpdateAlias',
  'kms:UpdateKeyDescription',
];

/** The pairs of docs/format.md, "Root wrap", as conditions: five, no other, and the session's own tenant. */
const OWN_CONTEXT = {
  StringEquals: {
    'kms:EncryptionContext:app': 'sealed-memory',
    'kms:EncryptionContext:kind': 'keyring',
    'kms:EncryptionContext:tenant': TENANT_TAG,
    'kms:EncryptionContext:version': '1',
  },
  // Names of conditions ignore case, names of pairs do not: this one compares them exactly.
  'ForAllValues:StringEquals': {
    'kms:EncryptionContextKeys': ['app', 'keyring', 'kind', 'tenant', 'version'],
  },
  Null: { 'kms:EncryptionContext:keyring': 'false' },
};

/**
 * The root key of all tenants. The account administers it and may let others do so through IAM; the policy of the
 * key itself names the one role that may use it, so that no policy elsewhere can.
 *
 * @param options.generation One more makes a new key. The one before stays in the account, with its policy.
 */
export function createRootKey(
  scope: Construct,
  { usedBy, generation }: { readonly usedBy: IRole; readonly generation: number },
): Key {
  return new Key(scope, generation === 1 ? 'RootKey' : `RootKey${generation}`, {
    description: 'sealed-memory: wraps the keyrings of all tenants',
    enableKeyRotation: true,
    rotationPeriod: Duration.days(365),
    pendingWindow: Duration.days(30),
    removalPolicy: RemovalPolicy.RETAIN,
    policy: new PolicyDocument({
      statements: [
        new PolicyStatement({
          sid: 'AccountAdministers',
          principals: [new AccountRootPrincipal()],
          actions: ADMINISTRATION,
          resources: ['*'],
        }),
        new PolicyStatement({
          sid: 'TenantRoleUsesOwnContext',
          principals: [usedBy],
          actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
          resources: ['*'],
          conditions: OWN_CONTEXT,
        }),
      ],
    }),
  });
}

/** The same on the role's side. Former root keys only open what is still under them. */
export function rootKeyStatements({
  rootKeyArn,
  formerRootKeyArns,
}: {
  readonly rootKeyArn: string;
  readonly formerRootKeyArns: readonly string[];
}): readonly PolicyStatement[] {
  const use = new PolicyStatement({
    sid: 'OwnKeyring',
    actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
    resources: [rootKeyArn],
    conditions: OWN_CONTEXT,
  });
  if (formerRootKeyArns.length === 0) return [use];
  const open = new PolicyStatement({
    sid: 'OwnKeyringUnderFormerRootKeys',
    actions: ['kms:Decrypt'],
    resources: [...formerRootKeyArns],
    conditions: OWN_CONTEXT,
  });
  return [use, open];
}
