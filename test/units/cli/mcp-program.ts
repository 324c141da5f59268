import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { bundleCli } from '../../../infra/bundle-cli.ts';
import { PROGRAM_ENV } from '../../stage/programs.ts';

type Env = Readonly<Record<string, string>>;

/** The protocol with a handshake, and the one of 2026 without. */
export const ERAS = ['legacy', 'auto'] as const;
type Era = (typeof ERAS)[number];

/** The command line as it is packed, in a folder with a store of its own. */
export interface McpSite extends AsyncDisposable {
  readonly folder: string;
  /** Settings of a memory in SQLite that several processes share. */
  readonly env: Env;
  /** Runs the program, or another copy of it. */
  start(args: readonly string[], env?: Env, copy?: string): ChildProcessWithoutNullStreams;
  /** A client with a server of its own, over standard input and output. */
  connect(era: Era, options?: { readonly env?: Env; readonly args?: readonly string[] }): Promise<Client>;
  /** A server over HTTP. */
  serve(env?: Env, args?: readonly string[]): Promise<ServedMcp>;
}

interface ServedMcp {
  readonly url: string;
  readonly token: string;
  readonly child: ChildProcessWithoutNullStreams;
  connect(era: Era): Promise<Client>;
}

export async function buildMcpSite(): Promise<McpSite> {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-mcp-'));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const program = join(folder, 'cli');
  await bundleCli(program);
  const own = {
    SEALED_MEMORY_STORE: `sqlite:${join(folder, 'memory.db')}`,
    SEALED_MEMORY_TENANT: 'acme',
    SEALED_MEMORY_ROOT_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
  const stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const environment = (env: Env): Record<string, string> => ({
    ...PROGRAM_ENV,
    HOME: folder,
    ...own,
    ...env,
  });

  const start: McpSite['start'] = (args, env = {}, copy = program) => {
    const child = spawn(process.execPath, [join(copy, 'main.cjs'), ...args], {
      cwd: folder,
      env: environment(env),
    });
    child.stdin.on('error', () => {});
    stack.defer(async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
    });
    return child;
  };
  const connectTo = async (era: Era, transport: Transport): Promise<Client> => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era } });
    await client.connect(transport);
    stack.defer(() => client.close());
    return client;
  };

  return {
    folder,
    env: own,
    start,
    connect: (era, { env = {}, args = [] } = {}) =>
      connectTo(
        era,
        new StdioClientTransport({
          command: process.execPath,
          args: [join(program, 'main.cjs'), 'mcp', ...args],
          env: environment(env),
          cwd: folder,
          stderr: 'ignore',
        }),
      ),
    async serve(env = {}, args = []) {
      const child = start(['--json', 'mcp', '--http', '0', ...args], env);
      child.stderr.resume();
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
      const { url, token } = JSON.parse(line) as { readonly url: string; readonly token: string };
      const headers = { authorization: `Bearer ${token}` };
      return {
        url,
        token,
        child,
        connect: (era) =>
          connectTo(era, new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })),
      };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** A command through the one tool. */
export function callMemory(client: Client, input: Readonly<Record<string, unknown>>, signal?: AbortSignal) {
  return client.callTool({ name: 'memory', arguments: { ...input } }, { ...(signal && { signal }) });
}

/** The beginning of an image, which is all that is looked at. */
export const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

/** Writes it to `/memories/a.png` through the program. */
export function putImage(site: McpSite, env: Env) {
  const child = site.start(['put', '/memories/a.png'], env);
  child.stdin.end(PNG);
  return outputOf(child);
}

export interface HeldBucket extends AsyncDisposable {
  /** Settings of a memory in this bucket. */
  readonly env: Env;
  /**
   * Requests are not answered from now on. Resolves at the first of them, with what resolves when its client hangs up.
   */
  hold(): Promise<{ readonly hungUp: Promise<unknown> }>;
  /** Requests are answered again. */
  release(): void;
}

const EMPTY_LISTING =
  '<ListBucketResult><Name>bucket</Name><KeyCount>0</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated></ListBucketResult>';

/** A bucket without objects that can be made to answer nothing, so that a command lasts for as long as a test wants. */
export async function startHeldBucket(): Promise<HeldBucket> {
  let onHeld: ((request: { readonly hungUp: Promise<unknown> }) => void) | undefined;
  const server = createServer((request, response) => {
    request.resume();
    if (onHeld !== undefined) {
      onHeld({ hungUp: once(response, 'close') });
      return;
    }
    const isList = request.url?.includes('list-type=') ?? false;
    const body = isList ? EMPTY_LISTING : '<Error><Code>NoSuchKey</Code></Error>';
    response.writeHead(isList ? 200 : 404, { 'content-type': 'application/xml' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    env: {
      SEALED_MEMORY_STORE: 's3://bucket/prefix',
      SEALED_MEMORY_S3_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_REGION: 'us-east-1',
    },
    hold: () =>
      new Promise((resolve) => {
        onHeld = resolve;
      }),
    release() {
      onHeld = undefined;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export async function outputOf(child: ChildProcessWithoutNullStreams) {
  const [stdout, stderr, [code]] = await Promise.all([
    child.stdout.setEncoding('utf8').toArray(),
    child.stderr.setEncoding('utf8').toArray(),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}
