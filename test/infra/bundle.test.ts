import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { bundle, MOST_BYTES, WORKER_ENTRY } from '../../infra/bundle.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
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
    const bytes = await bundle({ entry: join(source, 'main.ts'), folder });
    expect(bytes).toBeGreaterThan(0);
    rmSync(join(source, 'double.ts'));
    const { handler } = await import(pathToFileURL(join(folder, 'index.mjs')).href);
    expect(handler(21)).toBe(42);
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
});

describe('the bundle of the worker', () => {
  it('keeps its budget, exports the functions of the deployment, and needs nothing beside it', async () => {
    const folder = newFolder();
    expect(await bundle({ entry: WORKER_ENTRY, folder })).toBeLessThanOrEqual(MOST_BYTES);
    expect(MOST_BYTES).toBe(1_450_000);
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
