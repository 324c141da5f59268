import { expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { fileKey } from '../../../src/format/object-keys.ts';
import { createFile, overwriteFile } from '../../../src/tree/create-file.ts';
import { MIGRATIONS, migrateFile } from '../../stage/rare-writes.ts';
import { atFirst, countCalls, loseAnswer, noAnswer, type StoreCall } from '../../stage/store-wrappers.ts';
import { at, bytes, describeOnBothKinds } from '../../stage/test-tree.ts';

describeOnBothKinds('creating a file', (newSite) => {
  it('writes it by one PUT and as many checks as the path is deep', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/first', '');
    for (const [path, checks] of [
      ['/memories/a', { put: 1, list: 1 }],
      ['/memories/b/c/d/e', { put: 1, head: 3, list: 1 }],
    ] as const) {
      client.calls.length = 0;
      await client.create(path, 'text');
      expect(countCalls(client.calls)).toEqual(checks);
      expect(await client.text(path)).toBe('text');
    }
  });

  it('refuses an existing file and leaves it as it is', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', 'first');
    await expect(client.create('/memories/a', 'second')).rejects.toMatchObject({ code: 'already_exists' });
    expect(await client.text('/memories/a')).toBe('first');
  });

  it('refuses a path that is a directory', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b/c', 'text');
    for (const path of ['/memories/a', '/memories/a/b']) {
      await expect(client.create(path, 'text')).rejects.toMatchObject({
        code: 'is_directory',
        details: { reason: 'target_is_directory' },
      });
    }
    expect(await client.paths()).toEqual(['/memories/a/b/c']);
  });

  it('does not know the outcome when another process takes the file away just before it is taken back', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/a/b', 'text');
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.remove('/memories/a');
        return proceed();
      }),
    );
    await expect(client.create('/memories/a', 'text')).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await client.paths()).toEqual(['/memories/a/b']);
  });

  it('holds nothing for settled that it may still take back', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b', 'text');
    for (const [path, clashes] of [
      ['/memories/a', true],
      ['/memories/c', false],
    ] as const) {
      for (const write of [createFile, overwriteFile]) {
        const work = await client.open();
        const key = fileKey(client.layout, work.keyring.names, at(path));
        const seen: boolean[] = [];
        const isSettled = async (): Promise<boolean> => {
          const found = await work.tenant.store.head(key);
          return found !== undefined && work.tenant.sightings.stays({ key, etag: found.etag });
        };
        client.intercept(
          atFirst('list', async (proceed) => {
            seen.push(await isSettled());
            return proceed();
          }),
        );
        const outcome = await write(work, at(path), bytes('text')).then(
          () => 'written',
          () => 'refused',
        );
        expect([outcome, seen, await isSettled()]).toEqual([
          clashes ? 'refused' : 'written',
          [false],
          !clashes,
        ]);
        if (!clashes) await client.remove(path);
      }
    }
  });

  it('refuses a path below a file at any height', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', 'text');
    for (const path of ['/memories/a/b', '/memories/a/b/c/d']) {
      await expect(client.create(path, 'text')).rejects.toMatchObject({
        code: 'already_exists',
        details: { reason: 'below_file' },
      });
    }
    expect(await client.paths()).toEqual(['/memories/a']);
  });

  it('refuses content above the limit before anything is sent, and takes exactly the limit', async () => {
    const client = await (await newSite()).client({ maxFileBytes: 10 });
    await client.create('/memories/exact', 'x'.repeat(10));
    client.calls.length = 0;
    await expect(client.create('/memories/large', 'x'.repeat(11))).rejects.toMatchObject({
      code: 'limit_exceeded',
      details: { limit: 'file_bytes', value: 11, max: 10 },
    });
    expect(client.calls).toEqual([]);
  });

  it('succeeds once where its answer was lost, executed or not', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/first', '');
    for (const [path, lose] of [
      ['/memories/executed', loseAnswer],
      ['/memories/not-executed', () => Promise.reject(noAnswer())],
    ] as const) {
      client.intercept(atFirst('put', lose));
      await client.create(path, 'text');
      expect(await client.text(path)).toBe('text');
    }
  });

  it('leaves no trace when the look for clashes fails', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/first', '');
    for (const code of ['unavailable', 'access_denied', 'aborted'] as const) {
      client.intercept((call, proceed) =>
        isCheck(call) ? Promise.reject(new MemoryError(code, 'no')) : proceed(),
      );
      await expect(client.create('/memories/a/b', 'text')).rejects.toMatchObject({ code });
      client.intercept((_, proceed) => proceed());
      expect(await client.paths()).toEqual(['/memories/first']);
    }
  });

  it('leaves no trace when the caller cancels during the look for clashes', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/first', '');
    const controller = new AbortController();
    client.intercept((call, proceed) => {
      if (isCheck(call)) controller.abort();
      return proceed();
    });
    const creating = client.tree.create(at('/memories/a/b'), bytes('text'), { signal: controller.signal });
    await expect(creating).rejects.toMatchObject({ code: 'aborted' });
    expect(await client.paths()).toEqual(['/memories/first']);
  });

  it('does not know the outcome when it can neither check nor take back', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/first', '');
    client.intercept((call, proceed) =>
      call.verb === 'put' ? proceed() : Promise.reject(new MemoryError('unavailable', 'down')),
    );
    await expect(client.create('/memories/a/b', 'text')).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it.each(['meets a clash', 'fails'] as const)(
    'does not know the outcome when its look %s and another process has taken the file away',
    async (how) => {
      const site = await newSite();
      const [client, other] = [await site.client(), await site.client()];
      await client.create('/memories/first', '');
      let isFirst = true;
      client.intercept(async (call, proceed) => {
        if (!isCheck(call) || !isFirst) return proceed();
        isFirst = false;
        await other.remove('/memories/a');
        if (how === 'fails') throw new MemoryError('unavailable', 'no');
        await other.create('/memories/a/b', 'theirs');
        return proceed();
      });
      await expect(client.create('/memories/a', 'text')).rejects.toMatchObject({ code: 'outcome_unknown' });
    },
  );

  it('leaves no file above or below another when a migration of keys writes it again meanwhile', async () => {
    for (const [path, clash, error] of [
      ['/memories/a', '/memories/a/b', { code: 'is_directory' }],
      ['/memories/a/b', '/memories/a', { code: 'already_exists', details: { reason: 'below_file' } }],
    ] as const) {
      for (const how of MIGRATIONS) {
        const site = await newSite();
        const [client, other] = [await site.client(), await site.client()];
        await other.create(clash, 'there');
        await site.time.pause(60_000);
        client.intercept(
          atFirst('delete', async (proceed) => {
            await migrateFile(other, path, how);
            return proceed();
          }),
        );
        await expect(client.create(path, 'new')).rejects.toMatchObject(error);
        expect(await client.paths()).toEqual([clash]);
      }
    }
  });

  it('leaves a file of the same text that another process has renamed to there', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await other.create('/memories/a/b', 'below');
    client.intercept(
      atFirst('delete', async (proceed) => {
        // Another process moves the created file away and back: the same content, and no create that may be taken back
        // any more.
        await other.remove('/memories/a/b');
        await other.rename('/memories/a', '/memories/c');
        await other.rename('/memories/c', '/memories/a');
        return proceed();
      }),
    );
    await client.create('/memories/a', 'above');
    expect(await client.text('/memories/a')).toBe('above');
  });

  it('reports success when another process has built on the file before it could be taken back', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/first', '');
    const slow = await site.client();
    slow.intercept(atFirst('head', (proceed) => site.time.pause(200).then(proceed)));
    let below: Promise<void> | undefined;
    client.intercept(
      atFirst('list', async (proceed) => {
        await other.append('/memories/a', ' and more');
        // Seen by the look of the one above, and taken back itself.
        below = expect(slow.create('/memories/a/b', 'below')).rejects.toMatchObject({
          code: 'already_exists',
        });
        await site.time.pause(100);
        expect(await other.paths('/memories/a')).toEqual(['/memories/a/b']);
        return proceed();
      }),
    );
    await client.create('/memories/a', 'above');
    await below;
    expect(await client.paths()).toEqual(['/memories/a', '/memories/first']);
    expect(await client.text('/memories/a')).toBe('above and more');
  });
});

describeOnBothKinds('overwriting a file', (newSite) => {
  it('creates what is missing and replaces what is there', async () => {
    const client = await (await newSite()).client();
    await client.tree.overwrite(at('/memories/a/b'), bytes('first'));
    await client.tree.overwrite(at('/memories/a/b'), bytes('second'));
    expect(await client.text('/memories/a/b')).toBe('second');
  });

  it('refuses a directory and a path below a file', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b', 'text');
    const overwrite = (path: string): Promise<unknown> => client.tree.overwrite(at(path), bytes('new'));
    await expect(overwrite('/memories/a')).rejects.toMatchObject({ code: 'is_directory' });
    await expect(overwrite('/memories/a/b/c')).rejects.toMatchObject({ code: 'already_exists' });
    expect(await client.paths()).toEqual(['/memories/a/b']);
    expect(await client.text('/memories/a/b')).toBe('text');
  });

  it('comes after whatever was written, deleted or created meanwhile', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await other.create('/memories/a', 'first');
    const meddling = [
      () => other.append('/memories/a', '+'),
      () => other.remove('/memories/a'),
      () => other.create('/memories/a', 'third'),
    ];
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put') await meddling.shift()?.();
      return proceed();
    });
    await client.tree.overwrite(at('/memories/a'), bytes('last'));
    expect(meddling).toEqual([]);
    expect(await client.text('/memories/a')).toBe('last');
  });
});

function isCheck(call: StoreCall): boolean {
  return call.verb === 'head' || call.verb === 'list';
}
