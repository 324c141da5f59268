import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

/** The API key in a secret of Secrets Manager whose whole text it is. */
export async function readApiKey(secretArn: string): Promise<string> {
  const client = new SecretsManagerClient({});
  try {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: secretArn }));
    const key = SecretString?.trim();
    if (!key) throw new Error('The secret of the API key is empty.');
    return key;
  } finally {
    client.destroy();
  }
}
