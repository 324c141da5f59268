import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { FunctionError } from '../../../infra/local/lambda/function-error.ts';
import { type InvokedFunction, startLocalFunctions } from '../../../infra/local/lambda/local-function.ts';
import { freePort } from '../../../infra/local/programs/guarded-process.ts';
import { PROGRAM_ENV } from '../../stage/programs.ts';
import { localPieces } from '../local-pieces.ts';

const LOCAL = new URL('../../../infra/local/', import.meta.url);
const pieces = await localPieces();

afterAll(() => pieces?.[Symbol.asyncDispose]());

/** Answers like the emulator in AWS's base image: 200 whatever the function says, and 404 elsewhere. */
function emulate(port: number, target: InvokedFunction): Server {
  return createServer(async (request, response) => {
    const event = await text(request);
    if (request.url !== '/2015-03-31/functions/function/invocations') {
      response.writeHead(404).end('404 page not found');
      return;
    }
    const result = await target.invoke(JSON.parse(event)).catch(({ type, message }: FunctionError) => ({
      errorType: type,
      errorMessage: message,
    }));
    response.end(JSON.stringify(result));
  }).listen(port, '127.0.0.1');
}

/** Answers what a shell has exported after it has read the file. */
function sourced(file: string): Record<string, string> {
  const printed = execFileSync('env', ['-i', '/bin/sh', '-c', `. ${file} && env -0`], { encoding: 'utf8' });
  const entries = printed.split('\0').filter((entry) => entry.includes('='));
  return Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s).slice(0, 2)));
}

describe.skipIf(pieces === undefined)('the cloud of compose.yaml', { timeout: 180_000 }, () => {
  it('is told all it reads from the environment', () => {
    const program = readFileSync(new URL('compose.ts', LOCAL), 'utf8');
    const file = readFileSync(new URL('compose.yaml', LOCAL), 'utf8');
    const named = new Set(program.match(/'CLOUD_\w+'/g)?.map((name) => name.slice(1, -1)));
    expect(named.size).toBeGreaterThan(8);
    expect([...named].filter((name) => !file.includes(`      ${name}: `))).toEqual([]);
  });

  it('feeds functions that lie elsewhere, and gives the tour', async () => {
    if (pieces === undefined) throw new Error('the pieces are not there');
    const { minio, moto } = pieces;
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'compose-'));
    stack.defer(() => rm(folder, { recursive: true }));
    const file = join(folder, 'environment');
    const [tokens, claude, worker, direct] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    const child = spawn(process.execPath, [fileURLToPath(new URL('compose.ts', LOCAL))], {
      env: {
        ...PROGRAM_ENV,
        CLOUD_HOST: '127.0.0.1',
        CLOUD_TOKEN_PORT: String(tokens),
        CLOUD_CLAUDE_PORT: String(claude),
        CLOUD_S3: minio.endpoint,
        CLOUD_S3_USER: minio.accessKeyId,
        CLOUD_S3_PASSWORD: minio.secretAccessKey,
        CLOUD_MOTO: moto,
        CLOUD_WORKER: `http://127.0.0.1:${worker}`,
        CLOUD_DIRECT_WORKER: `http://127.0.0.1:${direct}`,
        CLOUD_ENVIRONMENT_FILE: file,
      },
    });
    stack.defer(() => void child.kill('SIGKILL'));
    let shown = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        shown += chunk.toString();
      });
    }
    await expect.poll(() => existsSync(file), { timeout: 30_000 }).toBe(true);
    const functions = startLocalFunctions({
      ...pieces,
      env: sourced(file),
      region: minio.region,
      timeoutSeconds: 60,
      maxConcurrency: 1,
      onLine: () => {},
    });
    stack.use(functions.worker);
    stack.use(functions.direct);
    stack.use(emulate(worker, functions.worker));
    stack.use(emulate(direct, functions.direct));
    await expect.poll(() => shown, { timeout: 120_000 }).toContain('Going on until Ctrl-C');
    expect(shown.match(/^checked: /gm)).toHaveLength(3);
    expect(shown).not.toContain('NOT TRUE');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([143, null]);
  });
});
