import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  buildMcpSite,
  callMemory,
  ERAS,
  type McpSite,
  outputOf,
  PNG,
  putImage,
  startHeldBucket,
} from '../mcp-program.ts';

const SLOW = 60_000;

let site: McpSite;
beforeAll(async () => {
  site = await buildMcpSite();
}, SLOW);
afterAll(async () => site[Symbol.asyncDispose](), SLOW);

/** Asks as no client does. Resolves to the status, also when the body is never sent whole. */
async function ask(url: string, { body, ...options }: RequestOptions & { readonly body?: string }) {
  const asking = request(url, { method: 'POST', agent: false, ...options });
  asking.on('error', () => {});
  if (body !== undefined) asking.end(body);
  else asking.flushHeaders();
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const text = (await response.setEncoding('utf8').toArray()).join('');
  asking.destroy();
  return { status: response.statusCode, text };
}

describe('sealed-memory mcp --http', { timeout: SLOW }, () => {
  it('serves several clients of both protocols at once', async () => {
    const env = { SEALED_MEMORY_TENANT: 'http' };
    expect(await putImage(site, env)).toMatchObject({ code: 0 });
    const { url, child, connect } = await site.serve(env);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    const clients = await Promise.all(ERAS.map(connect));
    const [first] = clients as [Client];
    const path = '/memories/log';
    expect(await callMemory(first, { command: 'create', path, file_text: '' })).toMatchObject({
      isError: false,
    });
    const inserted = await Promise.all(
      clients.flatMap((client, at) =>
        Array.from({ length: 10 }, (_, index) =>
          callMemory(client, { command: 'insert', path, insert_line: 0, insert_text: `${at}-${index}` }),
        ),
      ),
    );
    expect(inserted.filter(({ isError }) => isError)).toEqual([]);
    for (const [at, client] of clients.entries()) {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['memory']);
      const view = await callMemory(client, { command: 'view', path, view_range: [20, 21] });
      expect(view.content).toEqual([
        { type: 'text', text: expect.stringMatching(/:\n {4}20\t\d-\d\n {4}21\t$/) },
      ]);
      expect((await callMemory(client, { command: 'view', path: '/memories/a.png' })).content).toEqual([
        { type: 'image', mimeType: 'image/png', data: PNG.toString('base64') },
      ]);
      expect((await client.listResources()).resources).toHaveLength(2);
      const { contents } = await client.readResource({ uri: 'memory:///memories/log' });
      expect(JSON.stringify(contents).match(/\d-\d/g)).toHaveLength(20);
      const own = `/memories/${at}`;
      for (const input of [
        { command: 'create', path: own, file_text: 'one' },
        { command: 'str_replace', path: own, old_str: 'one', new_str: 'two' },
        { command: 'rename', old_path: own, new_path: `${own}.md` },
        { command: 'delete', path: `${own}.md` },
      ]) {
        expect(await callMemory(client, input)).toMatchObject({ isError: false });
      }
    }
    const big = { command: 'create', path: '/memories/big', file_text: 'x'.repeat(3 * 1024 * 1024) };
    expect(await callMemory(first, big)).toMatchObject({ isError: true });
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([130, null]);
  });

  it.each(ERAS)('cancels a command in the middle for a client of the %s protocol', async (era) => {
    await using bucket = await startHeldBucket();
    const { connect } = await site.serve(bucket.env);
    const client = await connect(era);
    const cancelling = new AbortController();
    const held = bucket.hold();
    const input = { command: 'create', path: '/memories/a', file_text: 'x' };
    const answer = expect(callMemory(client, input, cancelling.signal)).rejects.toThrow('no longer needed');
    const { hungUp } = await held;
    cancelling.abort(new Error('no longer needed'));
    await answer;
    await hungUp;
    bucket.release();
    expect(await callMemory(client, { command: 'view', path: '/memories/none' })).toMatchObject({
      isError: true,
    });
  });

  it('refuses hosts, origins and tokens that are not its own, and what is no request', async () => {
    const { url, token } = await site.serve({ SEALED_MEMORY_TENANT: 'hostile' });
    const { host, port } = new URL(url);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
    const good = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const statusFor = async (headers: Record<string, string>, to = url, sent = body): Promise<unknown> =>
      (await ask(to, { headers: { ...good, ...headers }, body: sent })).status;
    for (const name of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      'localhost',
      `127.0.0.1:1`,
      '',
    ]) {
      expect([name, await statusFor({ host: name })]).toEqual([name, name === '' ? 400 : 403]);
    }
    for (const origin of ['http://evil.example', 'null', `https://${host}`, 'http://localhost:1']) {
      expect([origin, await statusFor({ origin })]).toEqual([origin, 403]);
    }
    for (const authorization of ['', token, 'Bearer', `Bearer ${token}x`, `Basic ${token}`]) {
      expect([authorization, await statusFor({ authorization })]).toEqual([authorization, 401]);
    }
    expect(await statusFor({}, url.replace('/mcp', '/'))).toBe(404);
    expect(await statusFor({}, url, 'nonsense')).toBe(400);
    expect(await statusFor({ 'mcp-session-id': 'unknown' })).toBe(404);
    expect(await statusFor({ 'content-type': 'text/plain' })).toBe(415);
    const length = String(65 * 1024 * 1024);
    expect(await ask(url, { headers: { ...good, 'content-length': length } })).toMatchObject({ status: 413 });
    const hello = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    };
    for (const headers of [{}, { host: `localhost:${port}` }, { origin: `http://${host}` }]) {
      expect(await statusFor(headers, url, JSON.stringify(hello))).toBe(200);
    }
  });

  it('takes a token from a file, and tells what it cannot use', async () => {
    const tokenFile = join(site.folder, 'token');
    const token = 'a1'.repeat(20);
    writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
    const served = await site.serve({}, ['--token-file', tokenFile]);
    expect(served.token).toBe(undefined);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    expect((await ask(served.url, { headers, body: '{}' })).status).toBe(400);
    expect((await ask(served.url, { body: '{}' })).status).toBe(401);
    const { port } = new URL(served.url);
    const pipe = join(site.folder, 'pipe');
    const program = 'mkfifo';
    execFileSync(program, ['-m', '600', pipe]);
    for (const args of [
      ['--http', port],
      ['--http', '0', '--token-file', pipe],
    ]) {
      const { code, stdout, stderr } = await outputOf(site.start(['mcp', ...args]));
      expect([args, code, stdout]).toEqual([args, 2, '']);
      expect(stderr).toMatch(/^[^\n]+\n$/);
    }
  });
});
