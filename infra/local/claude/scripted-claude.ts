import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import {
  createScriptedClaude,
  type ScriptedClaudeOptions,
} from '../../../src/testing/claude/scripted-claude.ts';

/** The place where the scripted Claude listens: a free port of 127.0.0.1 unless given. */
interface Place {
  readonly host?: string;
  readonly port?: number;
}

export interface ScriptedClaude extends AsyncDisposable {
  /** Base URL for the SDK's client. */
  readonly url: string;
}

/** The time, in milliseconds, between the last byte of a connection that shall break and the cut. */
const CUT_AFTER_MS = 10;

/** Puts a scripted Claude behind a port, for clients in other processes and in other languages. */
export async function startScriptedClaude({
  host = '127.0.0.1',
  port: wanted = 0,
  ...options
}: ScriptedClaudeOptions & Place): Promise<ScriptedClaude> {
  const claude = createScriptedClaude(options);
  const server = createServer((request, response) => {
    relay(claude, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(wanted, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function relay(
  claude: typeof fetch,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/' } = request;
  const text = await readText(request);
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  const body = method === 'GET' || method === 'HEAD' ? undefined : text;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const answer = await claude(new URL(url, 'http://127.0.0.1'), {
    method,
    headers,
    signal: gone.signal,
    ...(body !== undefined && { body }),
  });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  try {
    for await (const chunk of answer.body ?? []) {
      await new Promise<void>((resolve) => response.write(chunk, () => resolve()));
    }
    response.end();
  } catch {
    setTimeout(() => response.destroy(), CUT_AFTER_MS);
  }
}
