import { expect, it } from 'vitest';
import type { PlanOutcome } from '../../../src/history/change/plan.ts';
import { historyOf, keepingClient, textsOf } from '../../stage/history-site.ts';
import { at, bytes, describeOnBothKinds, type TestClient } from '../../stage/test-tree.ts';

const [A, B, C] = ['/memories/d/a', '/memories/d/b', '/memories/c'];

/** The deeds of one actor. */
function as(actor: string, { tree }: TestClient) {
  return {
    create: (path: string, text: string) => tree.create(at(path), bytes(text), { actor }),
    write: (path: string, text: string) => tree.overwrite(at(path), bytes(text), { actor }),
    rename: (from: string, to: string) => tree.rename({ from: at(from), to: at(to) }, { actor }),
    remove: (path: string) => tree.remove(at(path), { actor }),
  };
}

/** The changes of a plan and the reasons for what is left, in words. */
function words({ changes, left }: PlanOutcome): readonly string[] {
  return [
    ...changes.map(({ what, path, to }) => `${what} ${path}${to === undefined ? '' : ` to ${to}`}`),
    ...left.map(({ reason, path }) => `${reason} ${path}`),
  ];
}

const OPERATOR = { actor: 'operator' };

describeOnBothKinds('what one actor did', (newSite) => {
  /** Files of ann's, and what bad did to them. */
  async function poisoned(): Promise<TestClient> {
    const client = await keepingClient(await newSite());
    const [ann, bad] = [as('ann', client), as('bad', client)];
    for (const path of [A, B, C, '/memories/e']) await ann.create(path, `by ann ${path}`);
    await bad.write(A, 'poison');
    await bad.write(A, 'more poison');
    await bad.rename(B, '/memories/hidden');
    await bad.write('/memories/hidden', 'poison');
    await bad.remove(C);
    await bad.create('/memories/new', 'poison');
    await bad.remove('/memories/e');
    await bad.rename('/memories/new', '/memories/e');
    return client;
  }
  const CLEAN = Object.fromEntries([A, B, C, '/memories/e'].map((path) => [path, `by ann ${path}`]));

  it('is taken back: texts, new files, renames and deletes', async () => {
    const client = await poisoned();
    const texts = await textsOf(client);
    const { digest, ...plan } = await historyOf(client).undo({ writer: 'bad', dryRun: true, ...OPERATOR });
    expect(await textsOf(client)).toEqual(texts);
    const done = await historyOf(client).undo({ writer: 'bad', digest, ...OPERATOR });
    expect(done).toEqual({ ...plan, outcome: 'written' });
    expect(words(done)).toEqual([
      `create ${C}`,
      `replace ${A}`,
      `replace ${B}`,
      'replace /memories/e',
      'rename /memories/hidden to /memories/d/b',
    ]);
    expect(await textsOf(client)).toEqual(CLEAN);
    expect(words(await historyOf(client).undo({ writer: 'bad', ...OPERATOR }))).toEqual([]);
    expect(await textsOf(client)).toEqual(CLEAN);
  });

  it('is taken back once where it is asked for on behalf of the same actor', async () => {
    const client = await poisoned();
    for (let round = 1; round <= 3; round++) {
      await historyOf(client).undo({ writer: 'bad', actor: 'bad' });
      expect(await textsOf(client)).toEqual(CLEAN);
    }
  });

  it('is left where others have built on it, with the names of their versions', async () => {
    const client = await keepingClient(await newSite());
    const [ann, bad] = [as('ann', client), as('bad', client)];
    await ann.create(A, 'one');
    await bad.write(A, 'poison');
    await ann.write(A, 'poison and more');
    await bad.create(B, 'poison');
    await ann.write(B, 'built on poison');
    await bad.rename(B, '/memories/b');
    await ann.write('/memories/b', 'built on it again');
    await bad.write('/memories/b', 'poison again');
    await ann.create(C, 'c');
    await bad.remove(C);
    await ann.create(C, 'another');
    const texts = await textsOf(client);
    const [later, meant] = (await historyOf(client).list(A)).map(({ version }) => version);
    const outcome = await historyOf(client).undo({ writer: 'bad', ...OPERATOR });
    expect(words(outcome)).toEqual([
      'replace /memories/b',
      'built_on /memories/b',
      `built_on ${C}`,
      `built_on ${A}`,
    ]);
    expect(outcome.left[2]).toEqual({ path: A, reason: 'built_on', version: meant, later: [later] });
    expect(await textsOf(client)).toEqual({ ...texts, '/memories/b': 'built on it again' });
    const forced = await historyOf(client).undo({ writer: 'bad', force: true, ...OPERATOR });
    expect(words(forced)).toEqual(['delete /memories/b', `replace ${C}`, `replace ${A}`]);
    expect(await textsOf(client)).toEqual({ [A]: 'one', [C]: 'c' });
    expect(words(await historyOf(client).undo({ writer: 'bad', force: true, ...OPERATOR }))).toEqual([]);
  });

  it('is not what others did to its files: a rename keeps, a delete ends them', async () => {
    const client = await keepingClient(await newSite());
    const [ann, bad] = [as('ann', client), as('bad', client)];
    await ann.create(A, 'one');
    await bad.write(A, 'poison');
    await ann.rename(A, B);
    await bad.create(C, 'poison');
    await ann.remove(C);
    expect(words(await historyOf(client).undo({ writer: 'bad', ...OPERATOR }))).toEqual([`replace ${B}`]);
    expect(await textsOf(client)).toEqual({ [B]: 'one' });
  });

  it('is left, and named, where a file was deleted and created again with what the actor wrote', async () => {
    const client = await keepingClient(await newSite());
    const [ann, bad] = [as('ann', client), as('bad', client)];
    await ann.create(A, 'one');
    await bad.write(A, 'poison');
    const [meant] = (await historyOf(client).list(A)).map(({ version }) => version);
    for (let round = 1; round <= 2; round++) {
      await ann.remove(A);
      await historyOf(client).undo({ writer: 'ann', ...OPERATOR });
      expect(await textsOf(client)).toEqual({ [A]: 'poison' });
    }
    const [later] = (await historyOf(client).list(A)).map(({ version }) => version);
    const { left, changes } = await historyOf(client).undo({ writer: 'bad', ...OPERATOR });
    expect(changes).toEqual([]);
    expect(left).toEqual([
      { path: A, reason: 'built_on', version: meant, later: [later, expect.any(String)] },
    ]);
    const forced = await historyOf(client).undo({ writer: 'bad', force: true, ...OPERATOR });
    expect(words(forced)).toEqual([`replace ${A}`]);
    expect(await textsOf(client)).toEqual({ [A]: 'one' });
    expect(words(await historyOf(client).undo({ writer: 'bad', ...OPERATOR }))).toEqual([]);
  });

  it('is left where another file stands in the way of a rename back, even by force', async () => {
    const client = await keepingClient(await newSite());
    const [ann, bad] = [as('ann', client), as('bad', client)];
    await ann.create(A, 'one');
    await bad.rename(A, C);
    await bad.write(C, 'poison');
    await ann.create(A, 'another');
    for (const force of [false, true]) {
      const plan = await historyOf(client).undo({ writer: 'bad', force, dryRun: true, ...OPERATOR });
      expect(words(plan)).toEqual([`replace ${C}`, `occupied ${C}`]);
    }
    await historyOf(client).undo({ writer: 'bad', ...OPERATOR });
    expect(await textsOf(client)).toEqual({ [A]: 'another', [C]: 'one' });
  });

  it('is left where two files took the places of each other', async () => {
    const client = await keepingClient(await newSite());
    const [ann, bad] = [as('ann', client), as('bad', client)];
    await ann.create(A, 'a');
    await ann.create(B, 'b');
    await bad.rename(A, C);
    await bad.rename(B, A);
    await bad.rename(C, B);
    const plan = await historyOf(client).undo({ writer: 'bad', ...OPERATOR });
    expect(words(plan)).toEqual([`occupied ${A}`, `occupied ${B}`]);
    expect(await textsOf(client)).toEqual({ [A]: 'b', [B]: 'a' });
  });
});
