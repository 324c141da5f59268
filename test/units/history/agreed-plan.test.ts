import { expect, it } from 'vitest';
import type { PlannedChange, PlanOutcome } from '../../../src/history/change/plan.ts';
import type { History } from '../../../src/history/history.ts';
import { amount } from '../../runner/thorough.ts';
import { historyOf, keepingClient, textsOf } from '../../stage/history-site.ts';
import { at, bytes, describeOnBothKinds, type TestClient, type TestSite } from '../../stage/test-tree.ts';

const [A, B, C] = [at('/memories/a'), at('/memories/b'), at('/memories/c')];
const [MOVED, NEW, LATE] = [at('/memories/moved'), at('/memories/new'), at('/memories/late')];
const OPERATOR = 'operator';

/** Files of ann's, and what bad did to them: a text, a rename and a text, a delete, a new file. */
async function poisoned(site: TestSite): Promise<{ client: TestClient; then: Date }> {
  const client = await keepingClient(site);
  const { tree } = client;
  for (const path of [A, B, C]) await tree.create(path, bytes(`ann ${path}`), { actor: 'ann' });
  await site.time.pause(10);
  const then = new Date(site.time.clock());
  await site.time.pause(10);
  const actor = 'bad';
  await tree.overwrite(A, bytes('poison'), { actor });
  await tree.rename({ from: B, to: MOVED }, { actor });
  await tree.overwrite(MOVED, bytes('more poison'), { actor });
  await tree.remove(C, { actor });
  await tree.create(NEW, bytes('new poison'), { actor });
  return { client, then };
}

type Asked = (history: History, then: Date, options: object) => Promise<PlanOutcome>;
const VERBS: readonly (readonly [string, Asked])[] = [
  ['restoreAt', (history, then, options) => history.restoreAt(then, { actor: OPERATOR, ...options })],
  ['undo', (history, _, options) => history.undo({ writer: 'bad', actor: OPERATOR, ...options })],
];

/** Deeds of another process, each done once. */
const DEEDS: Readonly<Record<string, (client: TestClient) => Promise<unknown>>> = {
  'writes a file that is to be replaced': ({ tree }) => tree.overwrite(A, bytes('theirs'), { actor: 'bad' }),
  'writes a file that is to be renamed': ({ tree }) =>
    tree.overwrite(MOVED, bytes('theirs'), { actor: 'bad' }),
  'writes a file that is to be deleted': ({ tree }) => tree.overwrite(NEW, bytes('theirs'), { actor: 'bad' }),
  'makes a directory of a file that is to be renamed': async ({ tree }) => {
    await tree.remove(MOVED, { actor: 'bad' });
    await tree.create(at(`${MOVED}/below`), bytes('theirs'), { actor: 'bad' });
  },
  'creates a file': ({ tree }) => tree.create(LATE, bytes('theirs'), { actor: 'bad' }),
  'creates a file that is to be created': ({ tree }) => tree.create(C, bytes('theirs'), { actor: 'bad' }),
};

/**
 * All that was done on behalf of the operator, as a plan would say it; a written version by the one that it replaced.
 */
async function doneBy(client: TestClient): Promise<readonly string[]> {
  const entries = await historyOf(client).list();
  return entries.flatMap((entry) => {
    if (entry.writer !== OPERATOR) return [];
    if (entry.kind === 'written') return [wordsOf({ ...entry, fromVersion: entry.previous })];
    return [wordsOf({ ...entry, fromVersion: entry.version })];
  });
}

function wordsOf({ path, to, fromVersion }: Pick<PlannedChange, 'path' | 'to'> & { fromVersion?: unknown }) {
  return `${path} ${fromVersion ?? 'nothing'}${to === undefined ? '' : ` to ${to}`}`;
}

describeOnBothKinds('a plan that was agreed to', (newSite) => {
  it.each(VERBS)('is carried out as it is: %s', async (_, ask) => {
    const site = await newSite();
    const { client, then } = await poisoned(site);
    const { digest, changes } = await ask(historyOf(client), then, { dryRun: true });
    expect(await ask(historyOf(client), then, { digest })).toMatchObject({ outcome: 'written' });
    expect(new Set(await doneBy(client))).toEqual(new Set(changes.map(wordsOf)));
    expect(await textsOf(client)).toEqual({ [A]: `ann ${A}`, [B]: `ann ${B}`, [C]: `ann ${C}` });
  });

  const RACES = VERBS.flatMap(([verb, ask]) => Object.keys(DEEDS).map((deed) => ({ verb, ask, deed })));
  it.each(RACES)('is all that $verb does where another process $deed at any request', async (race) => {
    const { ask, deed } = race;
    const whole = await newSite();
    const first = await poisoned(whole);
    const { digest: agreed } = await ask(historyOf(first.client), first.then, { dryRun: true });
    first.client.calls.length = 0;
    await ask(historyOf(first.client), first.then, { digest: agreed });
    const outcomes = new Set<string>();
    const step = amount({ usual: 2, thorough: 1 });
    for (let request = 0; request < first.client.calls.length; request += step) {
      const site = await newSite();
      const { client, then } = await poisoned(site);
      const other = await keepingClient(site);
      const { digest, changes } = await ask(historyOf(client), then, { dryRun: true });
      let sent = 0;
      let met: Promise<boolean> = Promise.resolve(false);
      client.intercept(async (_, proceed) => {
        if (sent++ === request) {
          const done = (DEEDS[deed] ?? expect.unreachable())(other);
          met = done.then(
            () => true,
            () => false,
          );
        }
        await met;
        await site.time.pause(2);
        return proceed();
      });
      const outcome = await ask(historyOf(client), then, { digest }).then(
        (written) => written.outcome,
        (error: { readonly code: string }) => error.code,
      );
      outcomes.add(outcome);
      const label = `at request ${request}: ${outcome}`;
      expect(['written', 'version_conflict'], label).toContain(outcome);
      const shown = changes.map(wordsOf);
      const reader = await keepingClient(site);
      expect(
        (await doneBy(reader)).filter((done) => !shown.includes(done)),
        label,
      ).toEqual([]);
      if (await met) expect(Object.values(await textsOf(reader)), label).toContain('theirs');
    }
    expect([...outcomes]).toContain('version_conflict');
  });
});
