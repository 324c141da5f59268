import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { expect } from 'vitest';
import { weightOf } from '../../src/admin/findings.ts';
import type { VerifyReport } from '../../src/admin/verify/verify.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import { putRecord } from '../stage/key-operator.ts';
import { textsIn } from '../stage/object-folder.ts';
import { at, bytes } from '../stage/test-tree.ts';
import { cutOffRename } from './cut-off-rename.ts';
import type { LifecycleTask } from './lifecycle-task.ts';
import {
  keyStatusOf,
  type SealedRecord,
  stateOf,
  type TenantState,
  withTenant,
  workOn,
} from './tenant-state.ts';

/** A verb that processes are killed at, and what it is to leave behind, however often it was killed before. */
export interface LifecycleVerb {
  readonly title: string;
  /** `to` is a place where nothing lies yet. */
  task(to: string): LifecycleTask;
  /** The root keys of its processes, of which the first one wraps; `OLD_ROOT` alone unless given. */
  readonly rootKeys?: readonly string[];
  /** Done once the tenant has its files and records, all under its first key. */
  readonly prepare?: (options: MemoryOptions) => Promise<void>;
  /** Right after a kill. */
  readonly expectMeanwhile: (found: Place) => Promise<void>;
  readonly expectDone: (found: Place) => Promise<void>;
}

/** A tenant that a verb has run on. */
export interface Place {
  readonly options: MemoryOptions;
  readonly to: string;
  /** As it was before the verb ran. */
  readonly before: TenantState;
  /** The answer of the last run. */
  readonly report: unknown;
  /** The place where the run before that was killed, for messages. */
  readonly where: string;
}

export const FILES: Readonly<Record<string, string>> = {
  '/memories/plan.md': 'the plan',
  '/memories/empty': '',
  '/memories/deep/a': 'text of a',
  '/memories/deep/er/日本.md': 'deep down',
  '/memories/two chunks': 'x'.repeat(70_000),
};
/** Receipts are left alone as long as a turn may be at work with them, and these are young. */
const CLASSES = ['access', 'answers', 'journal'] as const;
const TTL_MS = 300;
/** Old enough for a migration, which leaves alone what its writer may still take back. */
const AHEAD_MS = 120_000;

const rootKey = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
export const OLD_ROOT = rootKey(6);
const NEW_ROOT = rootKey(7);

/** Writes the files, some of them by way of a directory rename, and a record of each class. */
export async function fillTenant(options: MemoryOptions): Promise<void> {
  await withTenant(options, async (parts) => {
    for (const [path, text] of Object.entries(FILES)) {
      await parts.tree.create(at(path.replace('/er/', '/was/')), bytes(text));
    }
    await parts.tree.rename({ from: at('/memories/deep/was'), to: at('/memories/deep/er') });
    const work = await workOn(parts);
    for (const cls of CLASSES) await putRecord(work, cls, 'an-id', bytes('a record'));
  });
}

async function rotateOnce(options: MemoryOptions): Promise<void> {
  await using admin = await openAdmin(options);
  expect((await admin.rotate()).rotated).toBe(true);
}

/** Every object can be opened and is what it was, but for keys and sealings. */
async function expectSame({ options, before, where }: Place): Promise<TenantState> {
  const state = await stateOf(options);
  const plain = ({ text, versionId, mtime, origin }: SealedRecord) => ({ text, versionId, mtime, origin });
  expect(mapped(state.records, plain), where).toEqual(mapped(before.records, plain));
  expect(state.files, where).toEqual(FILES);
  expect(state.findings, where).toEqual([]);
  return state;
}

interface Keys {
  readonly epoch: number;
  readonly keys: readonly number[];
  /** That of every object. */
  readonly under: number;
  readonly contents: 'kept' | 'fresh';
  readonly rootId?: string;
}

function expectKeys({ contents, under, ...expected }: Keys): LifecycleVerb['expectDone'] {
  return async (place) => {
    const { before, where } = place;
    const state = await expectSame(place);
    expect(state, where).toMatchObject({ rootId: before.rootId, ...expected });
    expect(versionsIn(state), where).toEqual(new Set([under]));
    const known = new Set(Object.values(before.records).map(({ commitment }) => commitment));
    const kept = Object.values(state.records).filter(({ commitment }) => known.has(commitment));
    expect(kept, where).toHaveLength(contents === 'kept' ? Object.keys(state.records).length : 0);
  };
}

const keepsEverything: LifecycleVerb['expectMeanwhile'] = async (place) => {
  await expectSame(place);
};

const migrating = { prepare: rotateOnce, expectMeanwhile: keepsEverything };

export const VERBS: readonly LifecycleVerb[] = [
  {
    title: 'rotate',
    task: () => ({ verb: 'rotate' }),
    expectMeanwhile: keepsEverything,
    expectDone: expectKeys({ epoch: 2, keys: [1, 2], under: 1, contents: 'kept' }),
  },
  {
    ...migrating,
    title: 'migrate',
    task: () => ({ verb: 'migrate', aheadMs: AHEAD_MS }),
    expectDone: expectKeys({ epoch: 2, keys: [1, 2], under: 2, contents: 'kept' }),
  },
  {
    ...migrating,
    title: 'migration that encrypts again',
    task: () => ({ verb: 'migrate', reencrypt: true, aheadMs: AHEAD_MS }),
    expectDone: expectKeys({ epoch: 2, keys: [1, 2], under: 2, contents: 'fresh' }),
  },
  {
    ...migrating,
    title: 'migration that waits and retires',
    task: () => ({ verb: 'migrate', wait: true, ttlMs: TTL_MS, aheadMs: AHEAD_MS }),
    expectDone: expectKeys({ epoch: 3, keys: [2], under: 2, contents: 'kept' }),
  },
  {
    title: 'rewrap of the root',
    task: () => ({ verb: 'rewrap-root' }),
    rootKeys: [NEW_ROOT, OLD_ROOT],
    expectMeanwhile: keepsEverything,
    expectDone: async (place) => {
      const options = { ...place.options, rootKey: NEW_ROOT };
      const rootId = envRootKey(NEW_ROOT).id;
      await expectKeys({ epoch: 2, keys: [1], under: 1, contents: 'kept', rootId })({ ...place, options });
    },
  },
  {
    title: 'shred',
    task: () => ({ verb: 'shred', ttlMs: TTL_MS }),
    prepare: rotateOnce,
    expectMeanwhile: async () => {},
    expectDone: async ({ options, before, where, report }) => {
      expect(report, where).toMatchObject({ objects: Object.keys(before.records).length });
      await withTenant(options, async (parts) => {
        expect(await keyStatusOf(parts), where).toEqual({ state: 'shredded' });
        for (const path of Object.keys(FILES)) {
          const refused = parts.tree.read(at(path));
          await expect(refused, where).rejects.toMatchObject({ code: 'key_unavailable' });
        }
        const { versions } = parts;
        const { layout } = parts.context;
        for await (const page of versions?.list(layout.keyring) ?? []) {
          expect(
            page.map(({ isCurrent }) => isCurrent),
            where,
          ).toEqual([true]);
        }
      });
    },
  },
  {
    title: 'verify that repairs',
    task: () => ({ verb: 'verify', repair: true, aheadMs: AHEAD_MS }),
    prepare: async (options) => {
      await cutOffRename(options, '/memories/plan.md', '/memories/plan-2.md');
      await cutOffRename(options, '/memories/deep', '/memories/moved');
    },
    expectMeanwhile: async ({ options, where }) => {
      const { files } = await stateOf(options);
      expect(new Set(Object.values(files)), where).toEqual(new Set(Object.values(FILES)));
    },
    expectDone: async ({ options, where, report }) => {
      expect(
        (report as VerifyReport).findings.filter((each) => weightOf(each) !== 'settled'),
        where,
      ).toEqual([]);
      const { files, findings, keys, epoch } = await stateOf(options);
      const { '/memories/plan.md': plan = '', ...others } = FILES;
      const moved = Object.entries(others).map(([path, text]) => [path.replace('/deep/', '/moved/'), text]);
      const expected = { '/memories/plan-2.md': plan, ...Object.fromEntries(moved) };
      expect({ files, findings, keys, epoch }, where).toEqual({
        files: expected,
        findings: [],
        keys: [1],
        epoch: 1,
      });
    },
  },
  {
    title: 'restore',
    task: (to) => ({ verb: 'restore', to }),
    expectMeanwhile: async ({ to, where }) => {
      expect(existsSync(to), where).toBe(false);
    },
    expectDone: async (place) => {
      const { to, where, report } = place;
      expect(report, where).toMatchObject({ files: Object.keys(FILES).length, findings: [] });
      const texts = Object.entries(FILES).map(([path, text]) => [path.slice('/memories/'.length), text]);
      expect(await textsIn(to), where).toEqual(Object.fromEntries(texts));
      const beside = (await readdir(dirname(to))).filter((name) => name.startsWith(basename(to)));
      expect(beside, where).toEqual([basename(to)]);
      await expectSame(place);
    },
  },
];

export function versionsIn({ records }: TenantState): ReadonlySet<number | undefined> {
  return new Set(Object.values(records).map(({ keyVersion }) => keyVersion));
}

function mapped<T, U>(items: Readonly<Record<string, T>>, map: (item: T) => U): Readonly<Record<string, U>> {
  return Object.fromEntries(Object.entries(items).map(([name, item]) => [name, map(item)]));
}
