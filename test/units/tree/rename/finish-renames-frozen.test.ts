import { expect, it } from 'vitest';
import { LEASE_MS } from '../../../../src/tree/rename/register.ts';
import { atFirst, type StoreCall } from '../../../stage/store-wrappers.ts';
import { describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/x/to';
const NAMES: readonly string[] = ['a', 'b/c', 'b/d'];

describeOnBothKinds('a rename whose process is frozen', (newSite) => {
  const moved = NAMES.map((name) => `${TO}/${name}`);

  /** A process stands still before its first request of that kind, for longer than its lease. */
  async function freezeAt(verb: StoreCall['verb']): Promise<Frozen> {
    const site = await newSite();
    const client = await site.client();
    for (const name of NAMES) await client.create(`${FROM}/${name}`, name);
    const sleep = Promise.withResolvers<void>();
    const asleep = Promise.withResolvers<void>();
    client.intercept(
      atFirst(verb, async (proceed) => {
        asleep.resolve();
        await sleep.promise;
        return proceed();
      }),
    );
    const moving = client.rename(FROM, TO).then(
      () => 'moved',
      (error: unknown) => error,
    );
    await asleep.promise;
    await site.time.pause(LEASE_MS + 1);
    const thaw = async (): Promise<unknown> => {
      sleep.resolve();
      return moving;
    };
    return { site, thaw };
  }

  it('is finished by the next process and leaves its deletes without effect', async () => {
    const { site, thaw } = await freezeAt('delete');
    const next = await site.client();
    expect(await next.paths()).toEqual(moved);
    await next.append(`${TO}/a`, '+');
    await next.create(`${FROM}/new`, 'new');
    expect(await thaw()).toMatchObject({ code: 'outcome_unknown' });
    expect(await next.paths()).toEqual([`${FROM}/new`, ...moved]);
    expect(await next.text(`${TO}/a`)).toBe('a+');
  });

  it('loses no file when its delete arrives just before that of the process that took it over', async () => {
    const { site, thaw } = await freezeAt('delete');
    const next = await site.client();
    next.intercept(
      atFirst('delete', async (proceed) => {
        await thaw();
        return proceed();
      }),
    );
    await textsOf(next);
    expect(await textsOf(await site.client())).toEqual(moved.map((path, i) => [path, NAMES[i]]));
  });

  it('is finished, too, by a process that saw it before its lease had run out', async () => {
    const site = await newSite();
    const client = await site.client();
    for (const name of NAMES) await client.create(`${FROM}/${name}`, name);
    client.intercept(atFirst('delete', () => new Promise(() => {})));
    void client.rename(FROM, TO);
    await site.time.pause(1_000);
    const next = await site.client();
    expect(await next.text(`${FROM}/a`)).toBe('a');
    await site.time.pause(LEASE_MS);
    expect(await next.paths()).toEqual(moved);
  });
});

interface Frozen {
  readonly site: TestSite;
  /** Wakes the process and waits for what becomes of its rename. */
  thaw(): Promise<unknown>;
}

async function textsOf(client: TestClient): Promise<readonly (readonly [string, string | undefined])[]> {
  const paths = await client.paths();
  return Promise.all(paths.map(async (path) => [path, await client.text(path)] as const));
}
