import { expect, it } from 'vitest';
import { judgePlan } from '../../../../src/history/change/judge-plan.ts';
import { type Change, type PlanDraft, planOf, type Texts } from '../../../../src/history/change/plan.ts';
import type { Past } from '../../../../src/history/past/past.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { at } from '../../../stage/test-tree.ts';

/** A change in words: `create a 10`, `delete a 10`, `replace a 10 15`, with the bytes that go and that come. */
function changeOf(words: string): Change {
  const [what = '', name = '', size, next = size] = words.split(' ');
  const path = at(`/memories/${name}`);
  const [fromVersion, toVersion] = [`${name} is ${size}`, `${name} for ${next}`];
  if (what === 'create') return { path, what, toVersion };
  return what === 'delete' ? { path, what, fromVersion } : { path, what: 'replace', fromVersion, toVersion };
}

const texts: Texts = {
  find: async () => undefined,
  sizeOf: (version = '0') => Number(version.split(' ').at(-1)),
};

/** Judges changes beside a room: what is refused and why, whether it is tight, and how often the room was counted. */
async function judge(words: string, room: readonly [files: number, bytes: number] | undefined, origins = '') {
  const changes = words.split(', ').map(changeOf);
  const of = (kind: Change['what']) =>
    changes.filter(({ what }) => what === kind).map((each) => [each.path, each] as const);
  const draft: PlanDraft = {
    renames: new Map(),
    writes: new Map([...of('create'), ...of('replace')]),
    deletes: new Map(of('delete')),
    left: new Map(),
    files: changes.flatMap(({ what, path }) => (what === 'create' ? [] : [path])),
    isHidden: () => false,
  };
  let counts = 0;
  const left = async () => {
    counts++;
    return { files: room?.[0], bytes: room?.[1] };
  };
  const tenant = { quota: room && { left }, maxFileBytes: 100, concurrency: 4, concurrentBytes: 1_000 };
  const past = { ancestors: () => origins.split(', ').map((id) => ({ id })) } as unknown as Past;
  const isTight = await judgePlan({ tenant, call: {} } as unknown as Work, { past, texts, draft });
  const refused = planOf(draft).left.map(({ path, reason, limit }) => `${path.at(-1)} ${reason} ${limit}`);
  return [refused.join(', '), isTight, counts];
}

it.each<readonly [string, readonly [number, number] | undefined, string, boolean, number]>([
  ['create a 10', undefined, '', false, 0],
  ['create a 100', [1, 100], '', false, 1],
  ['create a 101', [9, 999], 'a refused file_bytes', false, 0],
  ['create a 0', [1, 0], '', false, 1],
  ['create a 0', [0, 0], 'a refused files', false, 1],
  ['create a 10', [0, 10], 'a refused files', false, 1],
  ['create a 10', [1, 9], 'a refused tenant_bytes', false, 1],
  ['create a 10, create b 10', [1, 99], 'b refused files', false, 2],
  ['create a 10, create b 10, create c 5', [9, 15], 'b refused tenant_bytes', false, 2],
  ['create a 10, create b 10', [2, 20], '', false, 1],
  ['create a 10, create b 10, delete c 1', [1, 99], '', true, 1],
  ['create a 10, delete b 10', [0, 0], '', true, 1],
  ['create a 10, delete b 9', [0, 0], 'a refused tenant_bytes', false, 1],
  ['replace a 10 15', [0, 5], '', false, 1],
  ['replace a 10 15', [0, 4], 'a refused tenant_bytes', false, 1],
  ['replace a 15 10', [0, 0], '', false, 0],
  ['replace a 15 10, create b 5', [1, 0], '', true, 1],
  ['replace a 15 10, create b 6', [1, 0], 'b refused tenant_bytes', false, 1],
  ['delete a 10', [0, 0], '', false, 0],
])(
  '%s beside %j: refused "%s", tight %j, counted %i times',
  async (words, room, refused, isTight, counts) => {
    expect(await judge(words, room)).toEqual([refused, isTight, counts]);
  },
);

it.each([
  ['a for 10', 'a refused files, b refused files, c refused files'],
  ['other, a for 10', 'a refused files, b refused files, c refused files'],
  ['a for 11', 'a refused files, c refused files'],
])('a file stays whose text was to be created elsewhere and may not be: %s', async (origins, refused) => {
  expect((await judge('create a 10, create c 1, delete b 1', [-1, 99], origins))[0]).toBe(refused);
});

it.each([
  ['replace a 10 15, delete b 1', [9, 0], 'a for 15', 'a refused tenant_bytes'],
  ['create a 10, replace b 10 5', [0, 99], 'a for 10', 'a refused files'],
] as const)(
  '%s beside %j: no file stays but one whose text was to be created elsewhere',
  async (words, room, origins, refused) => {
    expect((await judge(words, room, origins))[0]).toBe(refused);
  },
);
