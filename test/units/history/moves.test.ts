import { expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { createHistory } from '../../../src/history/history.ts';
import type { StoreCall } from '../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, type TestClient, type TestSite } from '../../stage/test-tree.ts';

const [FROM, TO] = ['/memories/d', '/memories/e'];
const NAMES = ['a', 'b', 'c'];

async function start(site: TestSite): Promise<readonly [TestClient, TestClient]> {
  const first = await site.client({ keepsHistory: true });
  for (const name of NAMES) await first.create(`${FROM}/${name}`, name);
  await site.time.pause(61_000);
  const renamer = await site.client();
  await renamer.text(`${FROM}/a`);
  return [first, renamer];
}

/** Answers what the history says of renames and deletes, the newest first. */
async function told({ tenant, tree }: TestClient, path?: string): Promise<readonly string[]> {
  const entries = await createHistory(tenant, tree).list(path);
  return entries.flatMap((entry) =>
    entry.kind === 'written' ? [] : [`${entry.kind} ${entry.path}${entry.to ? ` to ${entry.to}` : ''}`],
  );
}

const ALL = NAMES.map((name) => `renamed ${FROM}/${name} to ${TO}/${name}`);

function isRecordPut(call: StoreCall): boolean {
  return call.verb === 'put' && call.key.includes('/history/');
}

/** Runs `act` once, before the request that follows on the record of a rename. */
function behindTheRecord(client: TestClient, act: () => Promise<unknown>): void {
  let [isWritten, isDone] = [false, false];
  client.intercept(async (call, proceed) => {
    if (isWritten && !isDone) {
      isDone = true;
      await act();
    }
    const answer = await proceed();
    isWritten ||= isRecordPut(call);
    return answer;
  });
}

describeOnBothKinds('the history of a directory that is renamed', (newSite) => {
  it('says it once, though the process died and another one finished the rename', async () => {
    const site = await newSite();
    const [first, renamer] = await start(site);
    let isWritten = false;
    renamer.intercept(async (call, proceed) => {
      if (isWritten) throw new MemoryError('aborted', 'the process is dead');
      const answer = await proceed();
      isWritten = isRecordPut(call);
      return answer;
    });
    await expect(renamer.rename(FROM, TO)).rejects.toThrow();
    expect(isWritten).toBe(true);
    await site.time.pause(61_000);
    expect(await first.paths(TO)).toHaveLength(NAMES.length);
    expect([...(await told(first))].sort()).toEqual(ALL);
  });

  it('says on whose behalf it began, though another actor finished it', async () => {
    const site = await newSite();
    const [first, renamer] = await start(site);
    // It dies before it writes anything down about the rename.
    renamer.intercept(async (call, proceed) => {
      if (isRecordPut(call)) throw new MemoryError('aborted', 'the process is dead');
      return proceed();
    });
    const rename = { from: at(FROM), to: at(TO) };
    await expect(renamer.tree.rename(rename, { actor: 'ann' })).rejects.toThrow();
    await first.create('/memories/g/a', 'of another directory');
    await site.time.pause(61_000);
    await first.tree.rename({ from: at('/memories/g'), to: at('/memories/h') }, { actor: 'bob' });
    const history = createHistory(first.tenant, first.tree);
    const renames = (await history.list()).filter(({ kind }) => kind === 'renamed');
    expect(renames.map(({ path, writer }) => `${path} by ${writer}`).sort()).toEqual([
      ...NAMES.map((name) => `${FROM}/${name} by ann`),
      '/memories/g/a by bob',
    ]);
    // An undo then takes back what bob did without what ann did.
    await history.undo({ writer: 'bob', actor: 'cyd' });
    expect(await first.paths()).toEqual([...NAMES.map((name) => `${TO}/${name}`), '/memories/g/a']);
  });

  it('does not say it of a version that another process replaced first', async () => {
    const site = await newSite();
    const [first, renamer] = await start(site);
    behindTheRecord(renamer, () => first.append(`${FROM}/b`, ' and more'));
    await renamer.rename(FROM, TO);
    expect([...(await told(first))].sort()).toEqual(ALL);
    const entries = await createHistory(first.tenant, first.tree).list(`${TO}/b`);
    expect(entries.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      `renamed ${FROM}/b`,
      `written ${TO}/b`,
      `written ${FROM}/b`,
    ]);
  });

  it('does not say it of a file that another process deleted first, or renamed', async () => {
    const site = await newSite();
    const [first, renamer] = await start(site);
    behindTheRecord(renamer, async () => {
      await first.remove(`${FROM}/b`);
      await first.rename(`${FROM}/c`, '/memories/f');
    });
    await renamer.rename(FROM, TO);
    expect([...(await told(first))].sort()).toEqual([
      `deleted ${FROM}/b`,
      `renamed ${FROM}/a to ${TO}/a`,
      `renamed ${FROM}/c to /memories/f`,
    ]);
  });

  it('says it as often as it happened, there and back', async () => {
    const site = await newSite();
    const [first] = await start(site);
    for (let round = 0; round < 2; round++) {
      await first.rename(FROM, TO);
      await first.rename(TO, FROM);
    }
    await first.rename(FROM, TO);
    const names = await told(first, `${TO}/a`);
    expect(names.filter((name) => name === ALL[0])).toHaveLength(3);
    expect(names).toHaveLength(5);
  });

  it('keeps both records of one rename that were written in one millisecond', async () => {
    const site = await newSite();
    const [first, renamer] = await start(site);
    behindTheRecord(renamer, () => first.append(`${FROM}/b`, ' and more'));
    await renamer.rename(FROM, TO);
    const { layout } = first;
    const ids: string[] = [];
    for await (const { objects } of site.base.list({ prefix: `${layout.tenantPrefix}history/` })) {
      ids.push(...objects.map(({ key }) => key.slice(key.lastIndexOf('/') + 1)));
    }
    const ofRename = ids.filter((id) =>
      ids.some((other) => other !== id && other.slice(-8) === id.slice(-8)),
    );
    expect(ofRename).toHaveLength(2);
  });
});

describeOnBothKinds('a version that a rename was cut off with', (newSite) => {
  it('is in the history of both places, and can be read from each', async () => {
    const site = await newSite();
    const client = await site.client({ keepsHistory: true });
    const [one, other] = ['/memories/a', '/memories/b'];
    await client.create(one, 'text');
    await client.rename(one, other);
    await site.time.pause(61_000);
    const dying = await site.client();
    await dying.text(other);
    let isCopied = false;
    dying.intercept(async (call, proceed) => {
      if (isCopied && call.verb !== 'head' && call.verb !== 'list') {
        throw new MemoryError('aborted', 'the process is dead');
      }
      isCopied ||= call.verb === 'put';
      return proceed();
    });
    await dying.rename(other, one).catch(() => {});
    expect(await client.paths()).toEqual([one, other]);
    const history = createHistory(client.tenant, client.tree);
    for (const path of [one, other]) {
      const entries = await history.list(path);
      expect(entries).toContainEqual(expect.objectContaining({ kind: 'written', path, end: 'current' }));
      const { version } = entries[0] ?? { version: '' };
      expect((await history.read({ path, version })).text()).toBe('text');
    }
  });
});

describeOnBothKinds('two versions that were written in one millisecond', (newSite) => {
  it('are two, though they have one size and their delete was not written down', async () => {
    const site = await newSite();
    const client = await site.client({ keepsHistory: true });
    await client.create(`${FROM}/a`, 'one');
    let records = 0;
    client.intercept(async (call, proceed) => {
      if (isRecordPut(call) && ++records === 2) throw new MemoryError('unavailable', 'no answer');
      return proceed();
    });
    await client.remove(`${FROM}/a`);
    expect(records).toBe(2);
    await client.create(`${FROM}/a`, 'two');
    const history = createHistory(client.tenant, client.tree);
    const entries = await history.list(`${FROM}/a`);
    const texts = await Promise.all(entries.map(async (entry) => (await history.read(entry)).text()));
    expect(texts.sort()).toEqual(['one', 'two']);
    const times = new Set(entries.map(({ time }) => time.getTime()));
    expect(times.size).toBe(1);
  });
});
