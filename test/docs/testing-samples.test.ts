import { resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createNewcomer } from './newcomer.ts';
import { blocksOf } from './pages.ts';

/** The program with this line, and the blocks without imports that go on with it. */
function programWith(page: string, line: string): string {
  const blocks = blocksOf(page, 'ts');
  const first = blocks.findIndex(({ text }) => text.includes(line));
  const next = blocks.findIndex(({ text }, at) => at > first && /^import /m.test(text));
  return blocks
    .slice(first, next < 0 ? undefined : next)
    .map(({ text }) => text)
    .join('\n');
}

const sourceOf = (path: string): string => resolve('src', path);

describe('a sample that tests something', { timeout: 300_000 }, () => {
  const newcomer = createNewcomer();
  afterAll(() => newcomer.leave());

  const prove = async (program: string): Promise<string> => {
    newcomer.save('proof.test.mts', program);
    const { stdout, stderr, code } = await newcomer.type('node --test --test-reporter=spec proof.test.mts');
    expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
    return stdout;
  };

  it('runs turns without Claude, and lets days pass', async () => {
    const told = await prove(programWith('docs/agent.md', 'createScriptedClaude'));
    expect(told).toMatch(/pass 2\n/);
  });

  it('runs a memory that ends with the test', async () => {
    const told = await prove(programWith('docs/your-tests.md', "store: 'memory:'"));
    expect(told).toMatch(/pass 1\n/);
  });

  it('proves a store', async () => {
    const sample = programWith('docs/stores.md', 'objectStoreContract');
    const open = `import { openSqliteObjectStore } from '${sourceOf('store/sqlite/sqlite-store.ts')}';`;
    const guarded = `import { guardDeletes } from '${sourceOf('store/guarded-delete.ts')}';`;
    const store = "guardDeletes(openSqliteObjectStore({ path: ':memory:' }))";
    const told = await prove([open, guarded, sample, `proveStore(${store});`].join('\n'));
    expect(told).toContain('✔ put lets exactly one of many racing creates win');
    expect(Number(/pass (\d+)\n/.exec(told)?.[1])).toBeGreaterThan(30);
  });

  it('proves a root key', async () => {
    const sample = programWith('docs/keys.md', 'rootKeyContract');
    const open = `import { envRootKey } from '${sourceOf('keys/env-root-key.ts')}';`;
    const sodium = `import { loadSodium } from '${sourceOf('format/sodium.ts')}';\nawait loadSodium();`;
    const keyOf = (byte: number): string => `envRootKey(new Uint8Array(32).fill(${byte}))`;
    const pair = `proveRootKey({ root: ${keyOf(1)}, another: ${keyOf(2)} });`;
    const told = await prove([open, sodium, sample, pair].join('\n'));
    expect(told).toContain('✔ refuses what another root key wrapped');
    expect(told).toMatch(/pass 9\n/);
  });

  it('proves a root key before a service of a customer, as docs/byok.md has it', async () => {
    const proof = programWith('docs/keys.md', 'rootKeyContract');
    const sample = programWith('docs/byok.md', 'function serviceKey');
    const service = `
      import { createCipheriv, createDecipheriv } from 'node:crypto';
      const serviceOf = (byte: number): CustomersService => {
        const material = new Uint8Array(32).fill(byte);
        return {
          async encrypt(bytes, boundTo) {
            const iv = randomBytes(12);
            const sealing = createCipheriv('aes-256-gcm', material, iv).setAAD(boundTo);
            return Buffer.concat([iv, sealing.update(bytes), sealing.final(), sealing.getAuthTag()]);
          },
          async decrypt(box, boundTo) {
            try {
              const opening = createDecipheriv('aes-256-gcm', material, box.subarray(0, 12), { authTagLength: 16 });
              opening.setAAD(boundTo).setAuthTag(box.subarray(-16));
              return Buffer.concat([opening.update(box.subarray(12, -16)), opening.final()]);
            } catch {
              return undefined;
            }
          },
        };
      };`;
    const keyOf = (byte: number): string => `serviceKey('service:${byte}', serviceOf(${byte}))`;
    const pair = `proveRootKey({ root: ${keyOf(1)}, another: ${keyOf(2)} });`;
    const told = await prove([sample, proof, service, pair].join('\n'));
    expect(told).toContain('✔ takes the context in whatever order its fields were written');
    expect(told).toMatch(/pass 9\n/);
  });
});
