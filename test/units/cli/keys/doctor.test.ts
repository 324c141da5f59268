import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runDoctor } from '../../../../src/cli/keys/doctor.ts';
import { openBaseStore } from '../../../../src/store/open-store.ts';
import { CLI_MEMORY_ENV, runCli, startCli } from '../../../stage/cli.ts';
import { invocationOf } from '../../../stage/invocation.ts';

const LINE = /^(ok {4}|FAIL {2})[^\n]+$/;

describe('sealed-memory doctor', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-doctor-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const doctor = async (changes: Readonly<Record<string, string>> = {}) => {
    const env = { ...CLI_MEMORY_ENV, ...changes };
    const { code, stdout, stderr } = await runCli(['doctor'], { env });
    expect(stderr).toBe('');
    const lines = stdout.split('\n').slice(0, -1);
    for (const line of lines) expect(line).toMatch(LINE);
    expect(stdout).not.toContain(env['SEALED_MEMORY_ROOT_KEY']);
    return { code, lines, last: lines.at(-1) ?? '' };
  };

  it('leaves nothing behind when its reader goes away midway', async () => {
    const path = join(folder, 'left.sqlite');
    const rootKeyFile = join(folder, 'left.key');
    writeFileSync(rootKeyFile, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
    const flags = { store: `sqlite:${path}`, tenant: 'acme', rootKeyFile };
    const { invocation } = invocationOf({ flags });
    const entry: typeof invocation.report.entry = async ({ what }) => {
      if (String(what).startsWith('conditions: an edit')) throw new Error('the reader is gone');
    };
    const run = { ...invocation, report: { ...invocation.report, entry } };
    await expect(runDoctor(run)).rejects.toThrow('the reader is gone');
    await using base = await openBaseStore({ store: { kind: 'sqlite', path }, s3: {} });
    const left: string[] = [];
    for await (const page of base.plain.list({ prefix: '' }))
      left.push(...page.objects.map(({ key }) => key));
    expect(left).toEqual([]);
  });

  it('finds nothing wrong with a store because it was interrupted in a write', async () => {
    const server = createServer(({ method, url = '' }, response) => {
      response.setHeader('content-type', 'application/xml');
      if (url.includes('list-type')) response.end('<ListBucketResult><Name>n</Name></ListBucketResult>');
      else if (method === 'PUT') child.kill('SIGINT');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const child = startCli(['doctor'], {
      env: {
        ...CLI_MEMORY_ENV,
        SEALED_MEMORY_STORE: 's3://some-bucket/prefix',
        SEALED_MEMORY_S3_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        AWS_ACCESS_KEY_ID: 'x',
        AWS_SECRET_ACCESS_KEY: 'y',
      },
    });
    let stdout = '';
    child.stdout.on('data', (data: Buffer) => {
      stdout += data.toString();
    });
    const [code] = (await once(child, 'close')) as [number];
    server.closeAllConnections();
    server.close();
    expect(code).toBe(130);
    expect(stdout).not.toContain('FAIL');
    expect(stdout).toContain('ok    store: reachable');
  }, 20_000);

  it('fails for one finding, though those behind it are well', async () => {
    // Takes every PUT, whatever its condition, and holds nothing.
    const server = createServer(({ method, url = '' }, response) => {
      response.setHeader('content-type', 'application/xml').setHeader('etag', '"1"');
      if (method === 'PUT') response.end();
      else if (url.includes('list-type')) response.end('<ListBucketResult><Name>n</Name></ListBucketResult>');
      else response.writeHead(404).end(method === 'HEAD' ? '' : '<Error><Code>NoSuchKey</Code></Error>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { code, lines, last } = await doctor({
      SEALED_MEMORY_STORE: 's3://some-bucket/prefix',
      SEALED_MEMORY_S3_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      AWS_ACCESS_KEY_ID: 'x',
      AWS_SECRET_ACCESS_KEY: 'y',
    });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(lines.filter((line) => line.startsWith('FAIL  conditions: '))).toHaveLength(4);
    expect(last).toMatch(/^ok {4}keyring/);
    expect(code).toBe(1);
  }, 60_000);

  it('says when nothing listens at the endpoint, and when it is no S3', async () => {
    const server = createServer((_request, response) => response.writeHead(200).end('<html>hello</html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const s3 = {
      SEALED_MEMORY_STORE: 's3://some-bucket/prefix',
      SEALED_MEMORY_S3_ENDPOINT: endpoint,
      AWS_ACCESS_KEY_ID: 'x',
      AWS_SECRET_ACCESS_KEY: 'y',
    };
    const odd = await doctor(s3);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const nobody = await doctor(s3);
    for (const { code, last } of [odd, nobody]) {
      expect(code).toBe(1);
      expect(last).toMatch(/^FAIL {2}(store|conditions) — .*endpoint/);
      expect(last).not.toContain('some-bucket');
    }
    expect(nobody.last).toContain('check the endpoint and the network');
  }, 60_000);
});
