import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { NameMode } from '../../src/format/names.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import { type CrashChild, type Fate, startLifecycleChild } from '../crashes/crash-child.ts';
import { SHARED } from '../crashes/deeds.ts';
import type { LifecycleTask } from '../crashes/lifecycle-task.ts';
import { OLD_ROOT, versionsIn } from '../crashes/lifecycle-verbs.ts';
import { stateOf, withTenant } from '../crashes/tenant-state.ts';
import { judgeDeeds, startWriter, type WriterChild } from '../crashes/writer-child.ts';
import { createChance } from '../simulation/chance.ts';
import { at, bytes } from '../stage/test-tree.ts';
import type { CrashSite } from './crashes.ts';
import type { LifecycleSite } from './lifecycle-crashes.ts';

const WRITER_TTL_MS = 400;
/** Twice as long as the longest that a writer stands still or holds its keyring. */
const TTL_MS = 2_000;
const FREEZE_MS = 1_000;
const SLOW = 240_000;

/** Describes what becomes of writers, some of which die or stand still, while verbs that die run on their tenant. */
export function describeLifecycleLife(title: string, newSite: (site: LifecycleSite) => CrashSite): void {
  describe.concurrent(`${title}, with writers that go on meanwhile`, { timeout: SLOW }, () => {
    const children: CrashChild[] = [];
    const writers: WriterChild[] = [];
    afterAll(() => {
      for (const child of children) child.kill();
      for (const writer of writers) writer.signal('SIGKILL');
    });

    const write = async ({ env }: CrashSite, name: string): Promise<WriterChild> => {
      const writer = startWriter({ env, name, ttlMs: WRITER_TTL_MS });
      writers.push(writer);
      await writer.progress(2);
      return writer;
    };
    const start = ({ env }: CrashSite, task: LifecycleTask, fate?: Fate): CrashChild => {
      const child = startLifecycleChild({ env, task, fate });
      children.push(child);
      return child;
    };
    const finish = async (site: CrashSite, task: LifecycleTask): Promise<unknown> => {
      const { report } = await start(site, task).ended;
      expect(report?.code).toBeUndefined();
      return report?.content;
    };
    const shared = async (tenant: string, names: NameMode): Promise<CrashSite> => {
      const site = newSite({ tenant, names, rootKeys: [OLD_ROOT] });
      await withTenant(site.options, async ({ tree }) => {
        for (const path of SHARED) await tree.create(at(path), bytes(''));
      });
      return site;
    };

    it.each<NameMode>(['encrypted', 'plain'])(
      'loses nothing that was acknowledged while keys were rotated and retired and objects migrated, with %s names',
      async (names) => {
        const site = await shared(`life-${names}`, names);
        const chance = createChance(`${title} ${names}`);
        const [mortal, sleeper] = await Promise.all([write(site, 'mortal'), write(site, 'sleeper')]);

        // The keys change once while a writer stands still and another one dies …
        await finish(site, { verb: 'rotate' });
        const migration: LifecycleTask = {
          verb: 'migrate',
          wait: true,
          ttlMs: TTL_MS,
          aheadMs: 120_000,
          amongOthers: true,
        };
        const migrating = finish(site, migration);
        sleeper.signal('SIGSTOP');
        await sleep(FREEZE_MS * chance.fraction());
        mortal.signal('SIGKILL');
        await sleep(FREEZE_MS / 2);
        sleeper.signal('SIGCONT');
        const heir = await write(site, 'heir');
        expect(await migrating).toMatchObject({ retired: [1], problems: [] });

        // … and once more while the migration dies, too.
        await finish(site, { verb: 'rotate', force: true });
        const doomed = start(site, { ...migration, reencrypt: true });
        await sleep(1_000 + 2_000 * chance.fraction());
        doomed.kill();
        await doomed.ended;
        expect(await finish(site, { ...migration, reencrypt: true })).toMatchObject({
          retired: [2],
          problems: [],
        });
        await Promise.all([sleeper, heir].map((writer) => writer.progress(8)));

        const deeds = (await Promise.all([mortal, sleeper, heir].map((writer) => writer.stop()))).flat();
        const state = await stateOf(site.options);
        expect(state).toMatchObject({ keys: [3], epoch: 5 });
        expect(versionsIn(state)).toEqual(new Set([3]));
        expect(judgeDeeds(deeds, state)).toEqual({ refused: [], lost: [], doubled: [], unmoved: [] });
      },
    );

    it('makes everything unreadable to a writer that goes on, within a time to live', async () => {
      const site = await shared('life-shred', 'encrypted');
      const writer = await write(site, 'writer');
      const shred: LifecycleTask = { verb: 'shred', ttlMs: TTL_MS };
      const doomed = start(site, shred);
      await using admin = await openAdmin(site.options);
      while ((await admin.keyStatus()).state !== 'shredded') await sleep(50);
      doomed.kill();
      expect((await doomed.ended).signal).toBe('SIGKILL');
      expect(await finish(site, shred)).toMatchObject({ marked: false });
      // A command that was under way may still end well.
      await writer.progress(1);
      const since = writer.ended.length;
      await writer.progress(6);
      const deeds = await writer.stop();
      expect(deeds[0]?.outcome).toBe('done');
      expect(new Set(deeds.slice(since).map(({ outcome }) => outcome))).toEqual(new Set(['key_unavailable']));
      expect(await admin.keyStatus()).toEqual({ state: 'shredded' });
    });
  });
}
