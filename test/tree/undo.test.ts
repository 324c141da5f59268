import { expect, it } from 'vitest';
import { MemoryError } from '../../src/errors.ts';
import { fileKey } from '../../src/format/object-keys.ts';
import { readFile } from '../../src/tree/read-file.ts';
import type { OpenVault } from '../../src/tree/session.ts';
import { orTakeBack, undoPut, type Written } from '../../src/tree/undo.ts';
import { noAnswer } from '../doubles/intercepted-store.ts';
import { MIGRATIONS, migrateFile } from '../support/migrate-file.ts';
import { at, describeOnBothKinds, type TestClient, type TestSite } from '../support/test-vault.ts';

const PATH = '/memories/a';

describeOnBothKinds('taking a write back', (newSite) => {
  async function start(): Promise<{
    site: TestSite;
    client: TestClient;
    vault: OpenVault;
    written: Written;
  }> {
    const site = await newSite();
    const client = await site.client();
    await client.create(PATH, 'text');
    const vault = await client.open();
    const key = fileKey(vault.layout, vault.keyring.names, at(PATH));
    const first = await readFile(vault, at(PATH));
    if (first === undefined) throw new Error('nothing was written');
    const written: Written = {
      path: at(PATH),
      key,
      etag: first.stored.etag,
      mark: { created: [first.stored.body] },
    };
    return { site, client, vault, written };
  }

  it('removes exactly the version that was written', async () => {
    const { client, vault, written } = await start();
    expect(await undoPut(vault, written)).toBe('undone');
    expect(await client.text(PATH)).toBeUndefined();
    expect(await undoPut(vault, written)).toBe('gone');
  });

  it('removes what a migration of keys has made of it, however often', async () => {
    for (const how of MIGRATIONS) {
      const { site, client, vault, written } = await start();
      const other = await site.client();
      let left = 3;
      client.intercept(async (call, proceed) => {
        if (call.verb === 'delete' && left-- > 0) await migrateFile(other, PATH, how);
        return proceed();
      });
      expect(await undoPut(vault, written)).toBe('undone');
      expect(await client.text(PATH)).toBeUndefined();
    }
  });

  it('does not know the outcome when the file never holds still', async () => {
    const { site, client, vault, written } = await start();
    const other = await site.client();
    client.intercept(async (call, proceed) => {
      if (call.verb === 'delete') await migrateFile(other, PATH, 'bound');
      return proceed();
    });
    await expect(undoPut(vault, written)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await client.text(PATH)).toBe('text');
  });

  it('leaves what somebody has built on it', async () => {
    const { client, vault, written } = await start();
    await client.append(PATH, '!');
    expect(await undoPut(vault, written)).toBe('built_on');
    expect(await client.text(PATH)).toBe('text!');
  });

  it('goes on when the caller has given up', async () => {
    const { client, vault, written } = await start();
    expect(await undoPut({ ...vault, signal: AbortSignal.abort() }, written)).toBe('undone');
    expect(await client.text(PATH)).toBeUndefined();
  });

  it('does not know the outcome when the store fails', async () => {
    const { client, vault, written } = await start();
    for (const error of [noAnswer(), new MemoryError('unavailable', 'down')]) {
      client.intercept(() => Promise.reject(error));
      await expect(undoPut(vault, written)).rejects.toMatchObject({ code: 'outcome_unknown' });
    }
  });

  it('does not know the outcome when the store refuses that one key', async () => {
    const { client, vault, written } = await start();
    const refusal = { key: written.key, error: new MemoryError('access_denied', 'no') };
    client.intercept(async <T>() => [refusal] as T);
    await expect(undoPut(vault, written)).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it('follows a check that fails, whose error is what the caller reads', async () => {
    const { client, vault, written } = await start();
    const failing = orTakeBack(vault, written, () => Promise.reject(new MemoryError('timeout', 'slow')));
    await expect(failing).rejects.toMatchObject({ code: 'timeout' });
    expect(await client.text(PATH)).toBeUndefined();
  });

  it('does not follow a check that succeeds', async () => {
    const { client, vault, written } = await start();
    expect(await orTakeBack(vault, written, async () => 'fine')).toBe('fine');
    expect(await client.text(PATH)).toBe('text');
  });

  it('makes the outcome unknown when a check fails and the write has to stay', async () => {
    const { client, vault, written } = await start();
    await client.append(PATH, '!');
    const failing = orTakeBack(vault, written, () => Promise.reject(new MemoryError('timeout', 'slow')));
    await expect(failing).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await client.text(PATH)).toBe('text!');
  });
});
