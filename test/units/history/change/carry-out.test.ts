import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { carryOut } from '../../../../src/history/change/carry-out.ts';
import type { Change, PlanDraft } from '../../../../src/history/change/plan.ts';
import type { Past } from '../../../../src/history/past/past.ts';
import { keepingClient } from '../../../stage/history-site.ts';
import { at, openSite } from '../../../stage/test-tree.ts';

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
