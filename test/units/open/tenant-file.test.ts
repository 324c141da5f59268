import { chmodSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import { optionsFromEnvironment } from '../../../src/open/options/environment.ts';
import { openTenantFile } from '../../../src/open/tenant-file.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const request = { signal: AbortSignal.timeout(60_000) };

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-tenants-'));
  path = join(folder, 'tenants.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (value: unknown, mode = 0o600): void => {
  const next = join(folder, 'next');
  writeFileSync(next, typeof value === 'string' ? value : JSON.stringify(value), { mode });
  chmodSync(next, mode);
  renameSync(next, path);
};

describe('a file of tenants', () => {
  it('has the settings of those that it names, and none of the others', async () => {
    write({ acme: { readOnly: true }, globex: {} });
    const source = openTenantFile(path);
    expect(await source('acme', request)).toEqual({ readOnly: true });
    expect(await source('globex', request)).toEqual({});
    expect(await source('other', request)).toBeUndefined();
    expect(await source('__proto__', request)).toBeUndefined();
    expect(await source('constructor', request)).toBeUndefined();
  });

  it('is read again when it has changed, and answers the same object until then', async () => {
    write({ acme: { readOnly: true } });
    const source = openTenantFile(path);
    const first = await source('acme', request);
    expect(await source('acme', request)).toBe(first);
    write({ acme: { readOnly: false } });
    expect(await source('acme', request)).toEqual({ readOnly: false });
    rmSync(path);
    await expect(source('acme', request)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The file of the tenants cannot be opened (ENOENT).',
    });
    write({});
    expect(await source('acme', request)).toBeUndefined();
  });

  it.each([
    ['is not JSON', '{"acme":'],
    ['is not JSON', ''],
    ['is no JSON object', '[]'],
    ['is no JSON object', 'null'],
    ['names something else than tenants', '{"ACME":{}}'],
    ['names something else than tenants', '{"../acme":{}}'],
  ])('that %s is refused, and nothing of it told: %s', async (what, text) => {
    write(text);
    await expect(openTenantFile(path)('acme', request)).rejects.toMatchObject({
      code: 'misconfigured',
      message: `The file of the tenants ${what}.`,
    });
  });

  it('with root keys in it is for its owner alone; one with names of keys may be read by others', async () => {
    write({ acme: { rootKey: ['aws-kms:arn', 'vault:https://v/transit/keys/k'] } }, 0o644);
    await expect(openTenantFile(path)('acme', request)).resolves.toBeDefined();
    for (const rootKey of [KEY, ['aws-kms:arn', KEY]]) {
      write({ acme: {}, globex: { rootKey } }, 0o644);
      const refused = expect(openTenantFile(path)('acme', request)).rejects;
      await refused.toMatchObject({ code: 'misconfigured', message: expect.stringContaining('chmod 600') });
      write({ acme: {}, globex: { rootKey } });
      await expect(openTenantFile(path)('globex', request)).resolves.toEqual({ rootKey });
    }
  });

  it('is parsed once for all tenants that ask at the same time', async () => {
    write({ acme: {}, globex: {} });
    const parse = vi.spyOn(JSON, 'parse');
    try {
      const source = openTenantFile(path);
      const asked = Array.from({ length: 50 }, (_, n) => source(n % 2 ? 'acme' : 'globex', request));
      expect(await Promise.all(asked)).toEqual(Array.from({ length: 50 }, () => ({})));
      expect(parse).toHaveBeenCalledTimes(1);
    } finally {
      parse.mockRestore();
    }
  });

  it('is a regular file of 16 MiB at most', async () => {
    symlinkSync(folder, path);
    await expect(openTenantFile(path)('acme', request)).rejects.toMatchObject({ code: 'misconfigured' });
    rmSync(path);
    write(`${' '.repeat(16_777_215)}{}`);
    await expect(openTenantFile(path)('acme', request)).rejects.toMatchObject({
      code: 'misconfigured',
      message: 'The file of the tenants is larger than 16777216 bytes.',
    });
  });

  it('is named by a setting, for a memory as for a pool', async () => {
    write({ acme: { readOnly: true } });
    const env = {
      SEALED_MEMORY_STORE: 'memory:',
      SEALED_MEMORY_ROOT_KEY: KEY,
      SEALED_MEMORY_TENANT: 'acme',
      SEALED_MEMORY_TENANTS: `file:${path}`,
    };
    await using memory = await openMemory({ ...optionsFromEnvironment(env), logger: silentLogger });
    await expect(memory.files.write('/memories/a', 'a')).rejects.toMatchObject({ code: 'read_only' });
    const wrong = { ...env, SEALED_MEMORY_TENANTS: path };
    expect(() => optionsFromEnvironment(wrong)).toThrow(
      'SEALED_MEMORY_TENANTS must be file: and the path of a file, or dynamodb: and the name or ARN of a table.',
    );
  });
});
