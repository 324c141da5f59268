import type { S3Server } from './s3.ts';
import { sha256, signedHeaders } from './signed-headers.ts';

export interface SessionCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

export interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
}

/** Temporary credentials that may do what the statements allow and nothing else, from the server's own STS. */
export async function restrictedCredentials(
  server: S3Server,
  statements: readonly Statement[],
): Promise<SessionCredentials> {
  const { endpoint, region, accessKeyId, secretAccessKey } = server;
  const body = new URLSearchParams({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    DurationSeconds: '3600',
    Policy: JSON.stringify({ Version: '2012-10-17', Statement: statements }),
  }).toString();
  const headers = signedHeaders({
    method: 'POST',
    url: '/',
    headers: { host: new URL(endpoint).host, 'content-type': 'application/x-www-form-urlencoded' },
    bodyHash: sha256(body),
    service: 'sts',
    region,
    accessKeyId,
    secretAccessKey,
  });
  const response = await fetch(endpoint, { method: 'POST', headers, body });
  const answer = await response.text();
  const field = (name: string): string => {
    const value = new RegExp(`<${name}>([^<]+)</${name}>`).exec(answer)?.[1];
    if (value === undefined) throw new Error(`the STS answered ${response.status} without ${name}`);
    return value;
  };
  return {
    accessKeyId: field('AccessKeyId'),
    secretAccessKey: field('SecretAccessKey'),
    sessionToken: field('SessionToken'),
  };
}
