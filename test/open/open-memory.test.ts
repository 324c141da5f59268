import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

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
});
