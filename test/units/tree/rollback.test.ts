import { expect, it } from 'vitest';
import { verifyTree } from '../../../src/admin/verify/verify.ts';
import { classKey, fileKey, type ObjectKey } from '../../../src/format/object-keys.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';
import { atFirst, loseAnswer } from '../../stage/store-wrappers.ts';
import {
  at,
  describeOnBothKinds,
  TEST_ROOT_KEY,
  type TestClient,
  type TestSite,
} from '../../stage/test-tree.ts';

const PATH = '/memories/project/notes.md';
const PUT_BACK = { code: 'integrity', details: { reason: 'put_back' } };

/** A party that may write to the store and has kept what lay there once. */
interface Attacker {
  /** Keeps the object of a file as it is now, and puts it back on demand. */
  keep(path: string): Promise<() => Promise<void>>;
  keepObject(key: ObjectKey): Promise<() => Promise<void>>;
}

async function attackerOf(site: TestSite, client: TestClient): Promise<Attacker> {
  const {
    tenant: { layout },
    keyring,
  } = await client.open();
  const keepObject = async (key: ObjectKey): Promise<() => Promise<void>> => {
    const kept = await site.base.get(key);
    if (typeof kept !== 'object') throw new Error('there is nothing to keep');
    return async () => {
      await site.base.put(key, kept.body, { mode: 'overwrite' });
    };
  };
  return { keepObject, keep: (path) => keepObject(fileKey(layout, keyring.names, at(path))) };
}

describeOnBothKinds('an older version that is put back in its place', (newSite) => {
  async function start(): Promise<{ site: TestSite; client: TestClient; attacker: Attacker }> {
    const site = await newSite();
    const client = await site.client();
    return { site, client, attacker: await attackerOf(site, client) };
  }

  /** Refused by the process that knows better; a new process has no way to tell, and reads it. */
  async function expectDetected(
    { site, client }: { readonly site: TestSite; readonly client: TestClient },
    { path, text }: { readonly path: string; readonly text: string },
  ): Promise<void> {
    await expect(client.text(path)).rejects.toMatchObject(PUT_BACK);
    await expect(client.append(path, '+')).rejects.toMatchObject(PUT_BACK);
    await expect(client.rename(path, '/memories/elsewhere.md')).rejects.toMatchObject(PUT_BACK);
    expect(await (await site.client()).text(path)).toBe(text);
  }

  it('is refused after an edit of our own, and read by a new process', async () => {
    const { site, client, attacker } = await start();
    await client.create(PATH, 'old');
    const putBack = await attacker.keep(PATH);
    await client.append(PATH, '+new');
    await putBack();
    await expectDetected({ site, client }, { path: PATH, text: 'old' });
  });

  it('is refused after an edit of another process that was read', async () => {
    const { site, client, attacker } = await start();
    const other = await site.client();
    await other.create(PATH, 'old');
    expect(await client.text(PATH)).toBe('old');
    const putBack = await attacker.keep(PATH);
    await other.append(PATH, '+new');
    expect(await client.text(PATH)).toBe('old+new');
    await putBack();
    await expectDetected({ site, client }, { path: PATH, text: 'old' });
  });

  it('is read where the process has not seen that anything newer was there', async () => {
    const { site, client, attacker } = await start();
    const other = await site.client();
    await other.create(PATH, 'old');
    expect(await client.text(PATH)).toBe('old');
    const putBack = await attacker.keep(PATH);
    await other.append(PATH, '+new');
    await putBack();
    expect(await client.text(PATH)).toBe('old');
  });

  it('is refused after a delete of our own', async () => {
    const { site, client, attacker } = await start();
    await client.create(PATH, 'old');
    const putBack = await attacker.keep(PATH);
    await client.remove(PATH);
    await putBack();
    await expectDetected({ site, client }, { path: PATH, text: 'old' });
  });

  it('is refused after the delete of its directory', async () => {
    const { site, client, attacker } = await start();
    await client.create(PATH, 'old');
    await client.create('/memories/project/other.md', 'other');
    const putBack = await attacker.keep(PATH);
    await client.remove('/memories/project');
    await putBack();
    await expectDetected({ site, client }, { path: PATH, text: 'old' });
  });

  it('is refused after a delete by another process that was noticed', async () => {
    const { site, client, attacker } = await start();
    await client.create(PATH, 'old');
    const putBack = await attacker.keep(PATH);
    await (await site.client()).remove(PATH);
    expect(await client.text(PATH)).toBeUndefined();
    await putBack();
    await expectDetected({ site, client }, { path: PATH, text: 'old' });
  });

  it('is refused where a file was renamed away', async () => {
    const { site, client, attacker } = await start();
    await client.create(PATH, 'old');
    const putBack = await attacker.keep(PATH);
    await client.rename(PATH, '/memories/renamed.md');
    await putBack();
    await expectDetected({ site, client }, { path: PATH, text: 'old' });
    expect(await client.text('/memories/renamed.md')).toBe('old');
  });

  it('is refused where a directory was renamed away, and after it was renamed back', async () => {
    const { site, client, attacker } = await start();
    await client.create(PATH, 'old');
    const putBack = await attacker.keep(PATH);
    await client.rename('/memories/project', '/memories/archive');
    await putBack();
    await expect(client.text(PATH)).rejects.toMatchObject(PUT_BACK);
    expect(await client.text('/memories/archive/notes.md')).toBe('old');

    await client.remove(PATH);
    await client.rename('/memories/archive', '/memories/project');
    expect(await client.text(PATH)).toBe('old');
    await putBack();
    await expectDetected({ site, client }, { path: PATH, text: 'old' });
  });

  it('is refused where a directory was renamed to and its file was edited since', async () => {
    const { site, client, attacker } = await start();
    const moved = '/memories/archive/notes.md';
    await client.create(PATH, 'old');
    await client.rename('/memories/project', '/memories/archive');
    const putBack = await attacker.keep(moved);
    await client.append(moved, '+new');
    await putBack();
    await expectDetected({ site, client }, { path: moved, text: 'old' });
  });

  it('is refused after a write whose answer was lost and which was read back', async () => {
    const { site, client, attacker } = await start();
    await client.create(PATH, 'old');
    const putBack = await attacker.keep(PATH);
    client.intercept(atFirst('put', (proceed) => loseAnswer(proceed)));
    await client.append(PATH, '+new');
    await putBack();
    await expectDetected({ site, client }, { path: PATH, text: 'old' });
  });

  it('keeps a rename of its directory from going on, and leaves both places as they were', async () => {
    const { client, attacker } = await start();
    await client.create(PATH, 'old');
    await client.create('/memories/project/other.md', 'other');
    const putBack = await attacker.keep(PATH);
    await client.append(PATH, '+new');
    await putBack();
    await expect(client.rename('/memories/project', '/memories/archive')).rejects.toMatchObject(PUT_BACK);
    expect(await client.paths()).toEqual([PATH, '/memories/project/other.md']);
  });

  it('is refused in the place of the register of renames', async () => {
    const { client, attacker } = await start();
    await client.create(PATH, 'text');
    await client.rename('/memories/project', '/memories/b');
    const putBack = await attacker.keepObject(classKey(client.layout, 'journal', 'register'));
    await client.rename('/memories/b', '/memories/c');
    await putBack();
    await expect(client.remove('/memories/c')).rejects.toMatchObject(PUT_BACK);
    expect(await client.text('/memories/c/notes.md')).toBe('text');
  });

  it('can be deleted, and what is written in its place is taken', async () => {
    const { client, attacker } = await start();
    await client.create(PATH, 'old');
    const putBack = await attacker.keep(PATH);
    await client.append(PATH, '+new');
    await putBack();
    await expect(client.text(PATH)).rejects.toMatchObject(PUT_BACK);
    await client.remove(PATH);
    await client.create(PATH, 'fresh');
    expect(await client.text(PATH)).toBe('fresh');
    await putBack();
    await expect(client.text(PATH)).rejects.toMatchObject(PUT_BACK);
  });

  it('is a finding of a verification in the same process', async () => {
    const { client, attacker } = await start();
    await client.create(PATH, 'old');
    const putBack = await attacker.keep(PATH);
    await client.append(PATH, '+new');
    const work = await client.open();
    expect(await verifyTree(work.tenant)).toMatchObject({ files: 1, findings: [] });
    await putBack();
    expect(await verifyTree(work.tenant)).toMatchObject({
      files: 0,
      findings: [{ kind: 'damaged', path: PATH }],
    });
  });

  it('is told apart from an answer that was merely late', async () => {
    const { site, client } = await start();
    await client.create(PATH, 'old');
    expect(await client.text(PATH)).toBe('old');
    const late = Promise.withResolvers<void>();
    const executed = Promise.withResolvers<void>();
    client.intercept(
      atFirst('get', async (proceed) => {
        const answer = await proceed();
        executed.resolve();
        await late.promise;
        return answer;
      }),
    );
    const slow = client.text(PATH);
    await executed.promise;
    await (await site.client()).append(PATH, '+new');
    expect(await client.text(PATH)).toBe('old+new');
    late.resolve();
    expect(await slow).toBe('old');
    expect(await client.text(PATH)).toBe('old+new');
  });

  it('is refused after the credentials of a pool were replaced', async () => {
    const { site, client, attacker } = await start();
    await client.create(PATH, 'old');
    const putBack = await attacker.keep(PATH);
    await using pool = createMemoryPool({ store: site.base, rootKey: TEST_ROOT_KEY });
    const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
    const before = await pool.open('acme', { credentials });
    await before.execute({ command: 'view', path: PATH });
    await before.execute({ command: 'insert', path: PATH, insert_line: 0, insert_text: 'new' });
    await putBack();
    const after = await pool.open('acme', { credentials: { ...credentials } });
    expect(await after.execute({ command: 'view', path: PATH })).toMatchObject({ error: PUT_BACK });
  });

  it("is the operator's to know: the model reads nothing but a neutral sentence", async () => {
    const { site } = await start();
    const logged: unknown[] = [];
    const log = (...line: unknown[]): void => void logged.push(line);
    const logger = { debug: log, info: log, warn: log, error: log };
    const options = {
      store: site.base,
      tenant: 'other',
      rootKey: TEST_ROOT_KEY,
      names: 'plain',
      logger,
    } as const;
    await using memory = await openMemory(options);
    const execute = memory.execute.bind(memory);
    await execute({ command: 'create', path: PATH, file_text: 'secret old\n' });
    const key = `tenants/other/data/project/notes.md.sealed` as ObjectKey;
    const kept = await site.base.get(key);
    if (typeof kept !== 'object') throw new Error('there is nothing to keep');
    await execute({ command: 'insert', path: PATH, insert_line: 0, insert_text: 'new' });
    await site.base.put(key, kept.body, { mode: 'overwrite' });

    const answer = await execute({ command: 'view', path: PATH });
    expect(answer).toMatchObject({ isError: true, error: PUT_BACK });
    expect(JSON.stringify(answer.content)).not.toMatch(/secret|older|put back/);
    expect(JSON.stringify(logged)).toContain('put back');
    expect(JSON.stringify(logged)).not.toMatch(/secret|notes\.md/);
  });
});
