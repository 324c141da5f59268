import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { bundle, MOST_EAGER_BYTES, WORKER_ENTRY } from '../../infra/bundle.ts';
import manifest from '../../package.json' with { type: 'json' };
import { startFakeDynamo } from '../stage/fake-dynamodb.ts';

/**
 * The most bytes that a deployment of the worker holds in all, most of them loaded when they are needed first, if at
 * all.
 */
const MOST_BYTES = 1_600_000;
/** The most bytes that a program reads that imports the library, before it opens a memory. */
const MOST_LIBRARY_BYTES = 150_000;

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-bundle-'));
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

describe('bundle', () => {
  it('makes one module that needs nothing beside it', async () => {
    const source = newFolder({
      'main.ts':
        "import { double } from './double.ts';\nexport const handler = (n: number): number => double(n);\n",
      'double.ts': 'export const double = (n: number): number => 2 * n;\n',
    });
    const folder = newFolder();
    const { eager, total } = await bundle({ entry: join(source, 'main.ts'), folder });
    expect(eager).toBe(statSync(join(folder, 'index.mjs')).size);
    expect(total).toBe(eager);
    rmSync(join(source, 'double.ts'));
    const { handler } = await import(pathToFileURL(join(folder, 'index.mjs')).href);
    expect(handler(21)).toBe(42);
  });

  it('puts what is loaded later into modules of their own, and removes those of an earlier bundle', async () => {
    const source = newFolder({
      'main.mjs':
        "import { shared } from './shared.mjs';\nexport const handler = async () => shared() + (await import('./later.mjs')).later();\n",
      'later.mjs':
        "import { shared } from './shared.mjs';\nexport const later = () => shared() + ' later';\n",
      'shared.mjs': "export const shared = () => 'shared ';\n",
    });
    const folder = newFolder({ 'part-OLD.mjs': 'old', 'kept.txt': 'kept' });
    const { eager, total } = await bundle({ entry: join(source, 'main.mjs'), folder });
    const sizes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).size] as const);
    const modules = sizes.filter(([name]) => name.endsWith('.mjs'));
    expect(modules).toHaveLength(3);
    expect(total).toBe(modules.reduce((sum, [, size]) => sum + size, 0));
    const [later] = modules.filter(([name]) => readFileSync(join(folder, name), 'utf8').includes(' later'));
    expect(eager).toBe(total - (later?.[1] ?? 0));
    expect(sizes.map(([name]) => name)).toContain('kept.txt');
    rmSync(source, { recursive: true });
    const { handler } = await import(pathToFileURL(join(folder, 'index.mjs')).href);
    expect(await handler()).toBe('shared shared  later');
  });

  it('is made without what a project lacks and may lack, and says at its use that it is missing', async () => {
    const source = newFolder({
      'main.mjs':
        "export const start = () => 1;\nexport const load = () => import('./later.mjs').catch(({ code }) => code);\n",
      'later.mjs': "export { DynamoDBClient } from '@aws-sdk/client-dynamodb';\n",
    });
    const folder = newFolder();
    await bundle({ entry: join(source, 'main.mjs'), folder });
    const script = `
      const { start, load } = await import(${JSON.stringify(pathToFileURL(join(folder, 'index.mjs')).href)});
      console.log(JSON.stringify([start(), await load()]));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    expect(JSON.parse(stdout)).toEqual([1, 'ERR_MODULE_NOT_FOUND']);
  });

  it('lets CommonJS parts require what Node has', async () => {
    const source = newFolder({
      'main.mjs': "import host from './host.cjs';\nexport const handler = () => host;\n",
      'host.cjs': "const name = 'node:os';\nmodule.exports = require(name).EOL + require('node:path').sep;\n",
    });
    const folder = newFolder();
    await bundle({ entry: join(source, 'main.mjs'), folder });
    const { handler } = await import(pathToFileURL(join(folder, 'index.mjs')).href);
    expect(handler()).toBe('\n/');
  });

  it('loads what Node has at its first use', async () => {
    const source = newFolder({
      'main.mjs': `import { request } from 'node:http';
import * as https from 'node:https';
import stream, { Readable } from 'stream';
export const names = () => [request.name, https.request.name, stream.Readable === Readable];
export class Source extends Readable {}
export const loaded = () => process.moduleLoadList.includes('NativeModule https');
`,
    });
    const folder = newFolder();
    await bundle({ entry: join(source, 'main.mjs'), folder });
    const script = `
      const { names, loaded, Source } = await import(${JSON.stringify(pathToFileURL(join(folder, 'index.mjs')).href)});
      console.log(JSON.stringify([loaded(), names(), loaded(), Source.from(['x']) instanceof Source]));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    expect(JSON.parse(stdout)).toEqual([false, ['request', 'request', true], true, false]);
  });

  it('reads of what is loaded later no more than the names that are used', async () => {
    const source = newFolder({
      'main.mjs': `export const load = async () => {
  const { request } = await import('node:http');
  const { default: path, sep } = await import('node:path');
  return [typeof request, path.sep === sep, process.moduleLoadList.some((name) => name.includes('undici'))];
};
`,
    });
    const folder = newFolder();
    await bundle({ entry: join(source, 'main.mjs'), folder });
    const script = `
      const { load } = await import(${JSON.stringify(pathToFileURL(join(folder, 'index.mjs')).href)});
      console.log(JSON.stringify(await load()));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    expect(JSON.parse(stdout)).toEqual(['function', true, false]);
  });
});

describe('the bundle of the worker', () => {
  it('holds none of the tools by which the SDK lets a managed agent run commands', async () => {
    const folder = newFolder();
    await bundle({ entry: WORKER_ENTRY, folder });
    const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(texts.filter((text) => text.includes('toolRunner'))).toHaveLength(1);
    expect(texts.filter((text) => text.includes('betaBashTool'))).toEqual([]);
  });

  it('asks a table of tenants, and tells the version of the SDK that does', async () => {
    await using dynamo = await startFakeDynamo();
    dynamo.put('acme', { readOnly: true });
    const folder = newFolder();
    await bundle({ entry: 'src/open/tenant-table.ts', folder });
    const script = `
      const { openTenantTable } = await import(${JSON.stringify(pathToFileURL(join(folder, 'index.mjs')).href)});
      const request = { signal: new AbortController().signal };
      const source = openTenantTable('${dynamo.table}');
      const settings = await source('acme', request);
      const { code, cause } = await source('acme', request).catch((error) => error);
      console.log(JSON.stringify({ settings, code, cause: cause.name }));`;
    dynamo.meet(1, 'right');
    dynamo.meet(3, { type: 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException' });
    const env = { ...dynamo.env, AWS_ENABLE_ENDPOINT_DISCOVERY: 'true' };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      {
        env,
      },
    );
    expect(JSON.parse(stdout)).toEqual({
      settings: { readOnly: true },
      code: 'unavailable',
      cause: 'ProvisionedThroughputExceededException',
    });
    const { devDependencies } = manifest;
    expect(dynamo.requests[0]?.agent).toContain(`aws-sdk-js/${devDependencies['@aws-sdk/client-dynamodb']}`);
  });

  it('keeps its budget, exports the functions of the deployment, and needs nothing beside it', async () => {
    const folder = newFolder();
    const { eager, total } = await bundle({ entry: WORKER_ENTRY, folder });
    expect(eager).toBeLessThanOrEqual(MOST_EAGER_BYTES);
    expect(total).toBeLessThanOrEqual(MOST_BYTES);
    expect(MOST_EAGER_BYTES).toBe(750_000);
    const script = `
      const worker = await import(${JSON.stringify(pathToFileURL(join(folder, 'index.mjs')).href)});
      const { name, code, message } = await (async () => worker.handler({ Records: [] }, {}))().catch((error) => error);
      console.log(JSON.stringify({ exports: Object.keys(worker), name, code, message }));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
      env: {},
    });
    expect(JSON.parse(stdout)).toEqual({
      exports: ['expire', 'handler', 'invoke'],
      name: 'MemoryError',
      code: 'misconfigured',
      message: expect.stringContaining('SEALED_MEMORY_WORKER_QUEUE_URL'),
    });
  });
});

describe('the library, bundled by a host', () => {
  it('keeps its budget: libsodium, stores and administration are loaded when they are needed first', async () => {
    const { eager, total } = await bundle({ entry: 'src/index.ts', folder: newFolder() });
    expect(eager).toBeLessThanOrEqual(MOST_LIBRARY_BYTES);
    expect(total).toBeGreaterThan(4 * eager);
  });
});
