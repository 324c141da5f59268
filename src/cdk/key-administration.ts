import { AccountRootPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';

/**
 * All actions that administer a key, without those that use it: Encrypt, Decrypt, GenerateDataKey, ReEncrypt,
 * CreateGrant.
 */
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

/** Lets the account administer the key, and let others do so through IAM. */
export function accountAdministers(): PolicyStatement {
  return new PolicyStatement({
    sid: 'AccountAdministers',
    principals: [new AccountRootPrincipal()],
    actions: ADMINISTRATION,
    resources: ['*'],
  });
}
