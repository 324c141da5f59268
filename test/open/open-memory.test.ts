import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options.ts';

/** Whether a new process that opens a memory on this store has loaded TLS, and with it an SDK that needs it. */
function loadsNetwork(store: string): boolean {
  const script = `
    const { openMemory } = await import('./src/index.ts');
    const memory = await openMemory({ store: ${JSON.stringify(store)}, tenant: 'acme', rootKey: new Uint8Array(32) });
    await memory.close();
    console.log(process.moduleLoadList.includes('NativeModule https'));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    env: { AWS_REGION: 'us-east-1' },
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

describe('openMemory', () => {
  it('loads the AWS SDK for an S3 store only', () => {
    expect(loadsNetwork('memory:')).toBe(false);
    expect(loadsNetwork('s3://bucket')).toBe(true);
  });

  it('reads no variable of the environment', () => {
    const script = `
      const asked = [];
      process.env = new Proxy({}, {
        get: (_, name) => void asked.push(name),
        has: (_, name) => void asked.push(name),
        ownKeys: () => (asked.push('all of them'), []),
      });
      const { openMemory } = await import('./src/index.ts');
      const options = { tenant: 'acme', rootKey: new Uint8Array(32) };
      const s3 = { endpoint: 'http://127.0.0.1:9', region: 'us-east-1' };
      const credentials = { accessKeyId: 'a', secretAccessKey: 's' };
      await (await openMemory({ ...options, store: 'memory:' })).close();
      const first = asked.filter((name) => !/^(NODE|WATCH)_/.test(String(name))); // Node's own
      await (await openMemory({ ...options, store: 's3://bucket', s3, credentials })).close();
      console.log(JSON.stringify({ first, later: asked.filter((name) => /^SEALED|ENDPOINT/.test(String(name))) }));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    if (stdout === '') throw new Error(stderr);
    expect(JSON.parse(stdout)).toEqual({ first: [], later: [] });
  });

  it.each([
    [{ sore: 'memory:' }, 'sore is not an option.'],
    [{ keyring: { ttl: 1 } }, 'keyring.ttl is not an option.'],
    [{ profile: 'docs' }, 'profile must be doc or sdk.'],
    [{ concurrency: 257 }, 'concurrency must be a whole number from 1 to 256.'],
    [{ limits: { fileBytes: '5' } }, 'limits.fileBytes must be a whole number from 1 to 1073741823.'],
    [{ s3: { guarded: 'yes' } }, 's3.guarded must be true or false.'],
    [{ tenant: 5 }, 'tenant must be a text.'],
  ])('refuses %j', async (wrong, message) => {
    const options = { store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32), ...wrong };
    await expect(openMemory(options as MemoryOptions)).rejects.toMatchObject({
      code: 'misconfigured',
      message,
    });
  });
});
