import { setTimeout as sleep } from 'node:timers/promises';
import pLimit, { type LimitFunction } from 'p-limit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseMemoryPath } from '../../src/language/path.ts';
import { openTenant } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import type { OpenTenant } from '../../src/open/wire-tenant.ts';
import {
  type Boundary,
  boundariesOf,
  type CrashChild,
  describeBoundary,
  type Fate,
  someOf,
  startCrashChild,
} from '../crashes/crash-child.ts';

/** The place where the memories of a fresh tenant lie, which outlive their processes. */
export interface CrashSite {
  readonly options: MemoryOptions;
  /** How a process of its own opens the same memory. */
  readonly env: Readonly<Record<string, string>>;
}

/** Every file of a memory with its text. */
type Tree = Readonly<Record<string, string>>;

const FROM = '/memories/from';
const TO = '/memories/new/to';
const NAMES: readonly string[] = ['a', 'b/c', 'b/d'];
const BESIDE: Tree = { '/memories/from-here': 'beside' };
const UNMOVED: Tree = { ...BESIDE, ...filesIn(FROM) };
const MOVED: Tree = { ...BESIDE, ...filesIn(TO) };
const RENAME = { command: 'rename', old_path: FROM, new_path: TO };
const DELETE = { command: 'delete', path: FROM };
/** The lease, and a second for each of the two times that S3 tells in whole seconds. */
export const LEASE_OVER_MS = 12_000;
const SLOW = 240_000;
/** Processes that start at once, of all suites of a file. */
export const limit: LimitFunction = pLimit(4);

/**
 * Describes what becomes of a directory when its rename or delete is cut off, by death or by a long sleep: at every
 * `step`th change and at the last.
 */
export function describeCrashes(
  title: string,
  { newSite, step }: { readonly newSite: (tenant: string) => CrashSite; readonly step: number },
): void {
  describe.concurrent(`${title}, with processes that end anywhere`, { timeout: SLOW }, () => {
    const children: CrashChild[] = [];
    let renameRequests: readonly string[];
    let deleteRequests: readonly string[];

    const start = (site: CrashSite, command: unknown, fate?: Fate): CrashChild => {
      const child = startCrashChild({ env: site.env, command, ...(fate && { fate }) });
      children.push(child);
      return child;
    };
    const prepared = async (tenant: string): Promise<CrashSite> => {
      const site = newSite(tenant);
      await inMemory(site, async ({ tree }) => {
        for (const [path, text] of Object.entries(UNMOVED)) await tree.create(at(path), bytes(text));
      });
      return site;
    };
    const requestsOf = async (tenant: string, command: unknown): Promise<readonly string[]> => {
      const { report } = await start(await prepared(tenant), command).ended;
      if (report === undefined || report.code !== undefined) throw new Error('the process did not succeed');
      return report.requests;
    };
    /** Halts a process at each boundary, every one in a tenant of its own. */
    const haltAtEach = async (
      prefix: string,
      command: unknown,
      fates: readonly Fate[],
    ): Promise<readonly Halted[]> =>
      Promise.all(
        fates.map((fate, i) =>
          limit(async () => {
            const site = await prepared(`${prefix}-${i}`);
            const child = start(site, command, fate);
            await child.halted;
            return { site, child, where: describeBoundary(fate.at) };
          }),
        ),
      );

    beforeAll(async () => {
      renameRequests = await requestsOf('whole-rename', RENAME);
      deleteRequests = await requestsOf('whole-delete', DELETE);
    });
    afterAll(() => {
      for (const child of children) child.kill();
    });

    it('has a killed rename of a directory wholly done or wholly undone', async () => {
      const halted = await haltAtEach(
        'killed-rename',
        RENAME,
        fatesOf('SIGKILL', someOf(boundariesOf(renameRequests), step)),
      );
      for (const { site, child, where } of halted) {
        expect((await child.ended).signal, where).toBe('SIGKILL');
        expect(filesFoundIn(await treeOf(site)), `at once, ${where}`).toEqual([...NAMES, 'beside']);
      }
      await sleep(LEASE_OVER_MS);
      const trees = await Promise.all(
        halted.map(({ site, where }) =>
          limit(async () => {
            const tree = await treeOf(site);
            expect([MOVED, UNMOVED], where).toContainEqual(tree);
            expect(await treeOf(site), `a second look, ${where}`).toEqual(tree);
            return tree;
          }),
        ),
      );
      expect(isMoved(trees.at(0))).toBe(false);
      expect(isMoved(trees.at(-1))).toBe(true);
      // A process can work with the recovered directory as if nothing had happened.
      await Promise.all(
        halted.map(({ site, where }, i) =>
          limit(async () => {
            const from = at(isMoved(trees[i]) ? TO : FROM);
            await inMemory(site, ({ tree }) => tree.rename({ from, to: at('/memories/last') }));
            expect(await treeOf(site), where).toEqual({ ...BESIDE, ...filesIn('/memories/last') });
          }),
        ),
      );
    });

    it('has a killed delete of a directory leave whole files, and the next one finish', async () => {
      const halted = await haltAtEach(
        'killed-delete',
        DELETE,
        fatesOf('SIGKILL', someOf(boundariesOf(deleteRequests), step)),
      );
      for (const { site, child, where } of halted) {
        expect((await child.ended).signal, where).toBe('SIGKILL');
        const left = await treeOf(site);
        expect(UNMOVED, where).toMatchObject(left);
        expect(left, where).toMatchObject(BESIDE);
        await inMemory(site, async ({ tree }) => {
          const removing = tree.remove(at(FROM));
          if (Object.keys(left).length > 1) await removing;
          else await expect(removing, where).rejects.toMatchObject({ code: 'not_found' });
          await tree.create(at(`${FROM}/next`), bytes('next'));
        });
        expect(await treeOf(site), where).toEqual({ ...BESIDE, [`${FROM}/next`]: 'next' });
      }
    });

    it('has a process that slept through its lease spoil nothing of what others did meanwhile', async () => {
      const fates = fatesOf('SIGSTOP', someOf(distinct(boundariesOf(renameRequests)), step));
      const halted = await haltAtEach('frozen-rename', RENAME, fates);
      await sleep(LEASE_OVER_MS);
      await Promise.all(
        halted.map(async ({ site, child, where }) => {
          const recovered = await treeOf(site);
          expect([MOVED, UNMOVED], where).toContainEqual(recovered);
          const expected = await workOn(site, recovered);
          expect(await treeOf(site), `before it wakes, ${where}`).toEqual(expected);
          child.thaw();
          const { signal, report } = await child.ended;
          expect(signal, where).toBeNull();
          const finished = isMoved(recovered) ? expected : rebased(expected);
          const told = `${where}: ${String(report?.content)}`;
          expect(await treeOf(site), told).toEqual(report?.code === undefined ? finished : expected);
        }),
      );
    });

    it('lets one of two renames onto one target win and loses no file', async () => {
      const site = await prepared('two-renames');
      const other = '/memories/other';
      await inMemory(site, async ({ tree }) => {
        for (const [path, text] of Object.entries(filesIn(other))) await tree.create(at(path), bytes(text));
      });
      const ends = await Promise.all(
        [FROM, other].map((old_path) => start(site, { ...RENAME, old_path }).ended),
      );
      const codes = ends.map(({ report }) => report?.code);
      expect(new Set(codes)).toEqual(new Set([undefined, 'already_exists']));
      const loser = codes[0] === undefined ? other : FROM;
      expect(await treeOf(site)).toEqual({ ...BESIDE, ...filesIn(TO), ...filesIn(loser) });
    });
  });
}

interface Halted {
  readonly site: CrashSite;
  readonly child: CrashChild;
  readonly where: string;
}

function fatesOf(signal: Fate['signal'], boundaries: readonly Boundary[]): readonly Fate[] {
  return boundaries.map((boundary) => ({ signal, at: boundary }));
}

/** Those of the register, and of several changes of files in a row those of the first. */
function distinct(boundaries: readonly Boundary[]): readonly Boundary[] {
  return boundaries.filter(({ name, request }) => {
    const previous = boundaries.findLast((other) => other.request < request);
    return previous?.name !== name || name === 'put journal';
  });
}

/**
 * Does what another process does while the first one sleeps: it makes new files at the source and edits the files
 * wherever they are.
 */
async function workOn(site: CrashSite, recovered: Tree): Promise<Tree> {
  const edited = `${isMoved(recovered) ? TO : FROM}/b/c`;
  const expected: Record<string, string> = {
    ...recovered,
    [edited]: `${recovered[edited]}, edited`,
    [`${FROM}/new`]: 'new',
  };
  await inMemory(site, async ({ tree }) => {
    await tree.edit(at(edited), () => ({ content: bytes(expected[edited] ?? ''), result: undefined }));
    await tree.create(at(`${FROM}/new`), bytes('new'));
    if (!isMoved(recovered)) return;
    try {
      await tree.create(at(`${FROM}/a`), bytes('another'));
      expected[`${FROM}/a`] = 'another';
    } catch (error) {
      // The sleeper's tombstone lies there, and no process may touch it yet.
      expect(error).toMatchObject({ code: 'unavailable' });
    }
  });
  return expected;
}

/** The tree after all files of the source went to the target. */
function rebased(tree: Tree): Tree {
  return Object.fromEntries(
    Object.entries(tree).map(([path, text]) => [path.replace(`${FROM}/`, `${TO}/`), text]),
  );
}

function filesIn(directory: string): Tree {
  return Object.fromEntries(NAMES.map((name) => [`${directory}/${name}`, `text of ${name}`]));
}

/** The files whose text lies anywhere. */
function filesFoundIn(tree: Tree): readonly string[] {
  const texts = new Set(Object.values(tree));
  return [
    ...NAMES.filter((name) => texts.has(`text of ${name}`)),
    ...(texts.has('beside') ? ['beside'] : []),
  ];
}

function isMoved(tree: Tree | undefined): boolean {
  return tree?.[`${TO}/a`] !== undefined;
}

/**
 * Answers what a memory opened for this alone finds; it can read everything that it lists, and nothing else lies there.
 */
async function treeOf(site: CrashSite): Promise<Tree> {
  return inMemory(site, async ({ tree }) => {
    const { files, foreign } = await tree.list(at('/memories'));
    expect(foreign).toBe(0);
    const texts: Record<string, string> = {};
    for (const { path } of files) texts[path] = new TextDecoder().decode(await tree.read(path));
    return texts;
  });
}

async function inMemory<T>(site: CrashSite, work: (parts: OpenTenant) => Promise<T>): Promise<T> {
  const { parts, close } = await openTenant(site.options);
  try {
    return await work(parts);
  } finally {
    await close();
  }
}

function at(path: string) {
  return parseMemoryPath(path);
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
