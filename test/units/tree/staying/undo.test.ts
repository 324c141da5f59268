import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { fileKey } from '../../../../src/format/object-keys.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { orTakeBack, takePutBack, type Written } from '../../../../src/tree/staying/take-back.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { MIGRATIONS, migrateFile } from '../../../stage/rare-writes.ts';
import { noAnswer } from '../../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const PATH = '/memories/a';

describeOnBothKinds('taking a write back', (newSite) => {
  async function start(): Promise<{
    site: TestSite;
    client: TestClient;
    work: Work;
    written: Written;
  }> {
    const site = await newSite();
    const client = await site.client();
    await client.create(PATH, 'text');
    const work = await client.open();
    const key = fileKey(work.tenant.layout, work.keyring.names, at(PATH));
    const first = await readFile(work, at(PATH));
    if (first === undefined) throw new Error('nothing was written');
    const written: Written = {
      path: at(PATH),
      key,
      etag: first.stored.etag,
      mark: { created: first.id },
    };
    return { site, client, work, written };
  }

  it('removes exactly the version that was written', async () => {
    const { client, work, written } = await start();
    expect(await takePutBack(work, written)).toBe('undone');
    expect(await client.text(PATH)).toBeUndefined();
    expect(await takePutBack(work, written)).toBe('gone');
  });

  it('removes what a migration of keys has made of it, however often', async () => {
    for (const how of MIGRATIONS) {
      const { site, client, work, written } = await start();
      const other = await site.client();
      let left = 3;
      client.intercept(async (call, proceed) => {
        if (call.verb === 'delete' && left-- > 0) await migrateFile(other, PATH, how);
        return proceed();
      });
      expect(await takePutBack(work, written)).toBe('undone');
      expect(await client.text(PATH)).toBeUndefined();
    }
  });

  it('does not know the outcome when the file never holds still', async () => {
    const { site, client, work, written } = await start();
    const other = await site.client();
    client.intercept(async (call, proceed) => {
      if (call.verb === 'delete') await migrateFile(other, PATH, 'bound');
      return proceed();
    });
    await expect(takePutBack(work, written)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await client.text(PATH)).toBe('text');
  });

  it('leaves what another process has built on it', async () => {
    const { client, work, written } = await start();
    await client.append(PATH, '!');
    expect(await takePutBack(work, written)).toBe('built_on');
    expect(await client.text(PATH)).toBe('text!');
  });

  it('leaves what another process has moved away and back, though it is the same version', async () => {
    const { site, work, written } = await start();
    const other = await site.client();
    await other.rename(PATH, '/memories/b');
    await other.rename('/memories/b', PATH);
    expect(await takePutBack(work, written)).toBe('built_on');
    expect(await other.text(PATH)).toBe('text');
  });

  it('continues when the caller has cancelled', async () => {
    const { client, work, written } = await start();
    expect(await takePutBack({ ...work, call: { signal: AbortSignal.abort() } }, written)).toBe('undone');
    expect(await client.text(PATH)).toBeUndefined();
  });

  it('does not know the outcome when the store fails', async () => {
    const { client, work, written } = await start();
    for (const error of [noAnswer(), new MemoryError('unavailable', 'down')]) {
      client.intercept(() => Promise.reject(error));
      await expect(takePutBack(work, written)).rejects.toMatchObject({ code: 'outcome_unknown' });
    }
  });

  it('does not know the outcome when the store refuses that one key', async () => {
    const { client, work, written } = await start();
    const refusal = { key: written.key, error: new MemoryError('access_denied', 'no') };
    client.intercept(async <T>() => [refusal] as T);
    await expect(takePutBack(work, written)).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it('follows a check that fails, whose error is what the caller reads', async () => {
    const { client, work, written } = await start();
    const failing = orTakeBack(work, written, () => Promise.reject(new MemoryError('timeout', 'slow')));
    await expect(failing).rejects.toMatchObject({ code: 'timeout' });
    expect(await client.text(PATH)).toBeUndefined();
  });

  it('does not follow a check that succeeds', async () => {
    const { client, work, written } = await start();
    expect(await orTakeBack(work, written, async () => 'fine')).toBe('fine');
    expect(await client.text(PATH)).toBe('text');
  });

  it('makes the outcome unknown when a check fails and the write has to stay', async () => {
    const { client, work, written } = await start();
    await client.append(PATH, '!');
    const failing = orTakeBack(work, written, () => Promise.reject(new MemoryError('timeout', 'slow')));
    await expect(failing).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await client.text(PATH)).toBe('text!');
  });
});
