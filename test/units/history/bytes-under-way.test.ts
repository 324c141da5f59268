import { describe, expect, it } from 'vitest';
import { createHistory, type History } from '../../../src/history/history.ts';
import { createTree } from '../../../src/tree/tree.ts';
import { keepingClient } from '../../stage/history-site.ts';
import { at, openSite } from '../../stage/test-tree.ts';

const FILES = 12;
const SIZE = 40_000;
const BOUND = 100_000;

type Verb = (history: History, moment: Date) => Promise<unknown>;
const VERBS: readonly (readonly [string, Verb])[] = [
  ['list', (history) => history.list()],
  ['restoreAt', (history, moment) => history.restoreAt(moment)],
  ['a dry run of restoreAt', (history, moment) => history.restoreAt(moment, { dryRun: true })],
  ['undo', (history) => history.undo({ writer: 'bad' })],
  ['trace', (history) => history.trace({ path: '/memories/0' })],
];

describe('texts under way', () => {
  it.each(VERBS)('hold no more bytes together than the tenant allows: %s', async (_, verb) => {
    const site = await openSite();
    const client = await keepingClient(site);
    const paths = Array.from({ length: FILES }, (_, index) => at(`/memories/${index}`));
    const text = (letter: string): Uint8Array => new TextEncoder().encode(letter.repeat(SIZE));
    for (const path of paths) await client.tree.create(path, text('a'), { actor: 'ann' });
    await site.time.pause(10);
    const moment = new Date(site.time.clock());
    await site.time.pause(10);
    for (const path of paths) await client.tree.overwrite(path, text('b'), { actor: 'bad' });
    let [underWay, most, asked] = [0, 0, 0];
    client.intercept(async (call, proceed) => {
      const isOfText = call.verb === 'get' || call.verb === 'put';
      const size = isOfText && /\/(data|history)\//.test(call.key) ? SIZE : 0;
      underWay += size;
      asked += size;
      most = Math.max(most, underWay);
      await site.time.pause(2);
      const answer = await proceed();
      underWay -= size;
      return answer;
    });
    const policy = () => 'allow' as const;
    const tenant = { ...client.tenant, policy, concurrentBytes: BOUND };
    await verb(createHistory(tenant, createTree(tenant)), moment);
    expect(asked).toBeGreaterThanOrEqual(FILES * SIZE);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(BOUND);
  });
});
