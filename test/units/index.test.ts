import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { linkModules } from '../stage/programs.ts';
import { startScriptedMessages } from '../stage/scripted-claude.ts';
import { namedTypes } from './public-types.ts';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
const TSC = join(PACKAGE, 'node_modules/typescript/bin/tsc');
const SLOW = 120_000;
const run = promisify(execFile);

let project: string;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'sealed-memory-host-'));
  const modules = join(project, 'node_modules');
  const installed = join(modules, 'sealed-memory');
  mkdirSync(installed, { recursive: true });
  linkModules(modules);
  cpSync(join(PACKAGE, 'package.json'), join(installed, 'package.json'));
  const outDir = join(installed, 'dist');
  await run(process.execPath, [TSC, '--noCheck', '-p', join(PACKAGE, 'tsconfig.json'), '--outDir', outDir]);
}, SLOW);

afterAll(() => rmSync(project, { recursive: true }));

const IMPORTS = `
import Anthropic from '@anthropic-ai/sdk';
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import { createMemoryPool, MemoryError, openAdmin, openMemory } from 'sealed-memory';
`;
const REQUIRES = `
const Anthropic = require('@anthropic-ai/sdk');
const { betaMemoryTool } = require('@anthropic-ai/sdk/helpers/beta/memory');
const { createMemoryPool, MemoryError, openAdmin, openMemory } = require('sealed-memory');
`;

/** Lets the SDK's tool runner talk to each of the servers, with both kinds of tool of a memory and of a pool. */
const PROGRAM = `
async function main() {
  const options = { store: 'memory:', rootKey: Buffer.alloc(32, 1).toString('base64') };
  const memory = await openMemory({ ...options, tenant: 'acme' });
  const pool = createMemoryPool(options);
  const pooled = await pool.open('acme');
  const tools = [betaMemoryTool(memory.handlers), memory.tool(), betaMemoryTool(pooled.handlers), pooled.tool()];
  for (const [i, baseURL] of process.argv.slice(2).entries()) {
    const client = new Anthropic({ apiKey: 'none', baseURL, maxRetries: 0 });
    const messages = [{ role: 'user', content: 'Go on.' }];
    const runner = client.beta.messages.toolRunner({ model: 'claude-opus-4-8', max_tokens: 9, messages, tools: [tools[i]] });
    await runner.runUntilDone();
  }
  const admin = await openAdmin({ ...options, tenant: 'acme' });
  if ((await admin.keyStatus()).state !== 'absent') throw new Error('another store was opened');
  await admin.close();
  const { error } = await memory.execute({ command: 'view', path: '/elsewhere' });
  await memory.close();
  await pool.close();
  if (!(error instanceof MemoryError)) throw new Error('MemoryError is another class');
}
main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
`;

describe.each([
  ['an ESM', 'host.mjs', IMPORTS + PROGRAM],
  ['a CommonJS', 'host.cjs', REQUIRES + PROGRAM],
])('the built package in %s host', (_, file, program) => {
  it(
    'lets the model read failures word for word, marked as such',
    async () => {
      writeFileSync(join(project, file), program);
      const turn = [
        { command: 'view', path: '/memories/none' },
        { command: 'delete', path: '/memories' },
      ];
      await using stack = new AsyncDisposableStack();
      const servers = await Promise.all(
        Array.from({ length: 4 }, async () => stack.use(await startScriptedMessages([turn]))),
      );
      const { stderr } = await run(process.execPath, [join(project, file), ...servers.map(({ url }) => url)]);
      expect(stderr).toBe('');
      for (const { results } of servers) {
        expect(results).toEqual([
          [
            expect.objectContaining({
              content: 'The path /memories/none does not exist. Please provide a valid path.',
              is_error: true,
            }),
            expect.objectContaining({
              content: 'Error: Cannot delete the /memories directory itself',
              is_error: true,
            }),
          ],
        ]);
      }
    },
    SLOW,
  );
});

/** Makes the folder a project with the built package and all that it depends on, but for its optional peers. */
function installWithoutPeers(folder: string): void {
  const { peerDependencies } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  const missing = new Set(Object.keys(peerDependencies));
  const modules = join(folder, 'node_modules');
  const linkAll = (scope: string): void => {
    mkdirSync(join(modules, scope), { recursive: true });
    for (const name of readdirSync(join(PACKAGE, 'node_modules', scope))) {
      const inner = scope === '' ? name : `${scope}/${name}`;
      if (name.startsWith('.') || missing.has(inner)) continue;
      if (name.startsWith('@') && scope === '') linkAll(name);
      else symlinkSync(join(PACKAGE, 'node_modules', inner), join(modules, inner));
    }
  };
  linkAll('');
  cpSync(join(project, 'node_modules/sealed-memory'), join(modules, 'sealed-memory'), { recursive: true });
  rmSync(join(modules, '@anthropic-ai'), { recursive: true });
}

describe('the built package without its optional peers', () => {
  const program = `
    import { openMemory } from 'sealed-memory';
    import { createReplies } from 'sealed-memory/worker';
    const rootKey = new Uint8Array(32);
    const path = '/memories/a';
    const memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey });
    console.log((await memory.execute({ command: 'create', path, file_text: 'x' })).isError);
    await memory.handlers.view({ command: 'view', path: '/memories/none' }).catch(({ name }) => console.log(name));
    const arn = 'aws-kms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
    const sealed = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: arn });
    const { error } = await sealed.execute({ command: 'create', path, file_text: 'x' });
    console.log(error.code, error.message);
    await openMemory({ store: 'memory:', tenant: 'acme', rootKey, tenants: 'dynamodb:settings' })
      .catch(({ code, message }) => console.log(code, message));
    const replies = createReplies({ sqs: {}, queueUrl: 'https://queue.example', mode: 'inline' });
    await replies.send({ tenant: 'acme', turn: 'one' }, { outcome: 'answered', text: '' }).catch(({ message }) => console.log(message));
  `;

  it(
    'works, and says what to install for what needs one',
    async () => {
      const bare = mkdtempSync(join(tmpdir(), 'sealed-memory-bare-'));
      try {
        installWithoutPeers(bare);
        writeFileSync(join(bare, 'host.mjs'), program);
        const { stdout } = await run(process.execPath, [join(bare, 'host.mjs')]);
        expect(stdout.trim().split('\n')).toEqual([
          'false',
          'ToolError',
          'misconfigured A package is not installed that a root key in AWS KMS needs: run "npm install @aws-sdk/client-kms".',
          'misconfigured A package is not installed that a table of tenants needs: run "npm install @aws-sdk/client-dynamodb".',
          'A package is not installed that the worker needs: run "npm install @aws-sdk/client-sqs".',
        ]);
      } finally {
        rmSync(bare, { recursive: true });
      }
    },
    SLOW,
  );

  it(
    'opens SQLite without any package of AWS',
    async () => {
      const bare = mkdtempSync(join(tmpdir(), 'sealed-memory-bare-'));
      try {
        installWithoutPeers(bare);
        for (const scope of ['@aws-sdk', '@smithy', '@aws']) {
          rmSync(join(bare, 'node_modules', scope), { recursive: true, force: true });
        }
        writeFileSync(
          join(bare, 'host.mjs'),
          `import { openMemory } from 'sealed-memory';
           const memory = await openMemory({ store: 'sqlite:./kept.db', tenant: 'acme', rootKey: new Uint8Array(32) });
           console.log((await memory.execute({ command: 'create', path: '/memories/a', file_text: 'x' })).isError);
           await memory.close();`,
        );
        const { stdout } = await run(process.execPath, [join(bare, 'host.mjs')], { cwd: bare });
        expect(stdout).toBe('false\n');
      } finally {
        rmSync(bare, { recursive: true });
      }
    },
    SLOW,
  );

  it.each(['host.mts', 'host.cts'])(
    'has types that are checked without an error in %s, also those of the package itself',
    async (file) => {
      const bare = mkdtempSync(join(tmpdir(), 'sealed-memory-bare-'));
      try {
        installWithoutPeers(bare);
        writeFileSync(
          join(bare, file),
          `import { openMemory, type Memory } from 'sealed-memory';
           export const reply = async (memory: Memory): Promise<string> => String((await memory.execute({})).content);
           void openMemory;`,
        );
        const options = [
          '--noEmit',
          '--strict',
          '--target',
          'esnext',
          '--module',
          'nodenext',
          '--types',
          'node',
        ];
        const outcome = await run(process.execPath, [TSC, ...options, '--skipLibCheck', 'false', file], {
          cwd: bare,
        }).catch((error: { readonly stdout: string }) => error);
        expect(outcome.stdout).toBe('');
      } finally {
        rmSync(bare, { recursive: true });
      }
    },
    SLOW,
  );
});

describe('examples/minimal', () => {
  it(
    'runs as it is copied, and remembers',
    async () => {
      cpSync(join(PACKAGE, 'examples/minimal/main.ts'), join(project, 'minimal.mts'));
      const write = { command: 'create', path: '/memories/user.md', file_text: 'Ada' };
      await using server = await startScriptedMessages([[write]]);
      const env = {
        ...process.env,
        ANTHROPIC_API_KEY: 'none',
        ANTHROPIC_BASE_URL: server.url,
        SEALED_MEMORY_STORE: 'sqlite:memory.db',
        SEALED_MEMORY_TENANT: 'my-agent',
        SEALED_MEMORY_ROOT_KEY: Buffer.alloc(32, 1).toString('base64'),
      };
      await run(process.execPath, ['minimal.mts'], { cwd: project, env });
      expect(server.results).toEqual([
        [expect.objectContaining({ content: 'File created successfully at: /memories/user.md' })],
      ]);
    },
    SLOW,
  );
});

describe('examples/stream', () => {
  it(
    'runs as it is copied, and answers without Claude',
    async () => {
      const folder = join(project, 'stream');
      cpSync(join(PACKAGE, 'examples/stream'), folder, { recursive: true });
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
      const env = { ...process.env, ANTHROPIC_API_KEY: '', PORT: '0' };
      const server = spawn(process.execPath, ['main.ts'], { cwd: folder, env });
      try {
        const [line] = await once(server.stdout, 'data');
        const [url = '', token] = String(line).trim().split('#');
        for (const path of ['', 'read-events.js']) expect((await fetch(url + path)).status).toBe(200);
        const answer = await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: '{"message":"When is the launch?"}',
        });
        const names = [...(await answer.text()).matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
        expect(names).toEqual(['text', 'tool', 'text', 'end']);
      } finally {
        server.kill();
      }
    },
    SLOW,
  );
});

describe('the types of the built package', () => {
  const named = (entries: readonly string[]) =>
    namedTypes(join(project, 'node_modules/sealed-memory/dist'), {
      entries,
      others: ['index.d.ts', 'agent/index.d.ts'],
    });

  it('are all exported where a public signature names them', () => {
    const entries = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'object' && 'types' in entry ? [entry.types.replace('./dist/', '')] : [],
    );
    expect(entries).toEqual(expect.arrayContaining(['index.d.ts', 'hosts/mastra.d.ts', 'cdk/index.d.ts']));
    expect(named(entries).unexported).toEqual([]);
    expect(named(['worker/worker.d.ts']).unexported).toContain(
      'worker/tenant-credentials.d.ts#TenantCredentialProvider, which WorkerOptions names',
    );
  });

  it('are those of no package an install may lack, at the main entry point', () => {
    expect(named(['index.d.ts']).packages).toEqual([]);
  });

  const check = `
    async function main(options: MemoryOptions): Promise<MemoryResult> {
      // @ts-expect-error a tenant is a string
      await openMemory({ tenant: 1 });
      const pool: MemoryPool = createMemoryPool({ store: 'memory:', rootKey: new Uint8Array(32) });
      const memory: Memory = await openMemory(options);
      const client = new Anthropic();
      const request = { model: 'm', max_tokens: 1, messages: [], tools: [memory.tool(), betaMemoryTool(memory.handlers)] };
      void client.beta.messages.toolRunner(request);
      const result = await (await pool.open('acme')).execute({});
      if (result.isError) throw result.error satisfies MemoryError;
      return result;
    }
    void main;
  `;
  const types = 'Memory, MemoryOptions, MemoryPool, MemoryResult';

  it.each([
    ['an ESM', 'types.mts', `${IMPORTS}import type { ${types} } from 'sealed-memory';`],
    [
      'a CommonJS',
      'types.cts',
      `import { Anthropic } from '@anthropic-ai/sdk';
       import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
       import { createMemoryPool, MemoryError, openMemory, type ${types.replaceAll(', ', ', type ')} } from 'sealed-memory';`,
    ],
  ])(
    'serve %s host',
    async (_, file, imports) => {
      writeFileSync(join(project, file), imports + check);
      const options = [
        '--noEmit',
        '--strict',
        '--target',
        'esnext',
        '--module',
        'nodenext',
        '--types',
        'node',
      ];
      const outcome = await run(process.execPath, [TSC, ...options, '--skipLibCheck', file], {
        cwd: project,
      }).catch((error: { readonly stdout: string }) => error);
      expect(outcome.stdout).toBe('');
    },
    SLOW,
  );
});

describe('the subpaths of the built package', () => {
  const program = `
    import Anthropic from '@anthropic-ai/sdk';
    import { openMemory } from 'sealed-memory';
    import { runTurn } from 'sealed-memory/agent';
    import { createJsonLogger, createWorker } from 'sealed-memory/worker';
    const rootKey = Buffer.alloc(32, 1).toString('base64');
    const client = new Anthropic({ apiKey: 'none', baseURL: process.argv[2], maxRetries: 0 });
    const memory = await openMemory({ store: 'memory:', rootKey, tenant: 'acme' });
    const messages = [{ role: 'user' as const, content: 'Go on.' }];
    const turn = await runTurn({ client, memory, model: 'claude-opus-4-8', messages });
    console.log(turn.outcome);
    await memory.close();
    await using worker = createWorker({
      memory: { store: 'memory:', rootKey },
      client: async () => client,
      model: 'claude-opus-4-8',
      queue: { sqs: { send: () => Promise.reject(new Error('nothing goes back')) }, url: 'https://queue.example' },
      logger: createJsonLogger({ write: () => {} }),
    });
    const time = { getRemainingTimeInMillis: () => 60_000 };
    const answer = await worker.invoke({ tenant: 'acme', turn: 'one', prompt: 'Go on.' }, time);
    console.log('outcome' in Object(answer) ? (answer as { outcome: string }).outcome : answer);
  `;

  it(
    'run a turn, and have types',
    async () => {
      writeFileSync(join(project, 'subpaths.mts'), program);
      const options = ['--strict', '--target', 'esnext', '--module', 'nodenext', '--types', 'node'];
      const compiled = await run(process.execPath, [TSC, ...options, '--skipLibCheck', 'subpaths.mts'], {
        cwd: project,
      }).catch((error: { readonly stdout: string }) => error);
      expect(compiled.stdout).toBe('');
      await using server = await startScriptedMessages([]);
      const { stdout } = await run(process.execPath, [join(project, 'subpaths.mjs'), server.url]);
      expect(stdout).toBe('answered\nanswered\n');
    },
    SLOW,
  );
});
