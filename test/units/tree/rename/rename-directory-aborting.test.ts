import { expect, it } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../../../src/errors.ts';
import { fileKey } from '../../../../src/format/object-keys.ts';
import { copyFiles } from '../../../../src/tree/rename/copy-files.ts';
import { createRenameRegister } from '../../../../src/tree/rename/finish-renames.ts';
import { readRegister } from '../../../../src/tree/rename/register.ts';
import { type Around, countCalls, noAnswer, type StoreCall } from '../../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/to';
const NAMES: readonly string[] = ['a', 'b', 'c'];
const DOWN = new MemoryError('unavailable', 'down');

describeOnBothKinds('a rename of a directory that is taken back', (newSite) => {
  const below = (directory: string, names = NAMES): readonly string[] =>
    names.map((name) => `${directory}/${name}`);

  async function start(names = NAMES): Promise<{ site: TestSite; client: TestClient; other: TestClient }> {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    for (const name of names) await other.create(`${FROM}/${name}`, name);
    await client.paths();
    client.calls.length = 0;
    return { site, client, other };
  }
  /** The file of another process appears at the target behind the look that found none there. */
  const meet = (other: TestClient, path: string, then: Around = (_, proceed) => proceed()): Around => {
    let listings = 0;
    return async (call, proceed) => {
      const answer = await then(call, proceed);
      if (call.verb === 'list' && call.page === 1 && ++listings === 2) await other.create(path, 'theirs');
      return answer;
    };
  };
  const isRegister = (call: StoreCall): boolean =>
    call.verb === 'put' && String(call.key).includes('/journal/');
  const keyAt = async (client: TestClient, path: string): Promise<string> => {
    const {
      tenant: { layout },
      keyring,
    } = await client.open();
    return fileKey(layout, keyring.names, at(path));
  };
  /** The server takes nothing that is to replace or delete what lies there. */
  const holding =
    (key: () => string): Around =>
    (call, proceed) => {
      const isHeld =
        (call.verb === 'put' && call.key === key() && typeof call.mode === 'object') ||
        (call.verb === 'delete' && call.targets.some((target) => target.key === key()));
      return isHeld ? Promise.reject(new MemoryError('access_denied', 'not this one')) : proceed();
    };

  it('says so in the register before the first copy goes', async () => {
    const { client, other } = await start();
    const watching = await other.open();
    const phases: (string | undefined)[] = [];
    client.intercept(
      meet(other, `${TO}/own`, async (call, proceed) => {
        if (call.verb === 'delete') phases.push((await readRegister(watching)).entry?.phase);
        return proceed();
      }),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'already_exists' });
    expect(phases).toEqual(NAMES.map(() => 'aborting'));
  });

  it('needs no look for copies where all of them are known', async () => {
    const { client, other } = await start();
    client.intercept(meet(other, `${TO}/own`));
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'already_exists' });
    expect(countCalls(client.calls)['list']).toBe(3);
  });

  it('looks for a copy of which it never heard, and takes it back', async () => {
    const { client, other } = await start();
    const key = await keyAt(other, `${TO}/b`);
    let isLost = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key === key) {
        isLost = true;
        await proceed();
        throw noAnswer();
      }
      if (call.verb === 'get' && call.key === key && isLost) {
        isLost = false;
        throw DOWN;
      }
      return proceed();
    });
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await other.paths()).toEqual(below(FROM));
  });

  it('exists because of the file at its target, also where no file could be copied', async () => {
    const { client, other } = await start(['a']);
    client.intercept(meet(other, `${TO}/a`));
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'already_exists' });
    expect(await other.paths()).toEqual([`${FROM}/a`, `${TO}/a`]);
  });

  it('names the copy that the server does not let go', async () => {
    let key = '';
    const site = await newSite();
    const [client, other] = [await site.client({ beneath: holding(() => key) }), await site.client()];
    for (const name of NAMES) await other.create(`${FROM}/${name}`, name);
    key = await keyAt(other, `${TO}/b`);
    client.intercept(meet(other, `${TO}/own`));
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'left_behind', files: 1, paths: [`${TO}/b`] },
    });
    expect(await other.paths()).toEqual([...below(FROM), `${TO}/b`, `${TO}/own`]);
  });

  it('has an unknown outcome when the register cannot be written for it, and is ended by the next', async () => {
    const { site, client, other } = await start();
    let writes = 0;
    client.intercept(
      meet(other, `${TO}/own`, (call, proceed) =>
        isRegister(call) && ++writes === 2 ? Promise.reject(DOWN) : proceed(),
      ),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown', cause: DOWN });
    await site.time.pause(10_001);
    expect(await (await site.client()).paths()).toEqual([...below(FROM), `${TO}/own`]);
  });

  it('has an unknown outcome when the register cannot be written to go on, and is finished by the next', async () => {
    const { site, client } = await start();
    let writes = 0;
    client.intercept((call, proceed) =>
      isRegister(call) && ++writes === 2 ? Promise.reject(DOWN) : proceed(),
    );
    await expect(client.rename(FROM, TO)).rejects.toMatchObject({ code: 'outcome_unknown', cause: DOWN });
    await site.time.pause(10_001);
    expect(await (await site.client()).paths()).toEqual(below(TO));
  });

  it('is taken back by a process whose file limit is smaller, but for what the server holds', async () => {
    for (const isHeld of [false, true]) {
      const { site, client, other } = await start();
      const lease = await createRenameRegister().begin(await client.open(), { from: at(FROM), to: at(TO) });
      const files = below(FROM).map((path) => ({ path: at(path), size: 1 }));
      await copyFiles(lease.work, lease.rename, { files, phase: 'copying' });
      await lease.enter('aborting');
      await site.time.pause(10_001);
      const held = isHeld ? await keyAt(other, `${TO}/b`) : '';
      const small = await site.client({ maxFileBytes: 0, beneath: holding(() => held) });
      expect(await small.paths()).toEqual([...below(FROM), ...(isHeld ? [`${TO}/b`] : [])]);
      const codes = small.logged.map(({ fields }) => fields?.['code'] as MemoryErrorCode | undefined);
      expect(codes.filter((code) => code !== undefined)).toEqual(isHeld ? ['version_conflict'] : []);
    }
  });
});

describeOnBothKinds('a rename of a directory that goes on', (newSite) => {
  it('takes the files along that appear in three rounds, and leaves those of a fourth', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await other.create(`${FROM}/0`, '');
    let deletes = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'delete') await other.create(`${FROM}/${++deletes}`, '');
      return proceed();
    });
    await client.rename(FROM, TO);
    expect(deletes).toBe(4);
    expect(await other.paths()).toEqual([
      `${FROM}/4`,
      ...['0', '1', '2', '3'].map((name) => `${TO}/${name}`),
    ]);
  });

  it('takes back every copy of a process that is gone, those of sources that went as well', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    for (const name of NAMES) await other.create(`${FROM}/${name}`, name);
    const lease = await createRenameRegister().begin(await client.open(), { from: at(FROM), to: at(TO) });
    const files = NAMES.map((name) => ({ path: at(`${FROM}/${name}`), size: 1 }));
    await copyFiles(lease.work, lease.rename, { files, phase: 'copying' });
    await other.remove(`${FROM}/b`);
    await other.create(`${TO}/own`, 'theirs');
    await site.time.pause(10_001);
    expect(await (await site.client()).paths()).toEqual([`${FROM}/a`, `${FROM}/c`, `${TO}/own`]);
  });

  it('takes the copy back of a source that went after a process that is gone had copied it', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    for (const name of NAMES) await other.create(`${FROM}/${name}`, name);
    const lease = await createRenameRegister().begin(await client.open(), { from: at(FROM), to: at(TO) });
    const files = NAMES.map((name) => ({ path: at(`${FROM}/${name}`), size: 1 }));
    await copyFiles(lease.work, lease.rename, { files, phase: 'copying' });
    await other.remove(`${FROM}/b`);
    await site.time.pause(10_001);
    expect(await (await site.client()).paths()).toEqual([`${TO}/a`, `${TO}/c`]);
  });
});
