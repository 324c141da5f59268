import { Aws } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { addToGivenKey } from './key-administration.ts';

/** Lets a key of the account's encrypt the log groups of this account, in its own policy where the CDK can write it. */
export function useAccountKey(scope: Construct, key: IKey): void {
  addToGivenKey(scope, key, {
    statement: logsUse(),
    warning: 'account-key-policy',
    name: 'account key',
    source: 'the statement of docs/deployment.md, "A key of the account\'s",',
  });
}

/** Makes the statement by which CloudWatch Logs uses the key; Secrets Manager asks on behalf of the reader instead. */
function logsUse(): PolicyStatement {
  return new PolicyStatement({
    sid: 'LogsUseAccountKey',
    principals: [new ServicePrincipal(`logs.${Aws.REGION}.amazonaws.com`)],
    actions: ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey*', 'kms:ReEncrypt*'],
    resources: ['*'],
    conditions: {
      ArnLike: {
        'kms:EncryptionContext:aws:logs:arn': `arn:${Aws.PARTITION}:logs:${Aws.REGION}:${Aws.ACCOUNT_ID}:log-group:*`,
      },
    },
  });
}
