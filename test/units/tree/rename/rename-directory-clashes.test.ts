import { describe, expect, it } from 'vitest';
import { fileKey } from '../../../../src/format/object-keys.ts';
import { at, createSite, TRIED_KINDS } from '../../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/to';

/** Files that are created while the directory is renamed; not both can stay where they then belong. */
const CREATED = [
  { earlier: `${FROM}/x`, later: `${FROM}/x/below` },
  { earlier: `${FROM}/x/below`, later: `${FROM}/x` },
  { earlier: `${FROM}/y`, later: `${TO}/y/below` },
  { earlier: `${FROM}/y/below`, later: `${TO}/y` },
] as const;

describe.each(TRIED_KINDS)('a directory that is renamed on a(n) %s store', (kind) => {
  for (const { earlier, later } of CREATED) {
    it(`holds no file above another one, although ${earlier} is created, and then ${later}`, {
      timeout: 120_000,
    }, async () => {
      for (let seed = 1; seed <= 40; seed++) {
        const { client, time, base } = await createSite(kind, seed);
        const [mover, creator] = [await client({ delayMs: 30 }), await client({ delayMs: 60 })];
        await mover.create(`${FROM}/beside`, 'beside');
        const created: string[] = [];
        const create = async (path: string, within: number): Promise<void> => {
          await time.pause(time.fraction() * within);
          await creator.create(path, path);
          created.push(path);
        };
        await Promise.allSettled([mover.rename(FROM, TO), create(earlier, 100), create(later, 400)]);
        const paths = await mover.paths();
        expect(paths.filter((path) => paths.some((above) => path.startsWith(`${above}/`)))).toEqual([]);
        const texts = await Promise.all(paths.map((path) => mover.text(path)));
        expect(texts.filter((text) => text !== 'beside').sort()).toEqual(created.sort());
        await base[Symbol.asyncDispose]();
      }
    });
  }
});

describe.each(TRIED_KINDS)('files above one another that a process left on a(n) %s store', (kind) => {
  it('are waited for, refused while they are young, and renamed as they are after a minute', async () => {
    const { client, time, base } = await createSite(kind);
    const [mover, dying] = [await client(), await client()];
    await mover.create(`${FROM}/x`, 'upper');
    dying.intercept(async (call, proceed) => {
      if (call.verb === 'head') return new Promise(() => {});
      return proceed();
    });
    void dying.create(`${FROM}/x/below`, 'lower');
    await time.pause(1_000);
    const before = time.clock();
    await expect(mover.rename(FROM, TO)).rejects.toMatchObject({ code: 'unavailable' });
    expect(time.clock() - before).toBeGreaterThan(9_000);
    expect(await mover.paths()).toEqual([`${FROM}/x`, `${FROM}/x/below`]);
    await time.pause(60_000);
    // How young a file is that lies neither above nor below another one does not matter.
    await mover.create(`${FROM}/young`, 'young');
    const settled = time.clock();
    await mover.rename(FROM, TO);
    expect(time.clock() - settled).toBeLessThan(1_000);
    expect(await mover.paths()).toEqual([`${TO}/x`, `${TO}/x/below`, `${TO}/young`]);
    await base[Symbol.asyncDispose]();
  });

  it('are waited for although others have lain so for long, or are just being taken back', async () => {
    const { client, time, base } = await createSite(kind);
    const [mover, other] = [await client(), await client()];
    const dyingCreate = async (path: string): Promise<void> => {
      const dying = await client();
      dying.intercept(async (call, proceed) => (call.verb === 'head' ? new Promise(() => {}) : proceed()));
      void dying.create(path, 'lower');
      await time.pause(1_000);
    };
    await mover.create(`${FROM}/old`, 'upper');
    await dyingCreate(`${FROM}/old/below`);
    await time.pause(61_000);
    await mover.create(`${FROM}/x`, 'upper');
    await mover.create(`${FROM}/y`, 'upper');
    await dyingCreate(`${FROM}/x/below`);
    await dyingCreate(`${FROM}/y/below`);
    const { keyring, tenant } = await mover.open();
    const vanishing = fileKey(tenant.layout, keyring.names, at(`${FROM}/y/below`));
    mover.intercept(async (call, proceed) => {
      if (call.verb === 'head' && call.key === vanishing) await other.remove(`${FROM}/y/below`);
      return proceed();
    });
    await expect(mover.rename(FROM, TO)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await mover.paths(TO)).toEqual([]);
    await base[Symbol.asyncDispose]();
  });
});
