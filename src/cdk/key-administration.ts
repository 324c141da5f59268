import { Annotations } from 'aws-cdk-lib';
import { AccountRootPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';

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

/**
 * Puts a statement into the policy of a key that the caller gave; a warning says what to put there by hand where the CDK
 * cannot write that policy.
 */
export function addToGivenKey(
  scope: Construct,
  key: IKey,
  {
    statement,
    warning,
    name,
    source,
  }: {
    readonly statement: PolicyStatement;
    /** The name of the warning, by which it can be acknowledged. */
    readonly warning: string;
    /** The name of the key in the warning, and the place where its statements stand. */
    readonly name: string;
    readonly source: string;
  },
): void {
  if (key.addToResourcePolicy(statement, true).statementAdded) return;
  Annotations.of(scope).addWarningV2(
    `sealed-memory:${warning}`,
    `The policy of the ${name} is not made here: put ${source} into it.`,
  );
}
