import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const NO_SQLITE = '--no-experimental-sqlite';

/** Opens a memory on this store in a new process; answers with what it says and, at the end, with what it loaded. */
function openElsewhere(
  store: string,
  { flags = [], before = '' }: { readonly flags?: readonly string[]; readonly before?: string } = {},
): { readonly loaded: readonly string[]; readonly stderr: string; readonly status: number | null } {
  const script = `
    ${before}
    const { openMemory } = await import('./src/index.ts');
    const options = { store: ${JSON.stringify(store)}, tenant: 'acme', rootKey: new Uint8Array(32) };
    const memory = await openMemory({ ...options, lazy: options.store.startsWith('s3:') });
    await memory.close();
    console.log(JSON.stringify(process.moduleLoadList));`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...flags, '--input-type=module', '--eval', script],
    { encoding: 'utf8', env: { AWS_REGION: 'us-east-1' } },
  );
  return { loaded: stdout === '' ? [] : JSON.parse(stdout), stderr, status };
}

describe('openMemory in a process of its own', () => {
  it('loads the AWS SDK for an S3 store only', () => {
    expect(openElsewhere('memory:').loaded).not.toContain('NativeModule https');
    expect(openElsewhere('s3://bucket').loaded).toContain('NativeModule https');
  });

  it('loads node:sqlite for stores in SQLite only, and says so where it is missing', () => {
    expect(openElsewhere('memory:').loaded.join()).toContain('sqlite');
    expect(openElsewhere('s3://bucket', { flags: [NO_SQLITE] })).toMatchObject({ status: 0, stderr: '' });
    const { status, stderr } = openElsewhere('memory:', { flags: [NO_SQLITE] });
    expect(status).toBe(1);
    expect(stderr).toContain('MemoryError: This Node has no node:sqlite, which memory: and sqlite: need:');
  });

  it.each(['20.20.2', '22.12.0'])('says on Node %s in one sentence what it needs', (version) => {
    const before = `Object.defineProperty(process, 'versions', { value: { node: '${version}' } });`;
    const { status, stderr } = openElsewhere('s3://bucket', { before, flags: [NO_SQLITE] });
    expect(status).toBe(1);
    expect(stderr).toContain(
      `MemoryError: sealed-memory needs Node 22.13 or newer, and this is Node ${version}: install a newer one.`,
    );
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
      await (await openMemory({ ...options, store: 's3://bucket', s3, credentials, lazy: true })).close();
      console.log(JSON.stringify({ first, later: asked.filter((name) => /^SEALED|ENDPOINT/.test(String(name))) }));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    if (stdout === '') throw new Error(stderr);
    expect(JSON.parse(stdout)).toEqual({ first: [], later: [] });
  });
});
