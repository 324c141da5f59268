import { createHistory, type History } from '../../src/history/history.ts';
import type { TestClient, TestSite } from './test-tree.ts';

/** A process of a tenant that keeps history, whose requests take time: no two things happen in one millisecond. */
export async function keepingClient(site: TestSite): Promise<TestClient> {
  const clock = (): number => Math.floor(site.time.clock());
  const client = await site.client({ keepsHistory: true, clock });
  client.intercept(async (_, proceed) => {
    await site.time.pause(2);
    return proceed();
  });
  return client;
}

export function historyOf({ tenant, tree }: TestClient): History {
  return createHistory(tenant, tree);
}

/** Reads every file and its text. */
export async function textsOf(client: TestClient): Promise<Readonly<Record<string, string | undefined>>> {
  const texts: Record<string, string | undefined> = {};
  for (const path of await client.paths()) texts[path] = await client.text(path);
  return texts;
}
