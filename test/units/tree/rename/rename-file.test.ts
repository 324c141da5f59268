import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { open } from '../../../../src/format/object.ts';
import { logicalName } from '../../../../src/format/object-keys.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { MIGRATIONS, migrateFile } from '../../../stage/rare-writes.ts';
import {
  type Around,
  atFirst,
  countCalls,
  loseAnswer,
  noAnswer,
  type StoreCall,
  sendTwice,
} from '../../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/x/y/to';

describeOnBothKinds('renaming a file', (newSite) => {
  async function start(): Promise<{ site: TestSite; client: TestClient; other: TestClient }> {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create(FROM, 'text');
    client.calls.length = 0;
    return { site, client, other };
  }

  it('copies it by GET and PUT, looks for clashes at the target and deletes the source', async () => {
    const { client } = await start();
    await client.rename(FROM, TO);
    expect(countCalls(client.calls)).toEqual({ get: 1, put: 1, list: 1, head: 2, delete: 1 });
    expect(await client.paths()).toEqual([TO]);
    expect(await client.text(TO)).toBe('text');
    // The process knows its copy, which certainly stays.
    client.calls.length = 0;
    await client.append(TO, '!');
    expect(countCalls(client.calls)).toEqual({ put: 1 });
  });

  it('asks for no ancestor that the source has too', async () => {
    const { client } = await start();
    await client.create('/memories/a/b/c', '');
    client.calls.length = 0;
    await client.rename('/memories/a/b/c', '/memories/a/b/d');
    expect(countCalls(client.calls)).toEqual({ get: 1, put: 1, list: 1, delete: 1 });
  });

  it('leaves a file that is about to be taken back from below another', async () => {
    const { site, client, other } = await start();
    await client.create('/memories/a', 'above');
    await site.time.pause(10_000);
    let renaming: Promise<void> | undefined;
    other.intercept(
      atFirst('head', async (proceed) => {
        // Created below a file, and not yet taken back.
        renaming = expect(client.rename('/memories/a/b/c', '/memories/a/d')).rejects.toMatchObject({
          code: 'not_found',
        });
        await site.time.pause(5_000);
        return proceed();
      }),
    );
    await expect(other.create('/memories/a/b/c', '')).rejects.toMatchObject({ code: 'already_exists' });
    await renaming;
    expect(await client.paths()).toEqual(['/memories/a', FROM]);
  });

  it('keeps version id and mtime, and binds the copy to its new path', async () => {
    const { client } = await start();
    const before = await readFile(await client.open(), at(FROM));
    await client.rename(FROM, TO);
    const work = await client.open();
    const after = await readFile(work, at(TO));
    expect(after).toMatchObject({ id: before?.id, mtime: before?.mtime });
    const object = after?.stored.body ?? new Uint8Array();
    expect(() => open({ keys: work.keyring.keys, name: logicalName(at(FROM)), object })).toThrow();
  });

  it('refuses a target that exists as a file or a directory, or lies below a file', async () => {
    const { client } = await start();
    await client.create('/memories/file', 'kept');
    await client.create('/memories/dir/a', 'kept');
    for (const to of ['/memories/file', '/memories/dir', FROM]) {
      await expect(client.rename(FROM, to)).rejects.toMatchObject({ code: 'already_exists', details: {} });
    }
    for (const to of ['/memories/file/below', `${FROM}/below`]) {
      await expect(client.rename(FROM, to)).rejects.toMatchObject({ details: { reason: 'below_file' } });
    }
    expect(await client.paths()).toEqual(['/memories/dir/a', '/memories/file', FROM]);
    expect(await client.text('/memories/file')).toBe('kept');
  });

  it('takes an edit along that was acknowledged while it ran', async () => {
    const { client, other } = await start();
    const edits = ['1', '2', '3'];
    client.intercept(
      before('delete', async () => {
        const edit = edits.shift();
        if (edit !== undefined) await other.append(FROM, edit);
      }),
    );
    await client.rename(FROM, TO);
    expect(await client.paths()).toEqual([TO]);
    expect(await client.text(TO)).toBe('text123');
  });

  it('gives its copy up when the source was deleted or renamed meanwhile', async () => {
    for (const meddle of [
      (other: TestClient) => other.remove(FROM),
      (other: TestClient) => other.rename(FROM, '/memories/elsewhere'),
    ]) {
      const { client, other } = await start();
      client.intercept(
        atFirst('delete', async (proceed) => {
          await meddle(other);
          return proceed();
        }),
      );
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'not_found' });
      expect(await client.text(TO)).toBeUndefined();
      expect(await client.text(FROM)).toBeUndefined();
    }
  });

  it('does not call the source missing when its copy was moved on before it could be taken back', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.rename(FROM, '/memories/elsewhere');
        await other.rename(TO, '/memories/moved on');
        return proceed();
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await other.paths()).toEqual(['/memories/elsewhere', '/memories/moved on']);
  });

  it('takes its copy back, too, when a migration of keys has written it again', async () => {
    for (const how of MIGRATIONS) {
      const { client, other } = await start();
      client.intercept(
        atFirst('delete', async (proceed) => {
          await migrateFile(other, TO, how);
          await other.remove(FROM);
          return proceed();
        }),
      );
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'not_found' });
      expect(await client.paths()).toEqual([]);
    }
  });

  it('leaves no file beside a directory of its name when a migration of keys writes its copy again', async () => {
    for (const how of MIGRATIONS) {
      const { client, other } = await start();
      await other.create(`${TO}/below`, 'there');
      client.intercept(
        atFirst('delete', async (proceed) => {
          await migrateFile(other, TO, how);
          return proceed();
        }),
      );
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'already_exists' });
      expect(await client.paths()).toEqual([FROM, `${TO}/below`]);
    }
  });

  it('follows an edit of the source over a copy that a migration of keys has written again', async () => {
    for (const how of MIGRATIONS) {
      const { client, other } = await start();
      client.intercept(
        atFirst('delete', async (proceed) => {
          await other.append(FROM, ' and more');
          await migrateFile(other, TO, how);
          return proceed();
        }),
      );
      await client.rename(FROM, TO);
      expect(await client.paths()).toEqual([TO]);
      expect(await client.text(TO)).toBe('text and more');
    }
  });

  it('goes on where the copy was edited and a migration of keys alone has written the source again', async () => {
    for (const how of MIGRATIONS) {
      const { client, other } = await start();
      client.intercept(
        atFirst('delete', async (proceed) => {
          await other.append(TO, ' and more');
          await migrateFile(other, FROM, how);
          return proceed();
        }),
      );
      client.calls.length = 0;
      await client.rename(FROM, TO);
      // It would have been copied over an unchanged copy.
      expect(countCalls(client.calls)).toEqual({ get: 3, put: 2, list: 1, head: 2, delete: 2 });
      expect(await client.paths()).toEqual([TO]);
      expect(await client.text(TO)).toBe('text and more');
    }
  });

  it('keeps a source that a repair has written again, and whose copy that has removed', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        // The same content, under an origin of its own: the repair has decided for the source.
        await other.rename(FROM, '/memories/kept');
        await other.rename('/memories/kept', FROM);
        await other.remove(TO);
        return proceed();
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ details: { reason: 'both_kept' } });
    expect(await client.paths()).toEqual([FROM]);
  });

  it('leaves the copy of another rename of the same file, which has the same content', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.remove(TO);
        await other.rename(FROM, TO);
        return proceed();
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await client.paths()).toEqual([TO]);
  });

  it('keeps both places when both were changed meanwhile', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.append(FROM, ' one');
        await other.append(TO, ' two');
        return proceed();
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'both_kept' },
      retry: 'never',
    });
    expect(await client.text(FROM)).toBe('text one');
    expect(await client.text(TO)).toBe('text two');
  });

  it('keeps a target that another process has edited when the source is deleted meanwhile', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.append(TO, '!');
        await other.remove(FROM);
        return proceed();
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await client.text(TO)).toBe('text!');
  });

  it('moves on when answers to its PUT are lost, executed or not', async () => {
    for (const lose of [loseAnswer, () => Promise.reject(noAnswer())]) {
      const { client } = await start();
      client.intercept(atFirst('put', lose));
      await client.rename(FROM, TO);
      expect(await client.paths()).toEqual([TO]);
    }
  });

  it('leaves the file at one or both places, never at none, when the answer to its delete is lost', async () => {
    for (const lose of [loseAnswer, () => Promise.reject(noAnswer())]) {
      const { client, other } = await start();
      client.intercept(atFirst('delete', lose));
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
      expect(await other.text(TO)).toBe('text');
    }
  });

  it('does not know the outcome when its delete was sent twice and the source is gone', async () => {
    const { client } = await start();
    client.intercept((call, proceed) => (call.verb === 'delete' ? sendTwice(proceed) : proceed()));
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await client.paths()).toEqual([TO]);
  });

  it.each(['head', 'list', 'delete'] as const)(
    'leaves everything as it was when the store fails at its first %s',
    async (verb) => {
      for (const code of ['unavailable', 'access_denied', 'aborted'] as const) {
        const { client, other } = await start();
        const failure = new MemoryError(code, 'no');
        client.intercept(atFirst(verb, () => Promise.reject(failure)));
        await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code });
        expect(await other.paths()).toEqual([FROM]);
      }
    },
  );

  it('leaves everything as it was when the caller cancels at any request', async () => {
    for (let at = 0; at < 6; at++) {
      const { client, other } = await start();
      const controller = new AbortController();
      let requests = 0;
      client.intercept((_, proceed) => {
        if (requests++ === at) controller.abort();
        return proceed();
      });
      const outcome = await client.rename(FROM, TO, controller.signal).then(
        () => 'moved',
        (error: { code: string }) => error.code,
      );
      expect({ at, outcome, paths: await other.paths() }).toEqual({
        at,
        outcome: outcome === 'moved' ? 'moved' : 'aborted',
        paths: outcome === 'moved' ? [TO] : [FROM],
      });
    }
  });

  it('does not know the outcome when it meets a clash and another process has taken its copy away', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('list', async (proceed) => {
        await other.remove(TO);
        await other.create(`${TO}/below`, 'theirs');
        return proceed();
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await other.paths()).toEqual([FROM, `${TO}/below`]);
  });

  it('never takes its copy back unless the source is seen to be there', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        await proceed();
        throw new MemoryError('access_denied', 'refused after the deed');
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await other.paths()).toEqual([TO]);
  });

  it('goes back when the source never stops changing', async () => {
    const { client, other } = await start();
    client.intercept(before('delete', () => other.append(FROM, '.')));
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await other.paths()).toEqual([FROM]);
    expect(await other.text(FROM)).toMatch(/^text\.+$/);
  });
});

/** Runs `meddle` before each request of that verb. */
function before(verb: StoreCall['verb'], meddle: () => Promise<void>): Around {
  return async (call, proceed) => {
    if (call.verb === verb) await meddle();
    return proceed();
  };
}
