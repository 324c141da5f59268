import { expect, it } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../../src/errors.ts';
import { fileKey } from '../../../src/format/object-keys.ts';
import { type Around, noAnswer, type StoreCall } from '../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, type TestClient, type TestSite } from '../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/to';
const NAMES: readonly string[] = ['a', 'b', 'c'];
const LEASE_OVER_MS = 11_000;

/**
 * The reasons for which a server may refuse to change one object: it takes no tombstone over it, no delete, or no copy.
 */
const REASONS: readonly MemoryErrorCode[] = [
  'access_denied',
  'is_directory',
  'misconfigured',
  'limit_exceeded',
];

describeOnBothKinds('a server that refuses an object for a reason of its own', (newSite) => {
  async function start(options: { readonly beneath?: Around } = {}): Promise<{
    site: TestSite;
    client: TestClient;
    other: TestClient;
  }> {
    const site = await newSite();
    const [client, other] = [await site.client(options), await site.client()];
    for (const name of NAMES) await other.create(`${FROM}/${name}`, name);
    return { site, client, other };
  }
  const keyAt = async (client: TestClient, path: string): Promise<string> => {
    const {
      tenant: { layout },
      keyring,
    } = await client.open();
    return fileKey(layout, keyring.names, at(path));
  };
  /** Every write that is to replace or delete what lies at one of the keys. */
  const refusing =
    (keys: () => readonly string[], code: MemoryErrorCode): Around =>
    (call, proceed) => {
      const isRefused =
        (call.verb === 'put' && typeof call.mode === 'object' && keys().includes(call.key)) ||
        (call.verb === 'delete' && call.targets.some(({ key }) => keys().includes(key)));
      if (!isRefused) return proceed();
      const error = new MemoryError(code, 'not this one');
      if (call.verb !== 'delete' || call.targets.length === 1) return Promise.reject(error);
      return proceedWithout(call, keys(), error) as ReturnType<typeof proceed>;
      async function proceedWithout(
        { targets }: Extract<StoreCall, { verb: 'delete' }>,
        refused: readonly string[],
        why: MemoryError,
      ): Promise<unknown> {
        // The others of a batch go.
        const site = sites.at(-1);
        const rest = targets.filter(({ key }) => !refused.includes(key));
        const failures = await site?.base.delete(rest);
        const named = targets.filter(({ key }) => refused.includes(key));
        return [...(failures ?? []), ...named.map(({ key }) => ({ key, error: why }))];
      }
    };
  const sites: TestSite[] = [];

  it('keeps no directory from being renamed: the one file stays, and the answer names it', async () => {
    for (const code of REASONS) {
      let refused: readonly string[] = [];
      const { site, client, other } = await start({ beneath: refusing(() => refused, code) });
      sites.push(site);
      refused = [await keyAt(other, `${FROM}/b`)];
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({
        code: 'version_conflict',
        retry: 'never',
        details: { reason: 'left_behind', files: 1, paths: [`${FROM}/b`] },
      });
      expect(await other.paths()).toEqual([`${FROM}/b`, `${TO}/a`, `${TO}/c`]);
      expect(await other.text(`${FROM}/b`)).toBe('b');
      // Nothing blocks other commands.
      await other.rename(TO, '/memories/elsewhere');
      expect(await other.paths('/memories/elsewhere')).toHaveLength(2);
    }
  });

  it('names the file, too, when neither place lets it go', async () => {
    let refused: readonly string[] = [];
    const { site, client, other } = await start({ beneath: refusing(() => refused, 'is_directory') });
    sites.push(site);
    refused = [await keyAt(other, `${FROM}/b`), await keyAt(other, `${TO}/b`)];
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'left_behind', paths: [`${TO}/b`] },
    });
    expect(await other.paths()).toEqual([`${FROM}/b`, `${TO}/a`, `${TO}/b`, `${TO}/c`]);
    await other.rename(TO, '/memories/elsewhere');
  });

  it('tells that a single file is at both places when neither lets it go', async () => {
    let refused: readonly string[] = [];
    const { client, other } = await start({ beneath: refusing(() => refused, 'access_denied') });
    refused = [await keyAt(other, `${FROM}/b`), await keyAt(other, `${TO}/b`)];
    await expect(client.rename(`${FROM}/b`, `${TO}/b`)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'left_behind', paths: [`${TO}/b`] },
    });
    expect(await other.paths()).toEqual([...NAMES.map((name) => `${FROM}/${name}`), `${TO}/b`].sort());
  });

  it('takes a rename back whose copies it does not take', async () => {
    for (const code of REASONS) {
      let refused = '';
      const { client, other } = await start({
        beneath: (call, proceed) =>
          call.verb === 'put' && call.key === refused
            ? Promise.reject(new MemoryError(code, 'not this one'))
            : proceed(),
      });
      refused = await keyAt(other, `${TO}/b`);
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code });
      expect(await other.paths()).toEqual(NAMES.map((name) => `${FROM}/${name}`));
      await other.rename(FROM, '/memories/elsewhere');
    }
  });

  it('names the copies that stay when such a rename is taken back', async () => {
    let refused = { copy: '', stuck: '' };
    const { site, client, other } = await start({
      beneath: (call, proceed) =>
        call.verb === 'put' && call.key === refused.copy
          ? Promise.reject(new MemoryError('is_directory', 'not this one'))
          : refusing(() => [refused.stuck], 'is_directory')(call, proceed),
    });
    sites.push(site);
    refused = { copy: await keyAt(other, `${TO}/c`), stuck: await keyAt(other, `${TO}/a`) };
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'left_behind', paths: [`${TO}/a`] },
    });
    expect(await other.paths()).toEqual([...NAMES.map((name) => `${FROM}/${name}`), `${TO}/a`].sort());
    await other.rename(FROM, '/memories/elsewhere');
  });

  it.each([
    ['a file', `${FROM}/a`, `${TO}/x`, 10],
    ['a directory', FROM, TO, 24],
  ])('leaves %s at one place, whichever request is refused', async (_, from, to, most) => {
    for (const verb of ['put', 'delete', 'head', 'list', 'get', 'any'] as const) {
      for (const isLasting of [true, false]) {
        for (let allowed = 0; allowed < most; allowed++) {
          let left = Number.POSITIVE_INFINITY;
          const { client, other } = await start({
            beneath: (call, proceed) => {
              if ((call.verb !== verb && verb !== 'any') || left-- > 0) return proceed();
              if (!isLasting && left < -1) return proceed();
              return Promise.reject(new MemoryError('access_denied', 'not permitted'));
            },
          });
          await client.text(`${FROM}/a`);
          left = allowed;
          const before = await other.paths();
          const code = await client.rename(from, to).then(
            () => 'ok',
            (error: MemoryError) => error.code,
          );
          const after = await other.paths();
          const title = `${verb} refused after ${allowed}, ${isLasting ? 'from then on' : 'once'}: ${code}`;
          const isMoved = !after.some((path) => path === from || path.startsWith(`${from}/`));
          if (code === 'ok') expect([isMoved, after.length], title).toEqual([true, before.length]);
          else if (code !== 'outcome_unknown' && code !== 'version_conflict')
            expect(after, title).toEqual(before);
          else expect(after.length, title).toBeGreaterThanOrEqual(before.length);
        }
      }
    }
  });
});

describeOnBothKinds('a rename of a directory that a process left while it moved', (newSite) => {
  async function leave(): Promise<{ site: TestSite; other: TestClient }> {
    const site = await newSite();
    const client = await site.client();
    for (const name of NAMES) await client.create(`${FROM}/${name}`, `text of ${name}`);
    await client.create('/memories/other/file', '');
    let isDead = false;
    client.intercept((call, proceed) => {
      isDead ||= call.verb === 'delete';
      return isDead ? Promise.reject(noAnswer()) : proceed();
    });
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
    await site.time.pause(LEASE_OVER_MS);
    return { site, other: await site.client() };
  }

  it('is finished by a process whose file limit is smaller', async () => {
    const { site } = await leave();
    const small = await site.client({ maxFileBytes: 4 });
    await small.rename('/memories/other', '/memories/another');
    expect(await (await site.client()).paths()).toEqual([
      '/memories/another/file',
      ...NAMES.map((name) => `${TO}/${name}`),
    ]);
  });

  it('is finished without a source that was damaged', async () => {
    const { site, other } = await leave();
    const {
      tenant: { layout },
      keyring,
    } = await other.open();
    const key = fileKey(layout, keyring.names, at(`${FROM}/b`));
    const found = await site.base.get(key);
    if (typeof found !== 'object') throw new Error('there is no source');
    const damaged = found.body.map((byte, index) => (index === found.body.length - 1 ? byte ^ 1 : byte));
    await site.base.put(key, damaged, { mode: 'overwrite' });
    await other.rename('/memories/other', '/memories/another');
    expect(await other.paths()).toEqual([
      '/memories/another/file',
      `${FROM}/b`,
      ...NAMES.map((name) => `${TO}/${name}`),
    ]);
    expect(await other.text(`${TO}/b`)).toBe('text of b');
    other.calls.length = 0;
    await other.rename('/memories/another', '/memories/other');
  });

  it('makes directories unavailable to others while it cannot be finished, and says why', async () => {
    const { other } = await leave();
    other.intercept((call, proceed) =>
      call.verb === 'delete' ? Promise.reject(new MemoryError('timeout', 'slow')) : proceed(),
    );
    const moving = other.rename('/memories/other', '/memories/another');
    await expect(moving).rejects.toMatchObject({
      code: 'unavailable',
      cause: { code: 'outcome_unknown', cause: { code: 'timeout' } },
    });
    expect(other.logged).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ code: 'timeout' }) }),
    );
    expect(await other.paths('/memories/other')).toEqual(['/memories/other/file']);
  });
});
