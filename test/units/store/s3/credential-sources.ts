import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** The credentials with which a request to S3 was signed. */
interface Signed {
  readonly accessKeyId: string | undefined;
  readonly sessionToken: string | undefined;
}

/** A strict double of S3, of STS and of the services that hand out credentials, on one port of the loopback. */
export interface CredentialSite extends AsyncDisposable {
  readonly endpoint: string;
  /** A folder of this site alone: the AWS SDK reads each file of a path once. */
  readonly folder: string;
  /** Requests of S3 in order. All are answered by `NoSuchKey`. */
  readonly signed: readonly Signed[];
  /** How long the credentials live that are handed out next, in milliseconds. */
  livesMs: number;
  /** The fault in every answer of the services that hand out credentials. */
  fault: 'denied' | 'malformed' | undefined;
  /** The requests that a service got and that the real one would refuse. */
  readonly complaints: readonly string[];
  /** How often credentials were handed out. */
  readonly asks: number;
}

const ROLE = 'arn:aws:iam::123456789012:role/memory';
const WEB_TOKEN = 'a.web.token';
const CONTAINER_TOKEN = 'Bearer of-the-container';
const INSTANCE_TOKEN = 'token-of-the-instance';
const INSTANCE = '/latest/meta-data/iam/security-credentials/';

/** Answers the credentials of the ask with that number. */
export function credentialsOfAsk(ask: number): Signed {
  return { accessKeyId: `ASIAOFASK${ask}`, sessionToken: `token of ask ${ask}` };
}

export async function openCredentialSite(): Promise<CredentialSite> {
  const folder = await mkdtemp(join(tmpdir(), 'sealed-memory-credentials-'));
  const signed: Signed[] = [];
  const complaints: string[] = [];
  let handedOut = 0;
  const site = {
    livesMs: 3_600_000,
    fault: undefined as CredentialSite['fault'],
    get asks() {
      return handedOut;
    },
  };
  const expiration = (): string => new Date(Date.now() + site.livesMs).toISOString();

  const refuse = (response: ServerResponse, status: number, complaint: string): void => {
    complaints.push(complaint);
    response.writeHead(status).end();
  };

  /** Hands out credentials, in the form of JSON or of STS. */
  const handOut = (response: ServerResponse, form: (identity: Identity) => string): void => {
    if (site.fault === 'denied') {
      const denied =
        '<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>';
      response.writeHead(403, { 'content-type': 'text/xml' }).end(denied);
      return;
    }
    const { accessKeyId = '', sessionToken = '' } = credentialsOfAsk(++handedOut);
    const whole = form({ accessKeyId, sessionToken, expiration: expiration() });
    response.end(site.fault === 'malformed' ? '{"Code":"Success"}' : whole);
  };

  const sts = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await text(request));
    const action = form.get('Action') ?? '';
    const isProved =
      action === 'AssumeRoleWithWebIdentity'
        ? form.get('WebIdentityToken') === WEB_TOKEN && request.headers.authorization === undefined
        : action === 'AssumeRole' && signerOf(request) === 'AKIDOFBASE';
    if (!isProved || form.get('RoleArn') !== ROLE || !form.get('RoleSessionName')) {
      return refuse(response, 400, `STS was asked for ${action} wrongly`);
    }
    handOut(response, (identity) => {
      const { accessKeyId, sessionToken } = identity;
      return `<${action}Response><${action}Result><Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>${sessionToken}</SessionToken><Expiration>${identity.expiration}</Expiration></Credentials></${action}Result></${action}Response>`;
    });
  };

  const server = createServer(async (request, response) => {
    const { method, url = '', headers } = request;
    // Else a clock that a test sets would seem to be wrong.
    response.setHeader('date', new Date().toUTCString());
    if (url.startsWith('/bucket/')) {
      signed.push({
        accessKeyId: signerOf(request),
        sessionToken: headers['x-amz-security-token'] as string | undefined,
      });
      response.writeHead(404, { 'content-type': 'application/xml' });
      response.end('<Error><Code>NoSuchKey</Code></Error>');
    } else if (method === 'POST' && url === '/') {
      await sts(request, response);
    } else if (method === 'GET' && url === '/container') {
      if (headers.authorization !== CONTAINER_TOKEN)
        return refuse(response, 401, 'no token of the container');
      handOut(response, jsonOf);
    } else if (method === 'GET' && url === '/process') {
      handOut(response, processJsonOf);
    } else if (method === 'PUT' && url === '/latest/api/token') {
      if (!headers['x-aws-ec2-metadata-token-ttl-seconds'])
        return refuse(response, 400, 'no life of a token');
      response.end(INSTANCE_TOKEN);
    } else if (method === 'GET' && url.startsWith(INSTANCE)) {
      const isProved = headers['x-aws-ec2-metadata-token'] === INSTANCE_TOKEN;
      if (!isProved) return refuse(response, 401, 'no token of the instance');
      if (url === INSTANCE) response.end('the-role');
      else handOut(response, jsonOf);
    } else {
      refuse(response, 400, `${method} ${url}`);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');

  return Object.assign(site, {
    endpoint: `http://127.0.0.1:${address.port}`,
    folder,
    signed,
    complaints,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true });
    },
  });
}

interface Identity {
  readonly accessKeyId: string;
  readonly sessionToken: string;
  readonly expiration: string;
}

function jsonOf({ accessKeyId, sessionToken, expiration }: Identity): string {
  return JSON.stringify({
    Code: 'Success',
    Type: 'AWS-HMAC',
    LastUpdated: expiration,
    AccessKeyId: accessKeyId,
    SecretAccessKey: 'secret',
    Token: sessionToken,
    Expiration: expiration,
  });
}

function processJsonOf({ accessKeyId, sessionToken, expiration }: Identity): string {
  const identity = { AccessKeyId: accessKeyId, SecretAccessKey: 'secret', SessionToken: sessionToken };
  return JSON.stringify({ Version: 1, ...identity, Expiration: expiration });
}

function signerOf({ headers }: IncomingMessage): string | undefined {
  return /Credential=([^/]+)/.exec(headers.authorization ?? '')?.[1];
}

type Environment = Readonly<Record<string, string>>;

/**
 * The sources in which the AWS SDK looks for credentials. Each is made ready on a site and returns the environment that
 * leads there.
 */
export const CREDENTIAL_SOURCES: Readonly<Record<string, (site: CredentialSite) => Promise<Environment>>> = {
  async 'a profile that takes a role'({ folder, endpoint }) {
    const config = `[profile base]
aws_access_key_id = AKIDOFBASE
aws_secret_access_key = secret
[profile work]
role_arn = ${ROLE}
source_profile = base
`;
    await writeFile(join(folder, 'config'), config);
    return { AWS_PROFILE: 'work', AWS_ENDPOINT_URL_STS: endpoint };
  },
  async 'a web identity'({ folder, endpoint }) {
    const file = join(folder, 'web-token');
    await writeFile(file, WEB_TOKEN);
    return { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: ROLE, AWS_ENDPOINT_URL_STS: endpoint };
  },
  async 'a container'({ endpoint }) {
    return {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${endpoint}/container`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: CONTAINER_TOKEN,
    };
  },
  async 'an instance'({ endpoint }) {
    return { AWS_EC2_METADATA_SERVICE_ENDPOINT: endpoint };
  },
  async 'a process'({ folder, endpoint }) {
    const program = join(folder, 'credentials.mjs');
    const source = `const answer = await fetch('${endpoint}/process');
process.stdout.write(await answer.text());
process.exitCode = answer.ok ? 0 : 1;
`;
    await writeFile(program, source);
    const command = `"${process.execPath}" "${program}"`;
    await writeFile(join(folder, 'config'), `[profile work]\ncredential_process = ${command}\n`);
    return { AWS_PROFILE: 'work' };
  },
};
