import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { toBase64url } from '../../../../src/format/encoding.ts';
import { applyPlan } from '../../../../src/history/change/apply-plan.ts';
import type { Change } from '../../../../src/history/change/plan.ts';
import type { Tenant } from '../../../../src/tree/tenant.ts';
import type { Tree } from '../../../../src/tree/tree.ts';
import { at, bytes } from '../../../stage/test-tree.ts';
import { short } from '../story.ts';

/** The id of the version of a text that lies at a path, or that is to lie there, by its bytes of content. */
function idOf(words: string): Uint8Array {
  return bytes(words.padEnd(16, '-'));
}

const versionOf = (words: string): string => toBase64url(idOf(words));

/** A change in words: `create a 5`, `replace a 3 5`, `delete a 3`, `rename a b`; with the bytes that go and come. */
function changeOf(words: string): Change {
  const [what = '', name = '', second = '', third = ''] = words.split(' ');
  const path = at(`/memories/${name}`);
  const fromVersion = versionOf(`${name} is ${what === 'rename' ? 1 : second}`);
  if (what === 'rename') return { path, what, fromVersion, to: at(`/memories/${second}`) };
  if (what === 'delete') return { path, what, fromVersion };
  if (what === 'create') return { path, what, toVersion: versionOf(`${name} for ${second}`) };
  return { path, what: 'replace', fromVersion, toVersion: versionOf(`${name} for ${third}`) };
}

interface Stage {
  readonly isTight?: boolean;
  /** The failures of the tree, by what it is asked to do. */
  readonly failures?: Readonly<Record<string, unknown>>;
  /** Paths of files that another process has deleted, or written again. */
  readonly changed?: Readonly<Record<string, 'gone' | 'other'>>;
  /** Versions whose text is gone. */
  readonly lost?: readonly string[];
}

/** Carries a plan out, one change at a time, over a tree that notes what it is asked to do. */
async function applied(
  plan: string,
  { isTight = false, failures = {}, changed = {}, lost = [] }: Stage = {},
) {
  const changes = plan.split(', ').map(changeOf);
  const deeds: string[] = [];
  const progress: string[] = [];
  const sizes = new Map<string, number>();
  const current = new Map<string, Uint8Array>();
  for (const { path, fromVersion, toVersion } of changes) {
    for (const version of [fromVersion, toVersion]) {
      const words =
        version === undefined ? '' : atob(version.replace(/-/g, '+').replace(/_/g, '/')).replace(/-+$/, '');
      if (version !== undefined) sizes.set(version, Number(words.split(' ').at(-1)));
      if (version === fromVersion && version !== undefined) current.set(path, idOf(words));
    }
  }
  const ask = (deed: string): void => {
    deeds.push(deed);
    if (deed in failures) throw failures[deed];
  };
  const tree = {
    async readVersion(path: string) {
      const state = changed[short(path)];
      const id = state === 'other' ? idOf('another version') : current.get(path);
      return state === 'gone' || id === undefined
        ? undefined
        : { id, etag: `etag of ${short(path)}`, content: bytes('') };
    },
    async rename({ from, to, version }: { from: string; to: string; version: string }, options: object) {
      expect(options).toMatchObject({ keptOnly: true, wasThere: true, actor: 'ann' });
      ask(`rename ${short(from)} ${short(to)} by ${version}`);
    },
    async remove(path: string, options: { readonly version: string }) {
      expect(options).toMatchObject({ keptOnly: true, actor: 'ann' });
      ask(`delete ${short(path)} by ${options.version}`);
    },
    async create(path: string, text: Uint8Array, options: object) {
      expect(options).toMatchObject({ keptOnly: true, wasThere: true, actor: 'ann' });
      ask(`create ${short(path)} ${text.length}`);
      return 'etag';
    },
    async replace(
      path: string,
      { content, version }: { content: Uint8Array; version: string },
      options: object,
    ) {
      expect(options).toMatchObject({ keptOnly: true, actor: 'ann' });
      ask(`replace ${short(path)} ${content.length} by ${version}`);
      return 'etag';
    },
  };
  // Nobody redacts a text of a tenant without a keyring.
  const tenant = { keyrings: { load: async () => undefined }, concurrency: 1, concurrentBytes: 1_000 };
  const { done, redacted, conflict } = await applyPlan(
    {
      tenant: tenant as unknown as Tenant,
      tree: tree as unknown as Tree,
      call: { actor: 'ann', onProgress: (at) => progress.push(`${at.done}/${at.total}`) },
      texts: {
        sizeOf: (version = '') => sizes.get(version) ?? 0,
        async find(version) {
          if (lost.some((words) => versionOf(words) === version)) return undefined;
          const facts = {
            id: version,
            path: at('/memories/old'),
            bound: 1n,
            text: 'kept',
            record: 'r',
          } as const;
          return { version: facts as never, text: new Uint8Array(sizes.get(version) ?? 0) };
        },
      },
      placesOf: () => [],
      isTight,
    },
    changes,
  );
  return {
    deeds,
    progress,
    done: done.map(({ what, path }) => `${what} ${short(path)}`),
    redacted,
    conflict,
  };
}

describe('a plan that is carried out', () => {
  it.each<[claim: string, plan: string, deeds: readonly string[], tight?: readonly string[]]>([
    [
      'shortens texts before it lengthens others, and deletes at last, or before what grows where room is short',
      'create a 5, delete b 3, replace c 3 5, replace d 5 3, replace e 4 4',
      [
        'replace d 3 by etag of d',
        'replace e 4 by etag of e',
        'create a 5',
        'replace c 5 by etag of c',
        'delete b by etag of b',
      ],
      [
        'replace d 3 by etag of d',
        'replace e 4 by etag of e',
        'delete b by etag of b',
        'create a 5',
        'replace c 5 by etag of c',
      ],
    ],
    [
      'renames before it writes',
      'create a 5, replace d 5 3, rename b c',
      ['rename b c by etag of b', 'replace d 3 by etag of d', 'create a 5'],
    ],
    [
      'renames the last of a chain first',
      'rename a b, rename b c, rename c d',
      ['rename c d by etag of c', 'rename b c by etag of b', 'rename a b by etag of a'],
    ],
    [
      'deletes first what makes way for a file',
      'create a 5, delete a 3, delete b 3',
      ['delete a by etag of a', 'create a 5', 'delete b by etag of b'],
    ],
    [
      'deletes first what makes way for a directory, or for a file in the place of one',
      'create a/x 5, create b 5, delete a 3, delete b/y 3, delete c 3',
      [
        'delete a by etag of a',
        'delete b/y by etag of b/y',
        'create a/x 5',
        'create b 5',
        'delete c by etag of c',
      ],
    ],
    [
      'deletes first what makes way for a rename',
      'delete b 3, delete c 3, rename a b',
      ['delete b by etag of b', 'rename a b by etag of a', 'delete c by etag of c'],
    ],
    [
      'deletes a file below which another one is replaced at last',
      'delete a 3, replace a/x 3 5',
      ['replace a/x 5 by etag of a/x', 'delete a by etag of a'],
    ],
  ])('%s', async (_, plan, deeds, tight = deeds) => {
    const { done, progress, redacted, conflict, ...rest } = await applied(plan);
    expect(rest.deeds).toEqual(deeds);
    expect(done).toEqual(deeds.map((deed) => deed.split(' ').slice(0, 2).join(' ')));
    expect(progress).toEqual(deeds.map((_, index) => `${index + 1}/${deeds.length}`));
    expect({ redacted, conflict }).toEqual({ redacted: [], conflict: undefined });
    const inLittleRoom = (await applied(plan, { isTight: true })).deeds;
    if (tight !== deeds) expect(inLittleRoom).toEqual(tight);
  });

  it.each(['version_conflict', 'already_exists', 'is_directory', 'not_found'] as const)(
    'goes on behind a file that another process changed, and tells of the first: %s',
    async (code) => {
      const [first, second] = [new MemoryError(code, 'first'), new MemoryError(code, 'second')];
      const failures = { 'replace a 5 by etag of a': first, 'replace b 5 by etag of b': second };
      const { done, conflict, redacted, progress } = await applied(
        'replace a 3 5, replace b 3 5, replace c 3 5',
        { failures },
      );
      expect(done).toEqual(['replace c']);
      expect(conflict).toBe(first);
      expect(redacted).toEqual([]);
      expect(progress).toEqual(['1/3']);
    },
  );

  it('ends at any other failure', async () => {
    const error = new MemoryError('unavailable', 'down');
    await expect(
      applied('replace a 3 5, replace b 3 5', { failures: { 'replace a 5 by etag of a': error } }),
    ).rejects.toBe(error);
  });

  it('leaves a file whose text was taken out meanwhile, and names it', async () => {
    const error = new MemoryError('not_found', 'taken out', { details: { reason: 'redacted' } });
    const failures = { 'replace a 5 by etag of a': error, 'delete b by etag of b': error };
    const { done, conflict, redacted } = await applied('replace a 3 5, delete b 3, create c 2', { failures });
    expect(done).toEqual(['create c']);
    expect(conflict).toBe(error);
    expect(redacted).toStrictEqual([
      { path: '/memories/a', reason: 'redacted', version: versionOf('a for 5') },
      { path: '/memories/b', reason: 'redacted' },
    ]);
  });

  it.each<[what: string, stage: Stage]>([
    ['a file is gone', { changed: { a: 'gone' } }],
    ['a file is another version', { changed: { a: 'other' } }],
    ['a text is gone', { lost: ['a for 5'] }],
  ])('touches nothing where %s', async (_, stage) => {
    const { deeds, conflict } = await applied('replace a 3 5, create b 2', stage);
    expect(deeds).toEqual(['create b 2']);
    expect(conflict).toMatchObject({ code: 'version_conflict' });
  });
});
