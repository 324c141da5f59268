import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { MIGRATIONS, migrateFile, putUnchecked } from '../../../stage/rare-writes.ts';
import {
  type Around,
  atFirst,
  countCalls,
  loseAnswer,
  noAnswer,
  type StoreCall,
  sendTwice,
} from '../../../stage/store-wrappers.ts';
import {
  at,
  createSite,
  describeOnBothKinds,
  type TestClient,
  TRIED_KINDS,
} from '../../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/x/to';
const NAMES: readonly string[] = ['a', 'b/c', 'b/d/.e'];

describeOnBothKinds('renaming a directory', (newSite) => {
  async function start(): Promise<{ client: TestClient; other: TestClient }> {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    for (const name of NAMES) await client.create(`${FROM}/${name}`, name);
    await client.create('/memories/from-here', 'beside');
    client.calls.length = 0;
    return { client, other };
  }

  const source = (directory = FROM): readonly string[] => NAMES.map((name) => `${directory}/${name}`);

  async function filesBelow(client: TestClient): Promise<readonly string[]> {
    return (await client.paths()).filter((path) => path !== '/memories/from-here');
  }

  it('moves every file with its text and nothing beside it', async () => {
    const { client, other } = await start();
    await client.rename(FROM, TO);
    expect(await other.paths()).toEqual(['/memories/from-here', ...source(TO)].sort());
    for (const name of NAMES) expect(await other.text(`${TO}/${name}`)).toBe(name);
  });

  it('costs a GET and a PUT for each file, three PUTs of the register, one batch of deletes and four LISTs', async () => {
    const { client } = await start();
    await client.rename(FROM, TO);
    // One GET more finds no file at the source; a HEAD each for the target and its new ancestor.
    expect(countCalls(client.calls)).toEqual({ get: 4, put: 3 + 3, delete: 1, list: 4, head: 2 });
  });

  it('refuses a target that exists, and itself, and places inside it', async () => {
    const { client } = await start();
    await client.create('/memories/file', '');
    await client.create('/memories/dir/a', '');
    const before = await client.paths();
    for (const to of ['/memories/file', '/memories/dir', FROM]) {
      await expect(client.rename(FROM, to)).rejects.toMatchObject({ code: 'already_exists' });
    }
    await expect(client.rename(FROM, '/memories/file/x')).rejects.toMatchObject({
      code: 'already_exists',
      details: { reason: 'below_file' },
    });
    await expect(client.rename(`${FROM}/b`, FROM)).rejects.toMatchObject({ code: 'already_exists' });
    await expect(client.rename(FROM, `${FROM}/b/new`)).rejects.toMatchObject({
      code: 'invalid_command',
      details: { reason: 'into_itself' },
    });
    expect(await client.paths()).toEqual(before);
  });

  it('takes files along that are created in the source meanwhile', async () => {
    const { client, other } = await start();
    const late = ['late 1', 'late 2'];
    client.intercept(async (call, proceed) => {
      const name = call.verb === 'delete' ? late.shift() : undefined;
      if (name !== undefined) await other.create(`${FROM}/${name}`, name);
      return proceed();
    });
    await client.rename(FROM, TO);
    expect(await filesBelow(other)).toEqual([...source(TO), `${TO}/late 1`, `${TO}/late 2`].sort());
    expect(await other.text(`${TO}/late 2`)).toBe('late 2');
  });

  it('takes edits along that are acknowledged meanwhile', async () => {
    const { client, other } = await start();
    let edits = 3;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'delete' && edits-- > 0) await other.append(`${FROM}/a`, '+');
      return proceed();
    });
    await client.rename(FROM, TO);
    expect(await filesBelow(other)).toEqual(source(TO));
    expect(await other.text(`${TO}/a`)).toBe('a+++');
  });

  it('copies no new file over the copy of a source that its resent delete has removed', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        let sent = 0;
        return sendTwice(async () => {
          if (sent++ > 0) await other.create(`${FROM}/a`, 'new');
          return proceed();
        });
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      retry: 'never',
      details: { reason: 'both_kept' },
    });
    expect(await other.text(`${TO}/a`)).toBe('a');
    expect(await other.text(`${FROM}/a`)).toBe('new');
  });

  it('takes an edit along that came between two attempts of its delete, the first of them lost', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        let sent = 0;
        return sendTwice(async () => {
          if (sent++ > 0) return proceed();
          await other.append(`${FROM}/a`, '+');
          return [] as never;
        });
      }),
    );
    await client.rename(FROM, TO);
    expect(await filesBelow(other)).toEqual(source(TO));
    expect(await other.text(`${TO}/a`)).toBe('a+');
  });

  it('does not bring back a file that was deleted meanwhile', async () => {
    for (const verb of ['put', 'delete'] as const) {
      const { client, other } = await start();
      client.intercept(
        atFirst(verb, async (proceed) => {
          await other.remove(`${FROM}/b/c`);
          return proceed();
        }),
      );
      await client.rename(FROM, TO);
      expect(await filesBelow(other)).toEqual([`${TO}/a`, `${TO}/b/d/.e`]);
    }
  });

  it('reports a source whose files have all gone meanwhile as missing', async () => {
    const { client, other } = await start();
    client.intercept(beforeListing(2, () => other.remove(FROM)));
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'not_found' });
    expect(await filesBelow(other)).toEqual([]);
  });

  it('takes all copies back when the target appears meanwhile', async () => {
    for (const appearing of [`${TO}/a`, `${TO}/b/c`, `${TO}/other`, `${TO}/b/d`]) {
      const { client, other } = await start();
      client.intercept(afterListing(2, () => other.create(appearing, 'theirs')));
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'already_exists' });
      expect(await filesBelow(other)).toEqual([...source(), appearing].sort());
      expect(await other.text(appearing)).toBe('theirs');
    }
  });

  it('takes all copies back when a file appears at the target or above it', async () => {
    for (const appearing of [TO, '/memories/x']) {
      const { client, other } = await start();
      client.intercept(afterListing(2, () => other.create(appearing, 'theirs')));
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'already_exists' });
      expect(await filesBelow(other)).toEqual([...source(), appearing].sort());
    }
  });

  it('takes copies back, too, that a migration of keys has written again', async () => {
    for (const how of MIGRATIONS) {
      const { client, other } = await start();
      client.intercept(
        beforeListing(3, async () => {
          await migrateFile(other, `${TO}/a`, how);
          await other.create(`${TO}/other`, 'theirs');
        }),
      );
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'already_exists' });
      expect(await filesBelow(other)).toEqual([...source(), `${TO}/other`].sort());
    }
  });

  it('does not bring back a file that was deleted while a migration of keys wrote its copy again', async () => {
    for (const how of MIGRATIONS) {
      const { client, other } = await start();
      client.intercept(
        atFirst('delete', async (proceed) => {
          await migrateFile(other, `${TO}/b/c`, how);
          await other.remove(`${FROM}/b/c`);
          return proceed();
        }),
      );
      await client.rename(FROM, TO);
      expect(await filesBelow(other)).toEqual([`${TO}/a`, `${TO}/b/d/.e`]);
    }
  });

  it('follows an edit of a source over a copy that a migration of keys has written again', async () => {
    for (const how of MIGRATIONS) {
      const { client, other } = await start();
      client.intercept(
        atFirst('delete', async (proceed) => {
          await other.append(`${FROM}/a`, '!');
          await migrateFile(other, `${TO}/a`, how);
          return proceed();
        }),
      );
      await client.rename(FROM, TO);
      expect(await filesBelow(other)).toEqual(source(TO));
      expect(await other.text(`${TO}/a`)).toBe('a!');
    }
  });

  it('leaves a copy that another process has edited when it takes the others back, and says that both were kept', async () => {
    const { client, other } = await start();
    client.intercept(
      beforeListing(3, async () => {
        await other.append(`${TO}/a`, '!');
        await other.create(`${TO}/other`, 'theirs');
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'both_kept' },
    });
    expect(await filesBelow(other)).toEqual([...source(), `${TO}/a`, `${TO}/other`].sort());
    expect(await other.text(`${TO}/a`)).toBe('a!');
  });

  it('keeps a file at both places when it was changed at both, and moves all others', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.append(`${FROM}/a`, ' one');
        await other.append(`${TO}/a`, ' two');
        await other.append(`${FROM}/b/c`, '+');
        return proceed();
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'both_kept' },
    });
    expect(await filesBelow(other)).toEqual([`${FROM}/a`, ...source(TO)].sort());
    expect(await other.text(`${FROM}/a`)).toBe('a one');
    expect(await other.text(`${TO}/a`)).toBe('a two');
    expect(await other.text(`${TO}/b/c`)).toBe('b/c+');
  });

  it('keeps a late file where it is when another process has made the same one at the target', async () => {
    const { client, other } = await start();
    client.intercept(
      atFirst('delete', async (proceed) => {
        await other.create(`${FROM}/late`, 'here');
        await other.create(`${TO}/late`, 'there');
        return proceed();
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'both_kept' },
    });
    expect(await other.text(`${FROM}/late`)).toBe('here');
    expect(await other.text(`${TO}/late`)).toBe('there');
    expect(await filesBelow(other)).toHaveLength(NAMES.length + 2);
  });

  it('leaves everything as it was when the store fails before the first delete', async () => {
    const isCopying = (call: StoreCall): boolean => call.verb !== 'delete';
    for (const code of ['unavailable', 'access_denied', 'aborted'] as const) {
      for (const failing of [1, 2, 3, 5, 8, 9, 10, 11]) {
        const { client, other } = await start();
        let requests = 0;
        client.intercept((call, proceed) =>
          isCopying(call) && ++requests === failing ? Promise.reject(new MemoryError(code, 'no')) : proceed(),
        );
        await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code });
        expect({ failing, paths: await filesBelow(other) }).toEqual({ failing, paths: source() });
      }
    }
  });

  it('leaves everything as it was when the caller cancels before the first delete', async () => {
    for (const failing of [1, 2, 4, 6, 8, 10]) {
      const { client, other } = await start();
      const controller = new AbortController();
      let requests = 0;
      client.intercept((_, proceed) => {
        if (++requests === failing) controller.abort();
        return proceed();
      });
      await expect(client.rename(FROM, TO, controller.signal)).rejects.toMatchObject({ code: 'aborted' });
      expect({ failing, paths: await filesBelow(other) }).toEqual({ failing, paths: source() });
    }
  });

  it('recognises its copies when answers to its PUTs are lost', async () => {
    const { client, other } = await start();
    const lost = new Set<string>();
    client.intercept((call, proceed) => {
      if (call.verb !== 'put' || lost.has(call.key)) return proceed();
      lost.add(call.key);
      return lost.size % 2 === 0 ? loseAnswer(proceed) : Promise.reject(noAnswer());
    });
    await client.rename(FROM, TO);
    expect(lost.size).toBe(NAMES.length + 1);
    expect(await filesBelow(other)).toEqual(source(TO));
  });

  it('does not know the outcome when it cannot be finished, and no file is lost', async () => {
    for (const fail of [
      loseAnswer,
      () => Promise.reject(noAnswer()),
      () => Promise.reject(new MemoryError('unavailable', 'down')),
    ]) {
      const { client, other } = await start();
      client.intercept(atFirst('delete', fail));
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
      for (const name of NAMES) expect(await other.text(`${TO}/${name}`)).toBe(name);
    }
  });

  it('passes foreign objects over and leaves them', async () => {
    const { client, other } = await start();
    const [listed] = (await client.tree.list(at(FROM))).files;
    const directory = listed?.key.slice(0, listed.key.lastIndexOf('/') + 1);
    const { store } = (await client.open()).tenant;
    const key = `${directory}foreign` as NonNullable<typeof listed>['key'];
    await store.put(key, new Uint8Array(200), { mode: 'create' });
    await client.rename(FROM, TO);
    expect(await filesBelow(other)).toEqual(source(TO));
    expect(await store.head(key)).toBeDefined();
  });
});

describe.each(TRIED_KINDS)('renaming a directory of 1,500 files on a(n) %s store', (kind) => {
  it('moves all of them within the requests it may use', { timeout: 120_000 }, async () => {
    const site = await createSite(kind);
    const client = await site.client();
    await client.create(`${FROM}/0/0`, '0');
    for (let i = 1; i < 1_500; i++) await putUnchecked(client, `${FROM}/${i % 7}/${i}`, `${i}`);
    client.calls.length = 0;
    await client.rename(FROM, TO);
    const { get = 0, put = 0, list = 0, head = 0, ...rest } = countCalls(client.calls);
    expect({ get, put, head, ...rest }).toEqual({ get: 1_501, put: 1_500 + 3, head: 2, delete: 2 });
    expect(list).toBeLessThanOrEqual(2 * 2 + 2);
    expect(await client.paths(FROM)).toEqual([]);
    expect(await client.paths(TO)).toHaveLength(1_500);
    expect(await client.text(`${TO}/${1_499 % 7}/1499`)).toBe('1499');
    await site.base[Symbol.asyncDispose]();
  });
});

describe.each(TRIED_KINDS)(
  'editors, creators and deleters in a moving directory on a(n) %s store',
  (kind) => {
    it('lose nothing that was acknowledged', { timeout: 120_000 }, async () => {
      for (let seed = 1; seed <= 40; seed++) {
        const site = await createSite(kind, seed);
        const setUp = await site.client();
        for (const name of ['a', 'b', 'c', 'd']) await setUp.create(`${FROM}/${name}`, '');
        const mover = await site.client({ delayMs: 30 });
        const [editor, creator, deleter] = [
          await site.client({ delayMs: 20 }),
          await site.client({ delayMs: 20 }),
          await site.client({ delayMs: 20 }),
        ];
        const acknowledged: { readonly name: string; readonly mark: string }[] = [];
        const note = (name: string, mark: string, work: Promise<void>): Promise<void> =>
          work.then(
            () => void acknowledged.push({ name, mark }),
            () => {},
          );
        const editing = (async () => {
          for (let i = 0; i < 8; i++) {
            const name = i % 2 === 0 ? 'a' : 'b';
            await note(name, `${i}.`, editor.append(`${FROM}/${name}`, `${i}.`));
          }
        })();
        const creating = (async () => {
          await site.time.pause(site.time.fraction() * 400);
          await note('new', 'new', creator.create(`${FROM}/new`, 'new'));
        })();
        let deleted = false;
        const deleting = (async () => {
          await site.time.pause(site.time.fraction() * 400);
          deleted = await deleter.remove(`${FROM}/d`).then(
            () => true,
            () => false,
          );
        })();
        await Promise.all([editing, creating, deleting, mover.rename(FROM, TO)]);
        const paths = await setUp.paths();
        for (const { name, mark } of acknowledged) {
          const texts = await Promise.all(
            paths.filter((path) => path.endsWith(`/${name}`)).map((path) => setUp.text(path)),
          );
          expect({ seed, name, kept: texts.some((text) => text?.includes(mark)) }).toEqual({
            seed,
            name,
            kept: true,
          });
        }
        for (const name of ['a', 'b', 'c']) expect(paths).toContain(`${TO}/${name}`);
        if (deleted)
          expect({ seed, d: paths.filter((path) => path.endsWith('/d')) }).toEqual({ seed, d: [] });
        await site.base[Symbol.asyncDispose]();
      }
    });
  },
);

/** Listings of a rename: 1 finds the source, 2 finds no target, 3 looks for clashes, 4 finds nothing late. */
function beforeListing(which: number, meddle: () => Promise<void>): Around {
  let listings = 0;
  return async (call, proceed) => {
    if (call.verb === 'list' && call.page === 1 && ++listings === which) await meddle();
    return proceed();
  };
}

function afterListing(which: number, meddle: () => Promise<void>): Around {
  let listings = 0;
  return async (call, proceed) => {
    const answer = await proceed();
    if (call.verb === 'list' && call.page === 1 && ++listings === which) await meddle();
    return answer;
  };
}
