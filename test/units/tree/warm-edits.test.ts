import { describe, expect, it } from 'vitest';
import { migrateObjects } from '../../../src/admin/keys/migrate.ts';
import { rotateKey } from '../../../src/admin/keys/rotate.ts';
import { MemoryError } from '../../../src/errors.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { createKeyringEditor } from '../../../src/keys/keyring-editor.ts';
import { countCalls, type StoreCall } from '../../stage/store-wrappers.ts';
import {
  at,
  bytes,
  createSite,
  describeOnBothKinds,
  TEST_ROOT_KEY,
  type TestClient,
  type TestSite,
} from '../../stage/test-tree.ts';

const PATH = '/memories/d/a';

/** Answers what a call costs, and its outcome. */
async function bill(client: TestClient, call: () => Promise<unknown>): Promise<unknown> {
  client.calls.length = 0;
  const outcome = await call().catch((error: MemoryError) => error.code);
  return [outcome, countCalls(client.calls)];
}

/** An edit that is refused, with what it saw. */
function refused(client: TestClient): Promise<string> {
  return client.tree
    .edit<string>(at(PATH), (content) => {
      throw new MemoryError('no_match', new TextDecoder().decode(content));
    })
    .catch((error: MemoryError) => error.message);
}

describeOnBothKinds('a file that the process read or wrote last', (newSite) => {
  async function start(): Promise<{ site: TestSite; client: TestClient; other: TestClient }> {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await other.create(PATH, 'one');
    // Its creator does not take it back any more.
    await site.time.pause(61_000);
    expect(await client.text(PATH)).toBe('one');
    return { site, client, other };
  }

  it('is edited by one PUT, again and again', async () => {
    const { client, other } = await start();
    for (const text of [' two', ' three']) {
      expect(await bill(client, () => client.append(PATH, text))).toEqual([undefined, { put: 1 }]);
    }
    expect(await other.text(PATH)).toBe('one two three');
    await client.create('/memories/b', 'new');
    expect(await bill(client, () => client.append('/memories/b', 'er'))).toEqual([undefined, { put: 1 }]);
    expect(await other.text('/memories/b')).toBe('newer');
  });

  it('is read and judged again when another process has changed it', async () => {
    const { client, other } = await start();
    await other.append(PATH, ' other');
    expect(await bill(client, () => client.append(PATH, ' ours'))).toEqual([undefined, { get: 1, put: 2 }]);
    expect(await other.text(PATH)).toBe('one other ours');
    expect(await bill(client, () => client.append(PATH, '.'))).toEqual([undefined, { put: 1 }]);
  });

  it('is looked at again without its bytes', async () => {
    const { client } = await start();
    const answers: unknown[] = [];
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (call.verb === 'get') answers.push(answer);
      return answer;
    });
    expect(await bill(client, () => client.text(PATH))).toEqual(['one', { get: 1 }]);
    expect(answers).toEqual(['not_modified']);
    await client.append(PATH, ' two');
    expect(await bill(client, () => client.text(PATH))).toEqual(['one two', { get: 1 }]);
    expect(answers).toEqual(['not_modified', 'not_modified']);
  });

  it('is seen as others have changed, deleted and created it', async () => {
    const { client, other } = await start();
    await other.append(PATH, ' two');
    expect(await client.text(PATH)).toBe('one two');
    await other.remove(PATH);
    expect(await bill(client, () => client.text(PATH))).toEqual([undefined, { get: 1 }]);
    await other.create(PATH, 'one');
    expect(await client.text(PATH)).toBe('one');
  });

  it('refuses no edit that the file as it is now would take, at the price of a GET', async () => {
    const { client, other } = await start();
    await other.append(PATH, ' other');
    expect(await bill(client, () => refused(client))).toEqual(['one other', { get: 1 }]);
    expect(await bill(client, () => refused(client))).toEqual(['one other', { get: 1 }]);
    await other.remove(PATH);
    expect(await bill(client, () => client.append(PATH, '!'))).toEqual(['not_found', expect.anything()]);
    await other.create(PATH, 'again');
    expect(await refused(client)).toBe('again');
  });

  it('ends an edit that is refused beside one that is written by their PUT alone', async () => {
    const { client, other } = await start();
    const both = () => Promise.all([refused(client), client.append(PATH, ' two'), refused(client)]);
    expect(await bill(client, both)).toEqual([['one', undefined, 'one two'], { put: 1 }]);
    await other.append(PATH, '+');
    expect(await bill(client, both)).toEqual([['one two+', undefined, 'one two+ two'], { get: 1, put: 2 }]);
  });

  it('is told to be missing by the PUT that does not find it', async () => {
    const { site, client, other } = await start();
    await other.remove(PATH);
    const again = site.kind === 'guarded' ? { put: 1 } : expect.anything();
    expect(await bill(client, () => client.append(PATH, '!'))).toEqual(['not_found', again]);
    expect(await bill(client, () => client.append(PATH, '!'))).toEqual(['not_found', { get: 1 }]);
    expect(await other.text(PATH)).toBeUndefined();
  });

  it('is replaced by one PUT, and by what another process left otherwise', async () => {
    const { client, other } = await start();
    const overwrite = (text: string) => async () => {
      await client.tree.overwrite(at(PATH), bytes(text));
    };
    expect(await bill(client, overwrite('two'))).toEqual([undefined, { put: 1 }]);
    await other.append(PATH, '+');
    // A HEAD does not tell that it was edited, and so stays: a look for clashes does.
    expect(await bill(client, overwrite('three'))).toEqual([undefined, { put: 2, head: 2, list: 1 }]);
    expect(await other.text(PATH)).toBe('three');
    await other.remove(PATH);
    await overwrite('four')();
    expect(await other.text(PATH)).toBe('four');
    expect(await bill(client, () => client.append(PATH, '!'))).toEqual([undefined, { put: 1 }]);
  });

  it('is edited after a rotation and a migration of its keys, and after its key is gone', async () => {
    const { site, client, other } = await start();
    const { tenant } = await other.open();
    const { store, layout, clock, random } = tenant;
    const editor = createKeyringEditor({
      store,
      layout,
      rootKeys: [envRootKey(TEST_ROOT_KEY)],
      clock,
      random,
    });
    await rotateKey({ editor, clock, random }, { force: true });
    expect(await bill(client, () => client.append(PATH, ' two'))).toEqual([undefined, { put: 1 }]);
    await site.time.pause(3_600_000);
    // Its first pass binds the file to the new key, and the old one goes with the next.
    const report = await migrateObjects(tenant, { editor, ttlMs: 60_000, wait: true });
    expect(report).toMatchObject({ rebound: expect.any(Number), retired: [1] });
    await site.time.pause(3_600_000);
    await client.append('/memories/e', '').catch(() => {});
    expect(await bill(client, () => client.append(PATH, ' three'))).toEqual([undefined, { get: 1, put: 1 }]);
    expect(await other.text(PATH)).toBe('one two three');
  });

  it('is not held where the process holds nothing', async () => {
    const { site, other } = await start();
    const cold = await site.client({ cacheBytes: 0 });
    await cold.append(PATH, ' two');
    expect(await bill(cold, () => cold.append(PATH, ' three'))).toEqual([undefined, { get: 1, put: 1 }]);
    expect(await bill(cold, () => cold.text(PATH))).toEqual(['one two three', { get: 1 }]);
    expect(await other.text(PATH)).toBe('one two three');
  });
});

describe('an older version that was put back', () => {
  const keysOf = (call: StoreCall): string => ('key' in call ? call.key : '');

  async function start() {
    const site = await createSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create(PATH, 'one');
    const key = client.calls.map(keysOf).find((each) => each.includes('/data/')) as never;
    const first = await site.base.get(key);
    if (typeof first !== 'object') throw new Error('there is no file');
    /** As a server whose ETags are hashes shows it. */
    const putBack = (to: TestClient): void =>
      to.intercept(async (call, proceed) => {
        if (!keysOf(call).includes('/data/')) return proceed();
        return (call.verb === 'get' ? { ...first } : { etag: 'new' }) as never;
      });
    return { client, other, putBack };
  }

  it('is not edited unseen by a process that has met a newer one', async () => {
    const { client, other, putBack } = await start();
    await other.append(PATH, ' two');
    const work = await client.open();
    // Not by way of the cache: as a verification or a rename reads it.
    const { readFile } = await import('../../../src/tree/read-file.ts');
    await readFile(work, at(PATH));
    putBack(client);
    await expect(client.append(PATH, ' three')).rejects.toMatchObject({ code: 'integrity' });
  });

  it('is refused by a view, also where the server says that nothing has changed', async () => {
    const { client, other, putBack } = await start();
    await other.append(PATH, ' two');
    expect(await client.text(PATH)).toBe('one two');
    putBack(client);
    await expect(client.text(PATH)).rejects.toMatchObject({ code: 'integrity' });
  });
});
