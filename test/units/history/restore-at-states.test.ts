import { afterAll, describe, expect, it } from 'vitest';
import { createHistory } from '../../../src/history/history.ts';
import { sayProved } from '../../history-proof/say-proved.ts';
import { amount } from '../../runner/thorough.ts';
import {
  at,
  bytes,
  createSite,
  STORE_KINDS,
  type StoreKind,
  type TestClient,
} from '../../stage/test-tree.ts';
import type { VirtualTime } from '../../stage/virtual-time.ts';

/** The tenant's files as the test keeps them beside the tenant. */
type Files = ReadonlyMap<string, string>;

const RESTORED = 25;
/** `TEST_STATES=10000` restores so many. */
const STATES = Number(process.env['TEST_STATES'] ?? amount({ quick: 50, usual: 200 }));
const SEEDS = Math.ceil(STATES / RESTORED);
const FIRST_SEED = (Number(process.env['HISTORY_SEED'] ?? 1) - 1) * SEEDS + 1;
const DEEDS = 20;

const NAMES = ['a', 'b', 'c'] as const;
const DIRECTORIES = ['/memories', '/memories/d', '/memories/d/e', '/memories/f'] as const;

/** Draws of one seed. */
interface Draws {
  below(count: number): number;
  one<T>(of: readonly T[]): T | undefined;
}

function drawsOf({ randomBytes }: Pick<VirtualTime, 'randomBytes'>): Draws {
  const below = (count: number): number => {
    const [a = 0, b = 0] = randomBytes(2);
    return (a * 256 + b) % count;
  };
  return { below, one: (of) => of[below(of.length)] };
}

/** Answers what one deed makes of the files; undefined where it would be refused. */
function deedOf(
  draws: Draws,
  files: Files,
): ((client: TestClient, actor: string) => Promise<Files>) | undefined {
  const paths = [...files.keys()];
  const isDirectory = (path: string): boolean => paths.some((each) => each.startsWith(`${path}/`));
  const isFree = (path: string): boolean =>
    !files.has(path) && !isDirectory(path) && !paths.some((each) => path.startsWith(`${each}/`));
  const fresh = `${draws.one(DIRECTORIES)}/${draws.one(NAMES)}`;
  const file = draws.one(paths);
  // The texts have few lengths, so that texts of one length are compared.
  const text = String.fromCharCode(97 + draws.below(3)).repeat(1 + draws.below(4));
  const kind = draws.below(8);
  const set = (path: string, content: string): Files => new Map([...files, [path, content]]);
  const renamed = (from: string, to: string): Files =>
    new Map(
      [...files].map(([path, content]) => [
        path === from || path.startsWith(`${from}/`) ? to + path.slice(from.length) : path,
        content,
      ]),
    );
  const without = (gone: string): Files =>
    new Map([...files].filter(([path]) => path !== gone && !path.startsWith(`${gone}/`)));
  if (kind < 2) {
    if (!isFree(fresh)) return undefined;
    return async ({ tree }, actor) => {
      await tree.create(at(fresh), bytes(text), { actor });
      return set(fresh, text);
    };
  }
  if (file === undefined) return undefined;
  if (kind === 2)
    return async ({ tree }, actor) => {
      const content = `${files.get(file)}${text}`;
      await tree.edit(at(file), () => ({ content: bytes(content), result: undefined }), { actor });
      return set(file, content);
    };
  if (kind === 3)
    return async ({ tree }, actor) => {
      await tree.overwrite(at(file), bytes(text), { actor });
      return set(file, text);
    };
  const directory = draws.one(DIRECTORIES.slice(1).filter(isDirectory));
  const from = kind % 2 === 0 ? file : directory;
  if (from === undefined) return undefined;
  if (kind < 6) {
    if (!isFree(fresh) || fresh.startsWith(`${from}/`)) return undefined;
    return async ({ tree }, actor) => {
      await tree.rename({ from: at(from), to: at(fresh) }, { actor });
      return renamed(from, fresh);
    };
  }
  return async ({ tree }, actor) => {
    await tree.remove(at(from), { actor });
    return without(from);
  };
}

async function filesOf({ tree }: TestClient): Promise<Files> {
  const { files } = await tree.list(at('/memories'));
  const read = async (path: (typeof files)[number]['path']): Promise<readonly [string, string]> => [
    path,
    new TextDecoder().decode(await tree.read(path)),
  ];
  return new Map(await Promise.all(files.map(({ path }) => read(path))));
}

const sorted = (files: Files): readonly (readonly [string, string])[] => [...files].sort();

let restored = 0;

/** A run of deeds and restores; every state that ever was may be restored, one that was restored itself as well. */
async function play(kind: StoreKind, seed: number): Promise<void> {
  const toRestore = Math.min(RESTORED, STATES - restored);
  const site = await createSite(kind, seed);
  const draws = drawsOf(site.time);
  // The clocks of processes tell whole milliseconds.
  const clock = (): number => Math.floor(site.time.clock());
  const process = { keepsHistory: true, clock };
  const clients = [await site.client(process), await site.client(process)];
  let files: Files = new Map();
  const states: { readonly time: number; readonly files: Files }[] = [];
  const note = async (): Promise<void> => {
    await site.time.pause(1 + draws.below(50));
    states.push({ time: clock(), files });
    await site.time.pause(1);
  };
  let [deeds, restores] = [0, 0];
  while (restores < toRestore) {
    const client = draws.one(clients);
    if (client === undefined) throw new Error('there is no process');
    if (deeds < DEEDS || draws.below(3) > 0) {
      const deed = deedOf(draws, files);
      if (deed === undefined) continue;
      files = await deed(client, `actor ${draws.below(3)}`);
      deeds += 1;
    } else {
      const state = draws.one(states);
      if (state === undefined) throw new Error('there is no state');
      const outcome = await createHistory(client.tenant, client.tree).restoreAt(new Date(state.time));
      const label = JSON.stringify({ kind, seed, restores, outcome });
      const what = outcome.changes.length === 0 ? 'nothing' : 'written';
      expect(outcome, label).toMatchObject({ outcome: what, left: [] });
      expect(sorted(await filesOf(client)), label).toEqual(sorted(state.files));
      files = state.files;
      restores += 1;
      restored += 1;
    }
    await note();
  }
  await site.base[Symbol.asyncDispose]();
}

describe('any state of a run', { timeout: 120_000 }, () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
    'is restored byte for byte, seed %d',
    (seed) => play(STORE_KINDS[seed % 2] ?? 'guarded', seed),
  );
});

afterAll(() => {
  expect(restored).toBe(STATES);
  sayProved(`${restored} states were restored`);
});
