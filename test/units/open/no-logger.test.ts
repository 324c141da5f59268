import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

describe('a memory without a logger', () => {
  it('warns on the console when the store fails, and not of what the model reads', () => {
    const script = `
      const { MemoryError, openMemory } = await import('./src/index.ts');
      const { openSqliteObjectStore } = await import('./src/store/sqlite/sqlite-store.ts');
      const base = openSqliteObjectStore({ path: ':memory:' });
      let isDown = false;
      const get = async (...request) => {
        if (isDown) throw new MemoryError('access_denied', 'The object store denied access: check it.');
        return base.get(...request);
      };
      const memory = await openMemory({ store: { ...base, get }, tenant: 'acme', rootKey: new Uint8Array(32) });
      await memory.execute({ command: 'view', path: '/memories/missing' });
      await memory.execute({ command: 'create', path: '/memories/a', file_text: 'x' });
      isDown = true;
      for (let i = 0; i < 5; i++) await memory.execute({ command: 'view', path: '/memories/a' });`;
    const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
      env: {},
    });
    expect(stderr).toBe(
      'sealed-memory: a memory command failed (access_denied): The object store denied access: check it.\n',
    );
    expect(status).toBe(0);
  });
});
