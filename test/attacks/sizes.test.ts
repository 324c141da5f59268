import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { contentLength, sealedSize } from '../../src/format/sizes.ts';
import { openAdmin, openMemory } from '../../src/index.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { succeed } from '../stage/succeed.ts';

const FILES = 'tenants/acme/data/';
const rootKey = randomBytes(32).toString('base64');

let store: ObjectStore;
beforeEach(() => {
  store = openSqliteObjectStore({ path: ':memory:' });
});
afterEach(() => store[Symbol.asyncDispose]());

/** The store, whose server says this of every size in its listings. */
function lying(size: number): ObjectStore {
  return {
    get: (...request) => store.get(...request),
    head: (...request) => store.head(...request),
    put: (...request) => store.put(...request),
    delete: (...request) => store.delete(...request),
    async *list(options) {
      for await (const page of store.list(options)) {
        yield { ...page, objects: page.objects.map((object) => ({ ...object, size })) };
      }
    },
    async [Symbol.asyncDispose]() {},
  };
}

describe('sizes', () => {
  it('are all that a model which was told to leak can show a reader of the bucket, 20 bits a write', async () => {
    await using memory = await openMemory({ store, rootKey, tenant: 'acme' });
    const secret = 'the code name is Kestrel';
    const seen: string[] = [];
    const path = '/memories/the code name is Kestrel.md';
    for (const [index, character] of [...secret].entries()) {
      const file_text = '.'.repeat(character.charCodeAt(0));
      await succeed(memory, { command: 'create', path: path.replace('.md', `${index}.md`), file_text });
      const sizes = new Map<string, number>();
      for await (const { objects } of store.list({ prefix: FILES })) {
        for (const { key, size } of objects) sizes.set(key, contentLength(size) ?? 0);
      }
      expect([...sizes.keys()].join()).not.toMatch(/Kestrel|code|name/);
      expect(sizes.size).toBe(index + 1);
      const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
      const before = seen.reduce((sum, each) => sum + each.charCodeAt(0), 0);
      seen.push(String.fromCharCode(total - before));
    }
    expect(seen.join('')).toBe(secret);
    const most = { command: 'create', path: '/memories/most', file_text: 'x'.repeat(2 ** 20) } as const;
    await succeed(memory, most);
    const beyond = await memory.execute({ ...most, path: '/memories/more', file_text: `${most.file_text}x` });
    expect(beyond.isError).toBe(true);
  });

  it('that a server tells in listings are shown, and no byte is reserved for them', async () => {
    {
      await using memory = await openMemory({ store, rootKey, tenant: 'acme' });
      await succeed(memory, { command: 'create', path: '/memories/a.md', file_text: 'text of a' });
    }
    for (const size of [sealedSize(0), 2 ** 40, 2 ** 53 - 1]) {
      const options = { store: lying(size), rootKey, tenant: 'acme' };
      await using memory = await openMemory(options);
      expect(await succeed(memory, { command: 'view', path: '/memories' })).toContain('/memories/a.md');
      expect(await succeed(memory, { command: 'view', path: '/memories/a.md' })).toContain('text of a');
      await using admin = await openAdmin(options);
      expect(await admin.verify()).toMatchObject({ findings: [] });
    }
  });
});
