import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { carryOut } from '../../../../src/history/change/carry-out.ts';
import type { Change, PlanDraft } from '../../../../src/history/change/plan.ts';
import type { Past } from '../../../../src/history/past/past.ts';
import { keepingClient } from '../../../stage/history-site.ts';
import { at, bytes, openSite } from '../../../stage/test-tree.ts';

const PATH = at('/memories/a');

/** Plans the same change each time, whatever the past says. */
function draftOf(what: Change['what'], { files }: Past): PlanDraft {
  const id = files.get(PATH)?.id;
  if (id === undefined) throw new Error('there is no file');
  const change = { path: PATH, fromVersion: id };
  const of = (kind: Change['what'], rest: Partial<Change>) =>
    new Map<string, Change>(what === kind ? [[PATH, { what, ...change, ...rest }]] : []);
  return {
    renames: of('rename', { to: at('/memories/b') }),
    writes: of('replace', { toVersion: id }),
    deletes: of('delete', {}),
    left: new Map(),
    files: [PATH],
    isHidden: () => false,
  };
}

it.each(['rename', 'replace', 'delete'] as const)(
  'a %s whose text was taken out meanwhile is tried once, and its file is left',
  async (what) => {
    const client = await keepingClient(await openSite());
    await client.create(PATH, 'text');
    let tries = 0;
    const refuse = async (): Promise<never> => {
      tries++;
      throw new MemoryError('not_found', 'taken out', { details: { reason: 'redacted' } });
    };
    const tree = { ...client.tree, rename: refuse, replace: refuse, remove: refuse };
    const { changes, left, outcome } = await carryOut(client.tenant, tree, {
      call: {},
      versions: undefined,
      dryRun: false,
      partial: true,
      *plan(past) {
        yield;
        return draftOf(what, past);
      },
    });
    expect([tries, changes, outcome]).toEqual([1, [], 'nothing']);
    expect(left).toMatchObject([{ path: PATH, reason: 'redacted' }]);
  },
);

/** Carries out the delete of a file that ann has created. */
async function deleteOf(request: Pick<Parameters<typeof carryOut>[2], 'dryRun' | 'namesWriters' | 'digest'>) {
  const client = await keepingClient(await openSite());
  await client.tree.create(PATH, bytes('text'), { actor: 'ann' });
  client.calls.length = 0;
  const carrying = carryOut(client.tenant, client.tree, {
    call: {},
    versions: undefined,
    partial: true,
    *plan(past) {
      yield;
      return draftOf('delete', past);
    },
    ...request,
  });
  return { client, carrying };
}

it('another plan than the one that was agreed to is refused before anything is written', async () => {
  const { client, carrying } = await deleteOf({ dryRun: false, digest: 'of another plan' });
  await expect(carrying).rejects.toMatchObject({ code: 'version_conflict', retry: 'never' });
  expect(client.calls.filter(({ verb }) => verb === 'put' || verb === 'delete')).toEqual([]);
});

it.each([
  [true, { writer: 'ann' }],
  [false, {}],
])('a plan names whose versions it takes away where that is asked for: %s', async (namesWriters, named) => {
  const { carrying } = await deleteOf({ dryRun: true, ...(namesWriters && { namesWriters }) });
  expect((await carrying).changes).toEqual([
    { what: 'delete', path: PATH, fromVersion: expect.any(String), ...named },
  ]);
});
