import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { build } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import { readEvents } from '../../examples/stream/read-events.ts';
import { signSession } from '../../examples/stream/session.ts';
import { startScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';
import { type FunctionProcess, startProcess } from '../../infra/local/lambda/local-function.ts';
import { findRuntimeClient } from '../../infra/local/lambda/runtime-client.ts';
import { inTests } from '../../infra/local/programs/install-options.ts';
import { sourcesOfEntryPoints } from '../runner/entry-points.ts';
import { isNotRun } from '../runner/not-run.ts';

const SLOW = 60_000;
const options = inTests(process.env, (line) => console.log(`Lambda: ${line}`));
const runtime = await findRuntimeClient(process.env, options);
const isMissing = isNotRun('examples/stream under the runtime client of Lambda', runtime);

/**
 * Answers what a function URL makes of the bytes: a prelude of status and headers, eight zeros, and the body after
 * them.
 */
async function responseOf(bytes: AsyncIterable<Buffer>): Promise<Response> {
  const chunks = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (!head.includes(Buffer.alloc(8))) head = Buffer.concat([head, (await chunks.next()).value]);
  const end = head.indexOf(Buffer.alloc(8));
  const { statusCode, headers } = JSON.parse(head.subarray(0, end).toString());
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(head.subarray(end + 8)),
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  return new Response(body, { status: statusCode, headers });
}

describe.skipIf(isMissing)('examples/stream under the runtime client of Lambda', () => {
  const stack = new AsyncDisposableStack();
  afterAll(() => stack.disposeAsync(), SLOW);
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const goOn = Promise.withResolvers<void>();

  async function start(): Promise<FunctionProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'stream-function-'));
    stack.defer(() => rm(folder, { recursive: true }));
    await build({
      entryPoints: { index: resolve('examples/stream/lambda.ts') },
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      alias: Object.fromEntries(sourcesOfEntryPoints()),
      banner: {
        js: "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);",
      },
      logLevel: 'error',
    });
    const claude = stack.use(
      await startScriptedClaude({
        async play({ messages }) {
          if (messages.at(-1)?.content.some(({ type }) => type === 'tool_result')) {
            await goOn.promise;
            return { say: 'Nothing yet.' };
          }
          return {
            say: 'I look.',
            calls: [{ name: 'memory', input: { command: 'view', path: '/memories' } }],
          };
        },
      }),
    );
    const started = await startProcess(
      {
        name: 'stream',
        bundle: folder,
        handler: 'index.handler',
        runtimeClient: 'script' in runtime ? runtime.script : '',
        env: {
          ANTHROPIC_API_KEY: 'scripted',
          ANTHROPIC_BASE_URL: claude.url,
          SEALED_MEMORY_STORE: `sqlite:${join(folder, 'store.db')}`,
          SEALED_MEMORY_ROOT_KEY: randomBytes(32).toString('base64'),
          SESSION_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
        },
        region: 'us-east-1',
        memoryMb: 512,
        onLine: () => {},
      },
      1,
    );
    stack.defer(() => started.api[Symbol.asyncDispose]());
    stack.defer(() => started.child.kill());
    return started;
  }

  it('streams words before the turn has ended, and refuses who has no session', {
    timeout: SLOW,
  }, async () => {
    const { api } = await start();
    const ask = async (authorization: string) => {
      const event = {
        headers: { 'content-type': 'application/json', authorization },
        requestContext: { http: { method: 'POST' } },
        body: '{"message":"When is the launch?"}',
        isBase64Encoded: false,
      };
      return responseOf(await api.invokeWithResponseStream(event, Date.now() + SLOW));
    };
    const refused = await ask('Bearer nobody.nothing');
    expect([refused.status, await refused.json()]).toEqual([401, { code: 'unauthorized' }]);
    const session = signSession(privateKey, { tenant: 'acme', expires: Date.now() + SLOW });
    const response = await ask(`Bearer ${session}`);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = readEvents(response);
    expect((await events.next()).value).toEqual({ event: 'text', data: { text: 'I look.' } });
    goOn.resolve();
    expect((await Readable.from(events).toArray()).at(-1)).toEqual({
      event: 'end',
      data: { outcome: 'answered', text: 'Nothing yet.' },
    });
  });
});
