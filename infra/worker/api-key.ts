import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

const NAME = 'ANTHROPIC_API_KEY';
/** The time for all attempts together, in milliseconds. */
const WITHIN_MS = 10_000;

/**
 * Reads the API key from a secret of Secrets Manager.
 *
 * @throws Error when it cannot be read, or holds none.
 */
export async function readApiKey(secretArn: string): Promise<string> {
  const client = new SecretsManagerClient({});
  try {
    const command = new GetSecretValueCommand({ SecretId: secretArn });
    const { SecretString } = await client.send(command, { abortSignal: AbortSignal.timeout(WITHIN_MS) });
    return apiKeyOf(SecretString ?? '');
  } finally {
    client.destroy();
  }
}

/**
 * Takes the key from a secret: its whole text, or the member `ANTHROPIC_API_KEY` of a JSON object.
 *
 * @throws Error.
 */
export function apiKeyOf(secret: string): string {
  const key = memberOf(secret).trim();
  if (key === '') throw new Error('The secret of the API key is empty.');
  return key;
}

function memberOf(secret: string): string {
  let fields: unknown;
  try {
    fields = JSON.parse(secret);
  } catch {
    return secret;
  }
  if (typeof fields !== 'object' || fields === null) return secret;
  const key = (fields as Readonly<Record<string, unknown>>)[NAME];
  if (typeof key !== 'string') throw new Error(`The secret of the API key is JSON without ${NAME}.`);
  return key;
}
