import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import type { S3Server } from './s3.ts';

export interface SessionCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

export interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

/** Gets temporary credentials from the server's own STS, which may do what the statements allow and nothing else. */
export async function restrictedCredentials(
  server: S3Server,
  statements: readonly Statement[],
): Promise<SessionCredentials> {
  const { endpoint, region, accessKeyId, secretAccessKey } = server;
  const sts = new STSClient({ endpoint, region, credentials: { accessKeyId, secretAccessKey } });
  try {
    const { Credentials: given } = await sts.send(
      new AssumeRoleCommand({
        RoleArn: 'arn:aws:iam::111122223333:role/worker',
        RoleSessionName: 'worker',
        DurationSeconds: 3600,
        Policy: JSON.stringify({ Version: '2012-10-17', Statement: statements }),
      }),
    );
    const { AccessKeyId, SecretAccessKey, SessionToken } = given ?? {};
    if (AccessKeyId === undefined || SecretAccessKey === undefined || SessionToken === undefined) {
      throw new Error('the STS gave no credentials');
    }
    return { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken };
  } finally {
    sts.destroy();
  }
}

/**
 * Makes the permissions of one tenant's worker: that tenant's objects and keyring, and listings of its own tree only.
 */
export function tenantStatements(bucket: string, tenant: string): readonly Statement[] {
  const arn = `arn:aws:s3:::${bucket}`;
  return [
    {
      Effect: 'Allow',
      Action: ['s3:GetObject', 's3:PutObject', 's3:DeleteObject', 's3:AbortMultipartUpload'],
      Resource: [`${arn}/tenants/${tenant}/*`],
    },
    { Effect: 'Allow', Action: ['s3:GetObject', 's3:PutObject'], Resource: [`${arn}/keyrings/${tenant}`] },
    {
      Effect: 'Allow',
      Action: ['s3:ListBucket'],
      Resource: [arn],
      Condition: { StringLike: { 's3:prefix': [`tenants/${tenant}/*`] } },
    },
  ];
}
