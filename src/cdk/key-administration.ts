import { AccountRootPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';

/** All that runs a key and nothing that uses it: no Encrypt, Decrypt, GenerateDataKey, ReEncrypt, CreateGrant. */
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

/** The account runs the key, and may let others run it through IAM. */
export function accountAdministers(): PolicyStatement {
  return new PolicyStatement({
    sid: 'AccountAdministers',
    principals: [new AccountRootPrincipal()],
    actions: ADMINISTRATION,
    resources: ['*'],
  });
}
