import { expect, it } from 'vitest';
import { weightOf } from '../../../../src/admin/findings.ts';
import { type VerifyOptions, type VerifyReport, verifyTree } from '../../../../src/admin/verify/verify.ts';
import { MemoryError } from '../../../../src/errors.ts';
import {
  createLayout,
  OBJECT_CLASSES,
  type ObjectKey,
  parseTenantId,
} from '../../../../src/format/object-keys.ts';
import { sealedSize } from '../../../../src/format/sizes.ts';
import { envRootKey } from '../../../../src/keys/env-root-key.ts';
import { createKeyringCache } from '../../../../src/keys/keyring-cache.ts';
import { readRegister } from '../../../../src/tree/rename/register.ts';
import { keyOf, keysOf } from '../../../stage/bucket.ts';
import { createOperator, putEveryClass, putRecord } from '../../../stage/key-operator.ts';
import { atFirst, countCalls, noAnswer, type StoreCall } from '../../../stage/store-wrappers.ts';
import {
  bytes,
  describeOnBothKinds,
  TEST_ROOT_KEY,
  type TestClient,
  type TestSite,
} from '../../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/x/to';
const MINUTE = 60_000;

async function verify(client: TestClient, options?: VerifyOptions): Promise<VerifyReport> {
  return verifyTree((await client.open()).tenant, options);
}

/** The process dies at its first request of that verb: nothing it sends from there on arrives. */
function dieAt(client: TestClient, verb: StoreCall['verb']): void {
  let dead = false;
  client.intercept((call, proceed) => {
    dead ||= call.verb === verb;
    return dead ? Promise.reject(noAnswer()) : proceed();
  });
}

async function overwriteRaw(site: TestSite, key: ObjectKey, body: Uint8Array): Promise<void> {
  await site.base.put(key, body, { mode: 'overwrite' });
}

describeOnBothKinds('verifying a tree', (newSite) => {
  /** A rename of one file that died between its copy and its delete, `ageMs` ago. */
  async function cutOffRename(ageMs = 2 * MINUTE): Promise<{ site: TestSite; operator: TestClient }> {
    const site = await newSite();
    const [dying, operator] = [await site.client(), await site.client()];
    await dying.create(FROM, 'text');
    await dying.create('/memories/beside', 'text');
    await site.time.pause(5);
    dieAt(dying, 'delete');
    await expect(dying.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
    await site.time.pause(ageMs);
    operator.calls.length = 0;
    return { site, operator };
  }

  const duplicates = (state: string) => ({ kind: 'duplicate', state, older: FROM, newer: TO });

  it('finds nothing in a whole tree, by one GET for each file', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', '12345');
    await client.create('/memories/b/c', 'x'.repeat(70_000));
    await client.open();
    client.calls.length = 0;
    expect(await verify(client)).toEqual({
      files: 2,
      bytes: 70_005,
      findings: [],
      keyVersions: [{ version: 1, objects: 2, active: true }],
    });
    expect(countCalls(client.calls)).toEqual({ get: 2 + 1, list: 1 });
  });

  it('finds nothing where nothing was ever written, and writes nothing', async () => {
    const site = await newSite();
    const work = await (await site.client()).open();
    const layout = createLayout({ prefix: '', tenant: parseTenantId('nobody') });
    const keyrings = createKeyringCache({
      store: site.base,
      layout,
      rootKeys: [envRootKey(TEST_ROOT_KEY)],
    });
    expect(await verifyTree({ ...work.tenant, layout, keyrings }, { repair: true })).toMatchObject({
      files: 0,
      bytes: 0,
      findings: [],
    });
    expect((await keysOf(site)).filter((key) => key.includes('nobody'))).toEqual([]);
  });

  it('says how far it is', async () => {
    const client = await (await newSite()).client();
    for (const name of ['a', 'b', 'c']) await client.create(`/memories/${name}`, '');
    const seen: unknown[] = [];
    await verify(client, { onProgress: (progress) => seen.push(progress) });
    expect(seen).toEqual([1, 2, 3].map((done) => ({ done, total: 3 })));
  });

  it('names files that are not what was sealed there, whatever their size', async () => {
    const site = await newSite();
    const client = await site.client();
    for (const name of ['whole', 'flipped', 'cut', 'empty', 'swapped']) {
      await client.create(`/memories/${name}`, `the text of ${name}`);
    }
    const read = async (path: string): Promise<Uint8Array> => {
      const found = await site.base.get(await keyOf(client, path));
      return typeof found === 'object' ? Uint8Array.from(found.body) : new Uint8Array();
    };
    const flipped = await read('/memories/flipped');
    flipped.fill(0, -1);
    await overwriteRaw(site, await keyOf(client, '/memories/flipped'), flipped);
    await overwriteRaw(
      site,
      await keyOf(client, '/memories/cut'),
      (await read('/memories/cut')).subarray(0, 185),
    );
    await overwriteRaw(site, await keyOf(client, '/memories/empty'), new Uint8Array());
    await overwriteRaw(site, await keyOf(client, '/memories/swapped'), await read('/memories/whole'));
    const { files, findings } = await verify(client, { repair: true });
    expect(files).toBe(1);
    expect(findings).toEqual(
      ['cut', 'empty', 'flipped', 'swapped'].map((name) => ({ kind: 'damaged', path: `/memories/${name}` })),
    );
    expect((await keysOf(site)).filter((key) => key.startsWith(client.layout.data))).toHaveLength(5);
  });

  it('counts foreign objects without naming them', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', '');
    for (const name of ['', 'not-a-name', 'x/y']) {
      await overwriteRaw(site, `${client.layout.data}${name}` as ObjectKey, bytes('whatever'));
    }
    expect(await verify(client)).toMatchObject({ files: 1, findings: [{ kind: 'foreign', objects: 3 }] });
  });

  it('does not read files above the limit, and says so', async () => {
    const site = await newSite();
    await (await site.client()).create('/memories/large', 'x'.repeat(100));
    const { files, findings } = await verify(await site.client({ maxFileBytes: 50 }));
    expect({ files, findings }).toEqual({
      files: 0,
      findings: [{ kind: 'too_large', path: '/memories/large' }],
    });
  });

  it('names a file that lies above others', async () => {
    const site = await newSite();
    const client = await site.client();
    for (const path of ['/memories/a', '/memories/b/c', '/memories/b/d/e']) await client.create(path, '');
    for (const path of ['/memories/b', '/memories/b/d']) await createWithoutChecks(client, path);
    const { findings, files } = await verify(client);
    expect(files).toBe(5);
    expect(findings).toEqual([
      { kind: 'clash', path: '/memories/b' },
      { kind: 'clash', path: '/memories/b/d' },
    ]);
  });

  it('opens the records beside the files and names those that are damaged, the register apart', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', 'x');
    const work = await client.open();
    const keys = await putEveryClass(work, bytes('x'));
    expect(await verify(client)).toMatchObject({ files: 1, bytes: 1, findings: [] });
    expect((await verify(client)).keyVersions).toEqual([
      { version: 1, objects: OBJECT_CLASSES.length + 1, active: true },
    ]);
    for (const key of keys) await overwriteRaw(site, key, new Uint8Array(sealedSize(1)));
    const register = await putRecord(work, 'journal', 'register', bytes('x'));
    await overwriteRaw(site, register, new Uint8Array(sealedSize(1)));
    const { findings, keyVersions } = await verify(client, { repair: true });
    expect(findings).toEqual([
      { kind: 'register', code: 'integrity' },
      ...OBJECT_CLASSES.toSorted().map((cls) => ({
        kind: 'damaged_record',
        name: `/${cls}/an-id`,
      })),
    ]);
    expect(findings.map(weightOf)).not.toContain('settled');
    expect(keyVersions).toEqual([{ version: 1, objects: 1, active: true }]);
  });

  it('counts objects beside the files that belong to nothing', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', 'x');
    for (const tail of ['odd', 'answers/no.id', 'probe', 'probe-1-create']) {
      await overwriteRaw(site, `${client.layout.tenantPrefix}${tail}` as ObjectKey, new Uint8Array(300));
    }
    expect((await verify(client)).findings).toEqual([{ kind: 'orphan', objects: 2 }]);
  });

  it('tells which tenant keys are in use, and what names one that was retired', async () => {
    const site = await newSite();
    const client = await site.client();
    for (const path of ['/memories/a', '/memories/b']) await client.create(path, 'x');
    const operator = await createOperator(site);
    await operator.rotate();
    await (await site.client()).create('/memories/c', 'x');
    const key = await keyOf(client, '/memories/a');
    const stored = await site.base.get(key);
    const before = typeof stored === 'object' ? stored.body : new Uint8Array();
    expect(await verify(await site.client())).toMatchObject({
      findings: [],
      keyVersions: [
        { version: 1, objects: 2, active: false },
        { version: 2, objects: 1, active: true },
      ],
    });
    await site.time.pause(60_001);
    await operator.migrate();
    await overwriteRaw(site, key, before);
    expect(await verify(await site.client(), { repair: true })).toMatchObject({
      files: 2,
      findings: [{ kind: 'unknown_key', name: '/memories/a' }],
      keyVersions: [{ version: 2, objects: 2, active: true }],
    });
  });

  it('finds a file at both places after a rename was cut off, and names the older one', async () => {
    const { operator } = await cutOffRename();
    expect(await operator.paths()).toEqual(['/memories/beside', FROM, TO]);
    operator.calls.length = 0;
    const { files, findings } = await verify(operator);
    expect({ files, findings }).toEqual({ files: 3, findings: [duplicates('left')] });
    expect(operator.calls.filter(({ verb }) => verb === 'put' || verb === 'delete')).toEqual([]);
  });

  it('removes the older place on demand, and nothing else', async () => {
    const { operator } = await cutOffRename();
    const { findings } = await verify(operator, { repair: true });
    expect(findings).toEqual([duplicates('removed')]);
    expect(findings.every((each) => weightOf(each) === 'settled')).toBe(true);
    expect(await operator.paths()).toEqual(['/memories/beside', TO]);
    expect(await operator.text(TO)).toBe('text');
    expect(await verify(operator)).toMatchObject({ files: 2, findings: [] });
  });

  it('leaves duplicates alone while their rename may be under way', async () => {
    const { site, operator } = await cutOffRename(MINUTE - 1_000);
    expect((await verify(operator, { repair: true })).findings).toEqual([duplicates('in_progress')]);
    expect(await operator.paths()).toContain(FROM);
    await site.time.pause(1_000);
    expect((await verify(operator, { repair: true })).findings).toEqual([duplicates('removed')]);
  });

  it('keeps the newest of more than two places', async () => {
    const { site, operator } = await cutOffRename();
    const dying = await site.client();
    dieAt(dying, 'delete');
    await expect(dying.rename(TO, '/memories/last')).rejects.toThrow();
    await site.time.pause(2 * MINUTE);
    const { findings } = await verify(operator, { repair: true });
    expect(findings).toEqual(
      [FROM, TO].map((older) => ({ kind: 'duplicate', state: 'removed', older, newer: '/memories/last' })),
    );
    expect(await operator.paths()).toEqual(['/memories/beside', '/memories/last']);
  });

  it('decides nothing between places that are equally old', async () => {
    const site = await newSite();
    const [dying, operator] = [await site.client(), await site.client()];
    await dying.create(FROM, 'text');
    dieAt(dying, 'delete');
    await expect(dying.rename(FROM, TO)).rejects.toThrow();
    await site.time.pause(2 * MINUTE);
    const { findings } = await verify(operator, { repair: true });
    expect(findings).toEqual([duplicates('undecided')]);
    expect(await operator.paths()).toEqual([FROM, TO]);
  });

  it('never takes two files of one text for duplicates', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create(FROM, 'text');
    await client.create(TO, 'text');
    await site.time.pause(2 * MINUTE);
    expect((await verify(client, { repair: true })).findings).toEqual([]);
    expect(await client.paths()).toEqual([FROM, TO]);
  });

  it('loses no file to a renamer that was only frozen and thaws at any moment of the repair', async () => {
    for (let thawAt = 0; thawAt < 12; thawAt++) {
      const site = await newSite();
      const [frozen, operator] = [await site.client(), await site.client()];
      await frozen.create(FROM, 'text');
      await site.time.pause(5);
      const standing = Promise.withResolvers<void>();
      const thaw = Promise.withResolvers<void>();
      frozen.intercept(
        atFirst('delete', async (proceed) => {
          standing.resolve();
          await thaw.promise;
          return proceed();
        }),
      );
      const renamed = frozen.rename(FROM, TO).then(
        () => 'moved',
        (error: MemoryError) => error.code,
      );
      await standing.promise;
      await site.time.pause(2 * MINUTE);
      await operator.open();
      let requests = 0;
      operator.intercept(async (_, proceed) => {
        if (requests++ === thawAt) {
          thaw.resolve();
          await renamed;
        }
        return proceed();
      });
      await verify(operator, { repair: true });
      thaw.resolve();
      const outcome = await renamed;
      const reader = await site.client();
      expect({ thawAt, outcome, paths: await reader.paths() }).toEqual({
        thawAt,
        outcome: expect.stringMatching(/^(moved|version_conflict)$/),
        paths: [TO],
      });
      expect(await reader.text(TO)).toBe('text');
    }
  });

  it('keeps both places when either is edited, moved or deleted while it repairs', async () => {
    for (const path of [FROM, TO]) {
      for (const meddle of ['edit', 'remove', 'move'] as const) {
        for (const verb of ['head', 'put', 'delete'] as const) {
          const { site, operator } = await cutOffRename();
          const other = await site.client();
          operator.intercept(
            atFirst(verb, async (proceed) => {
              if (meddle === 'edit') await other.append(path, '!');
              else if (meddle === 'remove') await other.remove(path);
              else await other.rename(path, '/memories/elsewhere');
              return proceed();
            }),
          );
          await verify(operator, { repair: true });
          operator.intercept((_, proceed) => proceed());
          const texts = await Promise.all(
            (await operator.paths())
              .filter((each) => each !== '/memories/beside')
              .map((each) => operator.text(each)),
          );
          // Who deletes the file at its new place after the older one is doomed has deleted the file.
          const deleted = meddle === 'remove' && path === TO && verb === 'delete';
          expect({ path, meddle, verb, texts }).toEqual({
            path,
            meddle,
            verb,
            texts: deleted ? [] : expect.arrayContaining([meddle === 'edit' ? 'text!' : 'text']),
          });
        }
      }
    }
  });

  it('reports what it could not remove when the store fails, and loses nothing', async () => {
    for (const verb of ['put', 'delete'] as const) {
      for (const code of ['unavailable', 'access_denied', 'outcome_unknown'] as const) {
        const { operator } = await cutOffRename();
        operator.intercept((call, proceed) =>
          call.verb === verb ? Promise.reject(new MemoryError(code, 'no')) : proceed(),
        );
        expect((await verify(operator, { repair: true })).findings).toEqual([duplicates('not_removed')]);
        operator.intercept((_, proceed) => proceed());
        expect(await operator.paths()).toEqual(['/memories/beside', FROM, TO]);
      }
    }
  });

  it('throws what the store throws while it reads, without reading on', async () => {
    const client = await (await newSite()).client();
    for (let index = 0; index < 100; index++) await client.create(`/memories/${index}`, '');
    let gets = 0;
    client.intercept((call, proceed) => {
      if (call.verb !== 'get') return proceed();
      gets++;
      return Promise.reject(new MemoryError('unavailable', 'no'));
    });
    await expect(verify(client)).rejects.toMatchObject({ code: 'unavailable' });
    expect(gets).toBeLessThanOrEqual(32);
  });

  it('stops when the caller cancels', async () => {
    const { operator } = await cutOffRename();
    const controller = new AbortController();
    operator.intercept((call, proceed) => {
      if (call.verb === 'head') controller.abort();
      return proceed();
    });
    const given = { repair: true, signal: controller.signal };
    await expect(verify(operator, given)).rejects.toMatchObject({ code: 'aborted' });
  });
});

describeOnBothKinds('verifying a tree in which a directory was being renamed', (newSite) => {
  const NAMES = ['a', 'b/c', 'd'];
  const below = (directory: string) => NAMES.map((name) => `${directory}/${name}`);

  /** A process that died in the rename of a directory, at its first request of that verb. */
  async function cutOff(verb: 'delete' | 'head'): Promise<{ site: TestSite; operator: TestClient }> {
    const site = await newSite();
    const [dying, operator] = [await site.client(), await site.client()];
    for (const path of below(FROM)) await dying.create(path, path);
    await site.time.pause(5);
    let registered = false;
    let dead = false;
    dying.intercept((call, proceed) => {
      registered ||= call.verb === 'put' && call.key.endsWith('/register');
      dead ||= registered && call.verb === verb;
      return dead ? Promise.reject(noAnswer()) : proceed();
    });
    await expect(dying.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
    return { site, operator };
  }

  it('says that it is under way while the lease runs, whatever is asked for', async () => {
    const { operator } = await cutOff('delete');
    const { findings } = await verify(operator, { repair: true });
    expect(findings).toMatchObject([
      { kind: 'rename', state: 'under_way', phase: 'moving', from: FROM, to: TO, files: NAMES.length },
    ]);
    expect(findings.map(weightOf)).not.toContain('settled');
  });

  it('takes none of its copies for duplicates, however old they are', async () => {
    const { site, operator } = await cutOff('delete');
    await site.time.pause(5 * MINUTE);
    const before = operator.calls.length;
    expect((await verify(operator)).findings).toMatchObject([
      { kind: 'rename', state: 'expired', phase: 'moving', files: NAMES.length, ageMs: 5 * MINUTE },
    ]);
    expect(operator.calls.slice(before).some(({ verb }) => verb === 'put' || verb === 'delete')).toBe(false);
  });

  it.each([
    ['finishes it', 'delete', TO],
    ['takes up where its copies were not yet checked', 'head', TO],
  ] as const)('%s on demand once its lease has run out', async (_, verb, end) => {
    const { site, operator } = await cutOff(verb);
    await site.time.pause(11_000);
    const { findings, files } = await verify(operator, { repair: true });
    expect(findings).toMatchObject([{ kind: 'rename', state: 'finished', from: FROM, to: TO, files: 0 }]);
    expect(findings.every((each) => weightOf(each) === 'settled')).toBe(true);
    expect(files).toBe(NAMES.length);
    expect(await operator.paths()).toEqual(below(end));
    expect((await readRegister(await operator.open())).entry).toBeUndefined();
  });

  it('does not claim to have finished what another process has just finished', async () => {
    const { site, operator } = await cutOff('delete');
    await site.time.pause(11_000);
    const other = await site.client();
    operator.intercept(
      atFirst('put', async (proceed) => {
        await other.paths();
        return proceed();
      }),
    );
    const { findings, files } = await verify(operator, { repair: true });
    expect({ findings, files }).toEqual({ findings: [], files: NAMES.length });
  });

  it('finishes it without a source that was damaged, and says which', async () => {
    const { site, operator } = await cutOff('delete');
    await overwriteRaw(site, await keyOf(operator, `${FROM}/d`), new Uint8Array(sealedSize(3)));
    await site.time.pause(11_000);
    const { findings } = await verify(operator, { repair: true });
    expect(findings).toMatchObject([
      { kind: 'rename', state: 'finished' },
      { kind: 'damaged', path: `${FROM}/d` },
    ]);
  });

  it('says why it could not be finished', async () => {
    const { site, operator } = await cutOff('delete');
    await site.time.pause(11_000);
    operator.intercept((call, proceed) =>
      call.verb === 'delete' ? Promise.reject(new MemoryError('timeout', 'slow')) : proceed(),
    );
    const { findings } = await verify(operator, { repair: true });
    expect(findings).toMatchObject([{ kind: 'rename', state: 'unfinished', code: 'timeout' }]);
  });

  it('removes no other duplicates while a directory is being renamed', async () => {
    const { site, operator } = await cutOff('delete');
    const dying = await site.client();
    await dying.create('/memories/one', 'text');
    await site.time.pause(5);
    dieAt(dying, 'delete');
    await expect(dying.rename('/memories/one', '/memories/two')).rejects.toThrow();
    await site.time.pause(2 * MINUTE);
    const alive = await site.client();
    const resume = Promise.withResolvers<void>();
    const busy = Promise.withResolvers<void>();
    alive.intercept(
      atFirst('delete', async (proceed) => {
        busy.resolve();
        await resume.promise;
        return proceed();
      }),
    );
    const recovering = alive.paths();
    await busy.promise;
    const { findings } = await verify(operator, { repair: true });
    expect(findings).toMatchObject([
      { kind: 'rename', state: 'under_way' },
      { kind: 'duplicate', state: 'in_progress', older: '/memories/one', newer: '/memories/two' },
    ]);
    resume.resolve();
    await recovering;
    expect((await verify(operator, { repair: true })).findings).toMatchObject([
      { kind: 'duplicate', state: 'removed' },
    ]);
    expect(await operator.paths()).toEqual(['/memories/two', ...below(TO)]);
  });

  it('reports a register that cannot be opened and leaves duplicates alone', async () => {
    const { site, operator } = await cutOff('delete');
    await site.time.pause(2 * MINUTE);
    await overwriteRaw(site, `${operator.layout.tenantPrefix}journal/register` as ObjectKey, bytes('x'));
    const { findings } = await verify(operator, { repair: true });
    expect(findings[0]).toEqual({ kind: 'register', code: 'integrity' });
    expect(findings.slice(1)).toHaveLength(NAMES.length);
    for (const finding of findings.slice(1)) expect(finding).toMatchObject({ state: 'in_progress' });
  });
});

/** A file above others, as a process leaves it that dies before its checks. */
async function createWithoutChecks(client: TestClient, path: string): Promise<void> {
  client.intercept((call, proceed) => {
    if (call.verb === 'list') return Promise.resolve({ done: true, value: undefined }) as Promise<never>;
    if (call.verb === 'head') return Promise.resolve(undefined) as Promise<never>;
    return proceed();
  });
  await client.create(path, '');
  client.intercept((_, proceed) => proceed());
}
