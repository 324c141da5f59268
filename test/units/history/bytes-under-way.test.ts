import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { createHistory, type History } from '../../../src/history/history.ts';
import { readActors } from '../../../src/history/save/actors.ts';
import { VERSION_SAVER } from '../../../src/history/save/version-saver.ts';
import { readTurnRuns } from '../../../src/history/trace/read-runs.ts';
import { listDirectory } from '../../../src/tree/list-directory.ts';
import { encodeFields, writeRecord } from '../../../src/tree/records/sealed-record.ts';
import { createTree } from '../../../src/tree/tree.ts';
import { keepingClient } from '../../stage/history-site.ts';
import { roundsDuring } from '../../stage/measures.ts';
import { at, openSite, withTenant } from '../../stage/test-tree.ts';

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

  it('are read and saved one by one where no two fit in, and none is begun behind a failure', async () => {
    const site = await openSite();
    const writer = await keepingClient(site);
    const directory = at('/memories/d');
    for (const name of ['a', 'b']) await writer.create(`${directory}/${name}`, name.repeat(SIZE));
    const client = await keepingClient(site);
    const work = withTenant(await client.open(), { concurrentBytes: SIZE });
    const { files } = await listDirectory(work, directory);
    const begun = async (verb: 'get' | 'put', action: () => Promise<unknown>): Promise<number> => {
      let count = 0;
      client.intercept((call, proceed) => {
        if (call.verb !== verb) return proceed();
        count++;
        return Promise.reject(new MemoryError('unavailable', 'not now'));
      });
      await action().catch(() => {});
      return count;
    };
    expect(await begun('put', () => VERSION_SAVER.saveListed(work, files))).toBe(1);
    const store = { ...work.tenant.store, changeAll: async () => ({ etags: [] }) };
    const asOne = withTenant(work, { store });
    expect(await begun('get', async () => VERSION_SAVER.deleteListed(asOne, files, { at: directory }))).toBe(
      1,
    );
  });

  it.each([
    ['actors', readActors],
    ['answers', readTurnRuns],
  ] as const)('let others have their turn, and end with their caller: hundreds of %s', async (cls, read) => {
    // A store that answers at once gives nobody a turn.
    const client = await (await openSite()).client({ keepsHistory: true });
    await client.create('/memories/x', 'x');
    const writing = await client.open();
    for (let index = 0; index < 600; index++) {
      const id = writing.keyring.names.keyedHash('actors', `a${index}`);
      await writeRecord(
        writing,
        { cls, id },
        { content: encodeFields({ actor: `a${index}` }), base: undefined },
      );
    }
    const work = await client.open();
    expect(await roundsDuring(() => read(work))).toBeGreaterThan(4);
    const ending = new AbortController();
    const ended = await client.open(ending.signal);
    setImmediate(() => setImmediate(() => ending.abort()));
    await expect(read(ended)).rejects.toMatchObject({ code: 'aborted' });
  });
});
