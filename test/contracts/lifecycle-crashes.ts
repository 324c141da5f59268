import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { afterAll, describe, expect, it } from 'vitest';
import type { NameMode } from '../../src/format/names.ts';
import {
  type Boundary,
  type ChildEnd,
  type CrashChild,
  describeBoundary,
  everyBoundaryOf,
  type Fate,
  startLifecycleChild,
} from '../crashes/crash-child.ts';
import {
  FILES,
  fillTenant,
  type LifecycleVerb,
  OLD_ROOT,
  type Place,
  VERBS,
} from '../crashes/lifecycle-verbs.ts';
import { stateOf } from '../crashes/tenant-state.ts';
import { type Chance, createChance } from '../simulation/chance.ts';
import type { CrashSite } from './crashes.ts';

/** A fresh tenant, for the test's process and for processes of their own. */
export interface LifecycleSite {
  readonly tenant: string;
  readonly names: NameMode;
  /** The first wraps, all unwrap. */
  readonly rootKeys: readonly string[];
}

const SLOW = 240_000;
/** Processes at once. */
const limit = pLimit(4);

/**
 * Describes what becomes of a verb whose process is killed at each of its requests, or at `kills` of them by chance,
 * and that is then run once more.
 */
export function describeLifecycleCrashes(
  title: string,
  { newSite, kills }: { readonly newSite: (site: LifecycleSite) => CrashSite; readonly kills: number },
): void {
  describe.concurrent(`${title}, with verbs that are killed anywhere`, { timeout: SLOW }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-restored-'));
    const children: CrashChild[] = [];
    afterAll(() => {
      for (const child of children) child.kill();
      rmSync(folder, { recursive: true, force: true });
    });

    const run = async (verb: LifecycleVerb, place: Prepared, fate?: Fate): Promise<ChildEnd> => {
      const child = startLifecycleChild({ env: place.site.env, task: verb.task(place.to), fate });
      children.push(child);
      return child.ended;
    };

    /** A tenant under the old root key. */
    const prepare = async (verb: LifecycleVerb, number: number): Promise<Prepared> => {
      const tenant = `${verb.title.replaceAll(' ', '-')}-${number}`;
      const names: NameMode = number % 2 === 0 ? 'encrypted' : 'plain';
      const old = newSite({ tenant, names, rootKeys: [OLD_ROOT] });
      await fillTenant(old.options);
      const before = await stateOf(old.options);
      expect(before).toMatchObject({ files: FILES, keys: [1], epoch: 1, findings: [] });
      await verb.prepare?.(old.options);
      const site = newSite({ tenant, names, rootKeys: verb.rootKeys ?? [OLD_ROOT] });
      return { site, before, to: join(folder, tenant) };
    };

    const check = async (given: Prepared, end: ChildEnd, where: string): Promise<Place> => {
      expect(end.signal, where).toBeNull();
      expect(end.report?.code, where).toBeUndefined();
      return { ...given, options: given.site.options, report: end.report?.content, where };
    };

    it.each(VERBS)('has a $title end the same when it is run again', async (verb) => {
      const whole = await limit(() => prepare(verb, 0));
      const end = await limit(() => run(verb, whole));
      await verb.expectDone(await check(whole, end, 'without a kill'));
      const requests = end.report?.requests ?? [];
      const boundaries = shuffle(requests, { kills, chance: createChance(`${title} ${verb.title}`) });
      let number = 0;
      const killOne = async (): Promise<void> => {
        const boundary = boundaries.shift();
        if (boundary === undefined)
          throw new Error('the processes came to their ends before they were killed');
        const given = await prepare(verb, ++number);
        const where = describeBoundary(boundary);
        const killed = await run(verb, given, { signal: 'SIGKILL', at: boundary });
        // How often it looks at what others do depends on time: it may have come to its end with fewer requests.
        if (killed.signal === null) return killOne();
        expect(killed.signal, where).toBe('SIGKILL');
        const { options } = given.site;
        await verb.expectMeanwhile({ ...given, options, report: undefined, where });
        await verb.expectDone(await check(given, await run(verb, given), where));
      };
      const deaths = Math.min(kills, boundaries.length);
      await Promise.all(Array.from({ length: deaths }, () => limit(killOne)));
    });
  });
}

interface Prepared extends Pick<Place, 'before' | 'to'> {
  readonly site: CrashSite;
}

/** Every boundary by chance; of the first ones most are at writes of the keyring and other changes. */
function shuffle(
  requests: readonly string[],
  { kills, chance }: { readonly kills: number; readonly chance: Chance },
): Boundary[] {
  const rank = ({ name }: Boundary): number =>
    name === 'put keyring' ? 0 : /^(put|delete) /.test(name) ? 1 : 2;
  const shuffled = everyBoundaryOf(requests)
    .map((boundary) => ({ boundary, order: chance.fraction() }))
    .sort((a, b) => a.order - b.order)
    .map(({ boundary }) => boundary);
  const changes = shuffled.filter((boundary) => rank(boundary) < 2).sort((a, b) => rank(a) - rank(b));
  const chosen = changes.slice(0, Math.ceil(kills / 2));
  const rest = shuffled.filter((boundary) => !chosen.includes(boundary));
  return [...chosen, ...rest];
}
