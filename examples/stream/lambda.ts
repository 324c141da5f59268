// The function behind a URL with `InvokeMode: RESPONSE_STREAM`. docs/recipes.md deploys it.
import { createPublicKey } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import Anthropic from '@anthropic-ai/sdk';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { STSClient } from '@aws-sdk/client-sts';
import type { LambdaFunctionURLEvent } from 'aws-lambda';
import { createMemoryPool, optionsFromEnvironment } from 'sealed-memory';
import { createTenantCredentials } from 'sealed-memory/worker';
import { createAuthorize } from './session.ts';
import { createTurnStream } from './stream-turn.ts';

/** The time that stays for the last event, in milliseconds. */
const RESERVE_MS = 5_000;

const { API_KEY_SECRET_ARN, SESSION_PUBLIC_KEY = '', TENANT_ROLE_ARN: roleArn } = process.env;
let client: Anthropic | undefined;

async function openClient(): Promise<Anthropic> {
  if (API_KEY_SECRET_ARN === undefined) return new Anthropic();
  const command = new GetSecretValueCommand({ SecretId: API_KEY_SECRET_ARN });
  const { SecretString } = await new SecretsManagerClient({}).send(command);
  return new Anthropic({ apiKey: SecretString ?? '' });
}

const answer = createTurnStream({
  pool: createMemoryPool(optionsFromEnvironment()),
  async client() {
    client ??= await openClient();
    return client;
  },
  model: 'claude-sonnet-5-5',
  authorize: createAuthorize(createPublicKey(SESSION_PUBLIC_KEY)),
  ...(roleArn && { credentials: createTenantCredentials({ sts: new STSClient({}), roleArn }) }),
  log: (ended) => console.log(JSON.stringify(ended)),
});

export const handler = awslambda.streamifyResponse<LambdaFunctionURLEvent>(async (event, stream, context) => {
  const limit = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - RESERVE_MS));
  const { status, headers, body } = await answer(event, limit);
  const http = awslambda.HttpResponseStream.from(stream, {
    statusCode: status,
    headers: Object.fromEntries(headers),
  });
  if (body !== null) await pipeline(Readable.fromWeb(body), http);
});
