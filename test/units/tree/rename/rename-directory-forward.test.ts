import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { fileKey } from '../../../../src/format/object-keys.ts';
import { copyFiles } from '../../../../src/tree/rename/copy-files.ts';
import { createRenameRegister } from '../../../../src/tree/rename/finish-renames.ts';
import type { RenamePhase } from '../../../../src/tree/rename/register.ts';
import { readRegister } from '../../../../src/tree/rename/register.ts';
import type { Around, StoreCall } from '../../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/to';
const NAMES: readonly string[] = ['a', 'b', 'c'];
const DOWN = new MemoryError('unavailable', 'down');
const DENIED = new MemoryError('access_denied', 'not this one');

describeOnBothKinds('a rename of a directory that only goes forward', (newSite) => {
  const below = (directory: string, names = NAMES): readonly string[] =>
    names.map((name) => `${directory}/${name}`);

  async function start(
    names = NAMES,
    maxFileBytes?: number,
  ): Promise<{ site: TestSite; client: TestClient; other: TestClient }> {
    const site = await newSite();
    const client = await site.client(maxFileBytes === undefined ? {} : { maxFileBytes });
    const other = await site.client();
    for (const name of names) await other.create(`${FROM}/${name}`, name);
    await client.paths();
    client.calls.length = 0;
    return { site, client, other };
  }
  /** A process that dies in that phase, when all is copied. */
  async function leave(
    phase: RenamePhase,
    meanwhile: (site: TestSite, other: TestClient) => Promise<void> = async () => {},
  ): Promise<{ site: TestSite; next: TestClient; other: TestClient }> {
    const { site, client, other } = await start();
    const lease = await createRenameRegister().begin(await client.open(), { from: at(FROM), to: at(TO) });
    const files = below(FROM).map((path) => ({ path: at(path), size: 1 }));
    await copyFiles(lease.work, lease.rename, { files, phase: 'copying' });
    await lease.enter(phase);
    await meanwhile(site, other);
    await site.time.pause(10_001);
    return { site, next: await site.client(), other };
  }
  const keyAt = async (client: TestClient, path: string): Promise<string> => {
    const {
      tenant: { layout },
      keyring,
    } = await client.open();
    return fileKey(layout, keyring.names, at(path));
  };
  const isRegister = (call: StoreCall): boolean =>
    call.verb === 'put' && String(call.key).includes('/journal/');
  /** The rename's deletes, counted from one; the store gets each of them behind `meddle`. */
  const atDeletes = (meddle: (count: number) => Promise<void>): Around => {
    let deletes = 0;
    return async (call, proceed) => {
      if (call.verb === 'delete') await meddle(++deletes);
      return proceed();
    };
  };

  it('takes a file along that has grown above the limit of the process', async () => {
    const { client, other } = await start(NAMES, 4);
    client.intercept(
      atDeletes(async (count) => {
        if (count === 1) await other.append(`${FROM}/a`, ' and much more');
      }),
    );
    await client.rename(FROM, TO);
    expect(await other.paths()).toEqual(below(TO));
    expect(await other.text(`${TO}/a`)).toBe('a and much more');
  });

  it('says that both were kept, too, of a file of the last round', async () => {
    const { client, other } = await start(['0']);
    client.intercept(
      atDeletes(async (count) => {
        if (count <= 3) return other.create(`${FROM}/${count}`, '');
        await other.append(`${FROM}/3`, 'here');
        await other.append(`${TO}/3`, 'there');
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ details: { reason: 'both_kept' } });
    expect(await other.paths()).toEqual([`${FROM}/3`, ...below(TO, ['0', '1', '2', '3'])]);
  });

  /** A file whose create is never settled: its process dies when it is written. */
  const leaveFile = async (site: TestSite, path: string): Promise<void> => {
    const dying = await site.client();
    dying.intercept((call, proceed) => (call.verb === 'head' ? new Promise(() => {}) : proceed()));
    void dying.create(path, 'left');
    await site.time.pause(100);
  };

  it('says that both were kept of a late copy that has to go and was edited before', async () => {
    const { site, client, other } = await start(['0']);
    const copy = await keyAt(other, `${TO}/3`);
    const deletes = atDeletes(async (count) => {
      if (count <= 3) await other.create(`${FROM}/${count}`, 'late');
    });
    client.intercept(async (call, proceed) => {
      const answer = await deletes(call, proceed);
      if (call.verb === 'put' && call.key === copy && call.mode === 'create') {
        await other.append(`${TO}/3`, ' and edited');
        await leaveFile(site, `${TO}/3/below`);
      }
      return answer;
    });
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ details: { reason: 'both_kept' } });
    expect(await other.paths()).toEqual([`${FROM}/3`, ...below(TO, ['0', '1', '2', '3', '3/below'])]);
    expect(await other.text(`${TO}/3`)).toBe('late and edited');
  });

  it('takes back for a clash what is copied late, and nothing that was copied before', async () => {
    const { next, other } = await leave('moving', async (site, writer) => {
      await writer.create(`${FROM}/late`, 'late');
      await leaveFile(site, `${TO}/b/below`);
    });
    expect(await next.paths()).toEqual(below(TO, ['a', 'b', 'b/below', 'c', 'late']));
    expect(await other.text(`${TO}/b`)).toBe('b');
  });

  it('leaves a late file where it is that cannot be copied, and names it', async () => {
    const { client, other } = await start();
    const key = await keyAt(other, `${TO}/late`);
    const deletes = atDeletes(async (count) => {
      if (count === 1) await other.create(`${FROM}/late`, '');
    });
    client.intercept((call, proceed) =>
      call.verb === 'put' && call.key === key ? Promise.reject(DENIED) : deletes(call, proceed),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      details: { reason: 'left_behind', paths: [`${FROM}/late`] },
    });
    expect(await other.paths()).toEqual([`${FROM}/late`, ...below(TO)]);
    expect(client.calls.filter((call) => call.verb === 'get' && String(call.key) === key)).toEqual([]);
    expect(client.calls.filter(({ verb }) => verb === 'list')).toHaveLength(5);
  });

  it('does not know the outcome when a late file can be neither listed nor copied', async () => {
    for (const verb of ['list', 'get'] as const) {
      const { site, client, other } = await start();
      let isLate = false;
      client.intercept(async (call, proceed) => {
        if (call.verb === verb && isLate) throw DOWN;
        if (call.verb === 'delete') {
          await other.create(`${FROM}/late`, '');
          isLate = true;
        }
        return proceed();
      });
      await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown', cause: DOWN });
      await site.time.pause(10_001);
      expect(await (await site.client()).paths()).toEqual(below(TO, [...NAMES, 'late']));
    }
  });

  it('deletes nothing when a copy fails, and stays under way for the next process', async () => {
    const { site, next, other } = await leave('moving');
    next.intercept((call, proceed) =>
      call.verb === 'put' && !isRegister(call) ? Promise.reject(DOWN) : proceed(),
    );
    const recovering = createRenameRegister().recover(await next.open());
    await expect(recovering).rejects.toMatchObject({
      code: 'unavailable',
      cause: { code: 'outcome_unknown', cause: DOWN },
    });
    expect(await readRegister(await next.open())).toMatchObject({ entry: { phase: 'moving' } });
    await site.time.pause(10_001);
    expect(await (await site.client()).paths()).toEqual(below(TO));
    expect(await other.paths(FROM)).toEqual([]);
  });

  it('takes the copy back of a late file that a user deletes, after a takeover as well', async () => {
    const { next, other } = await leave('moving');
    next.intercept(
      atDeletes(async (count) => {
        if (count === 1) await other.create(`${FROM}/late`, '');
        else if (count === 2) await other.remove(`${FROM}/late`);
      }),
    );
    expect(await next.paths()).toEqual(below(TO));
  });

  it('is not called done as long as the register says that it is under way', async () => {
    const { client, other, site } = await start();
    let writes = 0;
    client.intercept((call, proceed) =>
      isRegister(call) && ++writes === 3 ? Promise.reject(DOWN) : proceed(),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown', cause: DOWN });
    expect(await other.paths()).toEqual(below(TO));
    // The process that takes it over cannot tell a file that was created since from one that was there all the time.
    await other.create(`${FROM}/since`, '');
    await site.time.pause(10_001);
    expect(await (await site.client()).paths()).toEqual([...below(TO), `${TO}/since`].toSorted());
  });

  it('does not name what it left behind as long as the register says that it is under way', async () => {
    const { client, other } = await start();
    const key = await keyAt(other, `${TO}/late`);
    let writes = 0;
    const deletes = atDeletes(async (count) => {
      if (count === 1) await other.create(`${FROM}/late`, '');
    });
    client.intercept((call, proceed) => {
      if (call.verb === 'put' && call.key === key) return Promise.reject(DENIED);
      return isRegister(call) && ++writes === 3 ? Promise.reject(DOWN) : deletes(call, proceed);
    });
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown', cause: DOWN });
  });

  it('names the copies where the server lets neither them nor their sources go', async () => {
    const { client, other } = await start();
    client.intercept(async <T>(call: StoreCall, proceed: () => Promise<T>) =>
      call.verb === 'delete' ? (call.targets.map(({ key }) => ({ key, error: DENIED })) as T) : proceed(),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'left_behind', paths: below(TO) },
    });
    expect(await other.paths()).toEqual([...below(FROM), ...below(TO)]);
  });

  it('is taken back past what is damaged at its target, and not past what could not be read', async () => {
    const { site, next, other } = await leave('aborting');
    const key = await keyAt(other, `${TO}/b`);
    const found = await site.base.get(key as never);
    if (typeof found !== 'object') throw new Error('there is no copy');
    const damaged = found.body.map((byte, i) => (i === found.body.length - 1 ? byte ^ 1 : byte));
    await site.base.put(key as never, damaged, { mode: 'overwrite' });
    let gets = 0;
    next.intercept((call, proceed) =>
      call.verb === 'get' && call.key.includes('/data/') && ++gets === 1 ? Promise.reject(DOWN) : proceed(),
    );
    await expect(createRenameRegister().recover(await next.open())).rejects.toMatchObject({
      cause: { cause: DOWN },
    });
    expect(await readRegister(await next.open())).toMatchObject({ entry: { phase: 'aborting' } });
    await site.time.pause(10_001);
    expect(await (await site.client()).paths()).toEqual([...below(FROM), `${TO}/b`]);
  });
});
