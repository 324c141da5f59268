import { expect, it } from 'vitest';
import type { MemoryPath } from '../../../../src/language/path.ts';
import { keepingClient } from '../../../stage/history-site.ts';
import { at, bytes, describeOnBothKinds, type TestClient } from '../../../stage/test-tree.ts';

const DAY = 86_400_000;

describeOnBothKinds('the naming of an actor', (newSite) => {
  let files = 0;
  async function create({ tree }: TestClient): Promise<MemoryPath> {
    const path = at(`/memories/${files++}`);
    await tree.create(path, bytes('text'), { actor: 'ann' });
    return path;
  }
  /** The requests about actors that a command sends; all others are those that it sends without one. */
  async function billOf(
    client: TestClient,
    command: (client: TestClient) => Promise<unknown> = create,
  ): Promise<readonly string[]> {
    client.calls.length = 0;
    await command(client);
    return client.calls.flatMap((call) =>
      'key' in call && call.key.includes('/actors/') ? [call.verb] : [],
    );
  }

  it('costs a PUT for an actor that is new, and nothing for the rest of the day', async () => {
    const client = await keepingClient(await newSite());
    expect(await billOf(client)).toEqual(['put']);
    expect(await billOf(client)).toEqual([]);
    const path = await create(client);
    const edit = (): Promise<unknown> => client.tree.overwrite(path, bytes('x'), { actor: 'ann' });
    expect(await billOf(client, edit)).toEqual([]);
  });

  it('costs another process, and each day, a PUT and a HEAD, and once a week another PUT', async () => {
    const site = await newSite();
    await create(await keepingClient(site));
    const client = await keepingClient(site);
    const bills: (readonly string[])[] = [];
    for (let day = 0; day < 15; day++) {
      bills.push(await billOf(client));
      expect(await billOf(client)).toEqual([]);
      await site.time.pause(DAY + 1_000);
    }
    const renewed = bills.flatMap((bill, day) => (bill.length > 2 ? [day] : []));
    expect(renewed).toEqual([7, 14]);
    for (const [day, bill] of bills.entries())
      expect(bill).toEqual(renewed.includes(day) ? ['put', 'head', 'put'] : ['put', 'head']);
  });

  it('costs nothing where nothing is written, nor without an actor', async () => {
    const site = await newSite();
    const path = await create(await keepingClient(site));
    const client = await keepingClient(site);
    expect(await billOf(client, ({ tree }) => tree.read(path, { actor: 'bob' }))).toEqual([]);
    expect(await billOf(client, ({ tree }) => tree.overwrite(path, bytes('x')))).toEqual([]);
  });
});
