import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { AssumeRoleCommand, type Credentials, STSClient } from '@aws-sdk/client-sts';
import { parseTenantId, type TenantId } from '../../../src/format/object-keys.ts';
import type { S3Server } from '../servers/s3-server.ts';
import { type AccessKey, isSignedWith } from './signature.ts';

export interface TokenServiceOptions {
  readonly minio: S3Server;
  /** The roles that may become a tenant. */
  readonly caller: AccessKey;
  readonly roleArn: string;
  /** Makes the policy of a session of one tenant on the server. */
  readonly policyOf: (tenant: TenantId) => string;
  /** The address to listen on; a free port of 127.0.0.1 by default. */
  readonly host?: string;
  readonly port?: number;
}

/** Answers `AssumeRole` with the session tag `tenant`, as AWS does for the tenant role. */
export interface TokenService extends AsyncDisposable {
  readonly url: string;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const NAMESPACE = 'https://sts.amazonaws.com/doc/2011-06-15/';
const FIELDS = [
  ...['Action', 'Version', 'RoleArn', 'RoleSessionName', 'DurationSeconds'],
  ...['Tags.member.1.Key', 'Tags.member.1.Value'],
];

/**
 * Starts a token service before MinIO's, which knows no session tags: it turns the tag into a session policy. It is
 * stricter than AWS: one caller, one role, one tag, and no other parameter.
 */
export async function startTokenService(options: TokenServiceOptions): Promise<TokenService> {
  const { endpoint, region, accessKeyId, secretAccessKey } = options.minio;
  const { host = '127.0.0.1', port = 0 } = options;
  const sts = new STSClient({ endpoint, region, credentials: { accessKeyId, secretAccessKey } });
  const server = createServer((request, response) => {
    answer({ request, response, options, sts }).catch((error: unknown) => refuse(response, error));
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      sts.destroy();
    },
  };
}

async function answer(exchange: {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly options: TokenServiceOptions;
  readonly sts: STSClient;
}): Promise<void> {
  const { request, response, options, sts } = exchange;
  const { method = '', url: path = '', headers } = request;
  const body = await readText(request);
  if (!isSignedWith(options.caller, { method, path, headers, body })) {
    throw new Refusal(403, 'InvalidClientTokenId', 'The security token included in the request is invalid.');
  }
  const { tenant, sessionName, seconds } = readRequest(new URLSearchParams(body), options.roleArn);
  const { Credentials: given } = await sts.send(
    new AssumeRoleCommand({
      RoleArn: options.roleArn,
      RoleSessionName: sessionName,
      DurationSeconds: seconds,
      Policy: options.policyOf(tenant),
    }),
  );
  if (given === undefined) throw new Error('MinIO gave no credentials');
  response.writeHead(200, { 'content-type': 'text/xml' });
  response.end(
    `<AssumeRoleResponse xmlns="${NAMESPACE}"><AssumeRoleResult>${credentialsXml(given)}</AssumeRoleResult></AssumeRoleResponse>`,
  );
}

function readRequest(
  fields: URLSearchParams,
  roleArn: string,
): { readonly tenant: TenantId; readonly sessionName: string; readonly seconds: number } {
  const names = [...fields.keys()];
  if (names.some((name) => !FIELDS.includes(name)) || new Set(names).size !== names.length) {
    throw new Refusal(400, 'ValidationError', 'The request has a parameter that is not known here.');
  }
  const isAllowed =
    fields.get('Action') === 'AssumeRole' &&
    fields.get('RoleArn') === roleArn &&
    fields.get('Tags.member.1.Key') === 'tenant';
  const denied = new Refusal(403, 'AccessDenied', 'Not authorized to perform: sts:AssumeRole');
  if (!isAllowed) throw denied;
  try {
    return {
      tenant: parseTenantId(fields.get('Tags.member.1.Value') ?? ''),
      sessionName: fields.get('RoleSessionName') ?? '',
      seconds: Number(fields.get('DurationSeconds') ?? 3_600),
    };
  } catch {
    throw denied;
  }
}

function credentialsXml({ AccessKeyId, SecretAccessKey, SessionToken, Expiration }: Credentials): string {
  const fields = { AccessKeyId, SecretAccessKey, SessionToken, Expiration: Expiration?.toISOString() };
  const tags = Object.entries(fields).map(([name, value]) => `<${name}>${escapeXml(value ?? '')}</${name}>`);
  return `<Credentials>${tags.join('')}</Credentials>`;
}

function refuse(response: ServerResponse, error: unknown): void {
  const { status, code, message } =
    error instanceof Refusal ? error : new Refusal(500, 'InternalFailure', 'MinIO gave no credentials');
  response.writeHead(status, { 'content-type': 'text/xml' });
  response.end(
    `<ErrorResponse xmlns="${NAMESPACE}"><Error><Type>Sender</Type><Code>${code}</Code><Message>${escapeXml(message)}</Message></Error></ErrorResponse>`,
  );
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
