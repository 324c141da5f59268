import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';
import { type CustomerServices, startCustomerServices } from '../attacks/customer-services.ts';
import {
  type ChildEnd,
  type CrashChild,
  describeBoundary,
  everyBoundaryOf,
  type Fate,
  startLifecycleChild,
} from '../crashes/crash-child.ts';
import { SHARED } from '../crashes/deeds.ts';
import { fillTenant, OLD_ROOT, versionsIn } from '../crashes/lifecycle-verbs.ts';
import { stateOf, withTenant } from '../crashes/tenant-state.ts';
import { type DoneDeed, judgeDeeds, startWriter, type WriterChild } from '../crashes/writer-child.ts';
import { amount } from '../runner/thorough.ts';
import { createChance } from '../simulation/chance.ts';
import { at, bytes } from '../stage/test-tree.ts';
import type { CrashSite } from './crashes.ts';
import type { LifecycleSite } from './lifecycle-crashes.ts';

const WRITERS = amount({ usual: 4, thorough: 8 });
const WRITER_TTL_MS = 400;
/** A try at length takes six minutes on two cores that do nothing else. */
const SLOW = 1_200_000;

/** A writer of one name after the other, each begun when the one before was killed. */
interface Seat {
  writer: WriterChild;
  /** Counts what the settings said when it began. */
  readonly since: number;
}

/**
 * Describes what becomes of a tenant whose root key is moved, from the team's to a customer's and on to another of his,
 * while processes write and are killed, and `rewrap-root` is killed at its requests.
 *
 * @param step the distance from one place where `rewrap-root` is killed to the next one.
 */
export function describeMovedKeys(
  title: string,
  newSite: (site: LifecycleSite) => CrashSite,
  { step }: { readonly step: number },
): void {
  describe(`${title}, with a root key that is moved under load`, { timeout: SLOW }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-moved-'));
    const children: CrashChild[] = [];
    const started: WriterChild[] = [];
    let services: CustomerServices;
    beforeEach(async () => {
      services = await startCustomerServices();
    });
    afterEach(async () => {
      for (const child of children) child.kill();
      for (const writer of started) writer.signal('SIGKILL');
      vi.unstubAllEnvs();
      await services[Symbol.asyncDispose]();
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it('loses no edit that was acknowledged, rewrites keyrings alone, and repeats every step that was killed', async () => {
      const chance = createChance(title);
      const his = await services.createKey('KMS, disabled');
      const next = await services.createKey('Transit, no policy');
      const siteOf = (...rootKeys: readonly string[]): CrashSite =>
        newSite({ tenant: 'moved', names: 'encrypted', rootKeys });
      const ours = siteOf(OLD_ROOT);
      for (const [name, value] of Object.entries({ ...services.environment, ...ours.env })) {
        if (!name.startsWith('SEALED_MEMORY_')) vi.stubEnv(name, value);
      }
      await fillTenant(ours.options);
      await withTenant(ours.options, async ({ tree }) => {
        for (const path of SHARED) await tree.create(at(path), bytes(''));
      });
      const before = await stateOf(ours.options);

      const path = join(folder, 'tenants.json');
      let settings = 0;
      /** Says in the settings of the tenant which root keys count, as an operator does: whole, by one rename. */
      const configure = (...rootKey: readonly string[]): void => {
        writeFileSync(`${path}.new`, JSON.stringify({ moved: { rootKey } }), { mode: 0o600 });
        renameSync(`${path}.new`, path);
        settings++;
      };
      const env = { ...services.environment, ...ours.env, SEALED_MEMORY_TENANTS: `file:${path}` };
      const deeds: DoneDeed[] = [];
      let begun = 0;
      const seat = (): Seat => {
        const writer = startWriter({ env, name: `writer-${begun++}`, ttlMs: WRITER_TTL_MS, deeds: 'edits' });
        started.push(writer);
        return { writer, since: settings };
      };
      const kill = async (index: number): Promise<void> => {
        const left = seats[index];
        if (left === undefined) return;
        left.writer.signal('SIGKILL');
        seats[index] = seat();
        deeds.push(...(await left.writer.stop()));
      };
      const advanceAll = async (count: number): Promise<void> => {
        await Promise.all(seats.map(({ writer }) => writer.progress(count)));
      };
      /** Has every writer go on by the settings as they are now. */
      const rollOut = async (): Promise<void> => {
        for (const [index, { since }] of seats.entries()) {
          if (since < settings) await kill(index);
        }
        await advanceAll(1);
      };

      /** Runs `rewrap-root` in a process of its own, and kills a writer meanwhile. */
      const rewrap = async (rootKeys: readonly string[], fate?: Fate): Promise<ChildEnd> => {
        const child = startLifecycleChild({
          env: { ...services.environment, ...siteOf(...rootKeys).env },
          task: { verb: 'rewrap-root' },
          fate,
        });
        children.push(child);
        await sleep(500 * chance.fraction());
        await kill(chance.between(0, WRITERS - 1));
        return child.ended;
      };
      const failed: unknown[] = [];
      const written = new Set<string>();
      /** Runs it to its end, and looks whether the first key wraps then. */
      const finish = async (rootKeys: readonly string[], where: string): Promise<ChildEnd> => {
        const end = await rewrap(rootKeys);
        const [rootId] = rootKeys;
        const rewrapped = end.report?.content as { readonly rootId?: string } | undefined;
        if (end.report?.code !== undefined || !isFor(rewrapped?.rootId, rootId)) {
          failed.push({ where, ...end.report });
        }
        // A bucket is asked first whether it keeps conditions, by an object that is no tenant's.
        const isOfTenant = (name: string) => !/^(get|head|list) | probe$/.test(name);
        for (const name of end.report?.requests.filter(isOfTenant) ?? []) written.add(name);
        return end;
      };

      configure(OLD_ROOT);
      const seats: Seat[] = Array.from({ length: WRITERS }, seat);
      let killed = 0;
      const moves = [
        [OLD_ROOT, his.rootKey],
        [his.rootKey, next.rootKey],
      ] as const;
      for (const [move, [from, to]] of moves.entries()) {
        configure(to, from);
        await rollOut();
        const { report } = await finish([to, from], 'without a kill');
        // One move kills at other places than the next one.
        const places = everyBoundaryOf(report?.requests ?? []).filter(
          (_, index) => index % step === move % step,
        );
        // Back and forth, so that each has something to do.
        for (const [index, boundary] of places.entries()) {
          const keys = index % 2 === 0 ? [from, to] : [to, from];
          const { signal } = await rewrap(keys, { signal: 'SIGKILL', at: boundary });
          if (signal === 'SIGKILL') killed++;
          await finish(keys, describeBoundary(boundary));
        }
        await finish([to, from], 'in the end');
        configure(to);
        await rollOut();
      }
      await his.disable();
      await advanceAll(3);
      deeds.push(...(await Promise.all(seats.map(({ writer }) => writer.stop()))).flat());

      const state = await stateOf(siteOf(next.rootKey).options);
      expect(failed).toEqual([]);
      expect(killed).toBeGreaterThanOrEqual(amount({ usual: 2, thorough: 6 }));
      expect(written).toEqual(new Set(['put keyring']));
      expect(judgeDeeds(deeds, state)).toEqual({ refused: [], lost: [], doubled: [], unmoved: [] });
      expect(deeds.filter(({ outcome }) => outcome === 'done').length).toBeGreaterThan(WRITERS * 3);
      expect(deeds.filter(({ outcome }) => outcome === 'cut off').length).toBeGreaterThan(0);
      // No tenant key was made, and what no writer has touched lies there as it did.
      expect(state.keys).toEqual(before.keys);
      expect(versionsIn(state)).toEqual(new Set([1]));
      const untouched = Object.keys(before.files).filter((file) => !SHARED.includes(file));
      for (const name of untouched) expect(state.records[name]).toEqual(before.records[name]);
      // Neither our key nor the one that he has left opens anything.
      for (const left of [OLD_ROOT, his.rootKey]) {
        const { options } = siteOf(left);
        await expect(openMemory(options)).rejects.toMatchObject({ code: 'key_unavailable' });
      }
    });
  });
}

function isFor(rootId: string | undefined, rootKey: string | undefined): boolean {
  return rootKey === OLD_ROOT ? rootId?.startsWith('env') === true : rootId === rootKey;
}
