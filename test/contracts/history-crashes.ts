import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { Finding } from '../../src/admin/findings.ts';
import type { HistoryEntry, WrittenEntry } from '../../src/history/past/entries.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import {
  type Boundary,
  boundariesOf,
  type ChildEnd,
  type CrashChild,
  describeBoundary,
  type Fate,
  someOf,
  startCrashChild,
} from '../crashes/crash-child.ts';
import { type CrashSite, LEASE_OVER_MS, limit } from './crashes.ts';

const [A, B, DIRECTORY, TARGET] = ['/memories/d/a', '/memories/d/b', '/memories/d', '/memories/e'];

/** The deeds that a process is at when it dies. */
const DEEDS: Readonly<Record<string, object>> = {
  'an edit': { command: 'str_replace', path: A, old_str: 'more', new_str: 'less' },
  'an overwrite': { command: 'create', path: A, file_text: 'overwritten' },
  'the delete of a file': { command: 'delete', path: A },
  'the delete of a directory': { command: 'delete', path: DIRECTORY },
  'the rename of a file': { command: 'rename', old_path: A, new_path: TARGET },
  'the rename of a directory': { command: 'rename', old_path: DIRECTORY, new_path: TARGET },
};
/** All that was acknowledged before. */
const TEXTS = ['a', 'a and', 'a and more', 'b'];
const SLOW = 240_000;

/**
 * That processes of a tenant that keeps history may end beside every `step`th change and the last, and leave no hole in
 * it.
 */
export function describeHistoryCrashes(
  title: string,
  { newSite, step }: { readonly newSite: (tenant: string) => CrashSite; readonly step: number },
): void {
  describe.concurrent(`the history of a tenant on ${title}, with processes that end anywhere`, {
    timeout: SLOW,
  }, () => {
    const children: CrashChild[] = [];
    afterAll(() => {
      for (const child of children) child.kill();
    });

    const start = ({ env }: CrashSite, command: object, fate?: Fate): CrashChild => {
      const acting = { ...env, SEALED_MEMORY_ON_EXISTS: 'overwrite', SEALED_MEMORY_ACTOR: 'the dying' };
      const child = startCrashChild({ env: acting, command, ...(fate && { fate }) });
      children.push(child);
      return child;
    };
    const prepared = async (tenant: string): Promise<CrashSite> => {
      const site = newSite(tenant);
      await using memory = await openMemory({ ...site.options, history: { days: 30 } });
      await memory.files.write(A, 'a');
      await memory.files.write(B, 'b');
      await memory.files.append(A, ' and');
      await memory.files.append(A, ' more');
      return site;
    };
    /** Runs the deed with a process that halts at each of the boundaries, every one in a tenant of its own. */
    const haltAtEach = async (
      name: string,
      command: object,
      { signal, choose }: { readonly signal: Fate['signal']; readonly choose: Choice },
    ): Promise<readonly Halted[]> => {
      const whole = await prepared(`${name}-whole`);
      const { report } = await start(whole, command).ended;
      expect(report?.code).toBeUndefined();
      expect(faultsOf(await look(whole.options), command)).toEqual([]);
      const boundaries = choose(boundariesOf(report?.requests ?? []));
      expect(boundaries.length).toBeGreaterThan(1);
      return Promise.all(
        boundaries.map((at, i) =>
          limit(async () => {
            const site = await prepared(`${name}-${i}`);
            const child = start(site, command, { signal, at });
            await child.halted;
            return { site, child, where: describeBoundary(at) };
          }),
        ),
      );
    };
    const chosen: Choice = (boundaries) => someOf(boundaries, step);

    it.each(Object.entries(DEEDS))('killed at %s', async (title, command) => {
      const name = `killed-${title.replaceAll(' ', '-')}`;
      const halted = await haltAtEach(name, command, { signal: 'SIGKILL', choose: chosen });
      if (isOfDirectory(command)) await sleep(LEASE_OVER_MS);
      await Promise.all(
        halted.map(({ site, child, where }) =>
          limit(async () => {
            expect((await child.ended).signal, where).toBe('SIGKILL');
            // It finishes or takes back what the dead process has begun.
            expect(faultsOf(await look(site.options), command), where).toEqual([]);
            // The recovered memory goes on as if nothing had happened.
            await using memory = await openMemory(site.options);
            const path = (await memory.files.exists(A)) ? A : '/memories/next';
            await memory.files.write(path, 'last');
            await memory.files.append(path, ' but one');
            const after = await look(site.options);
            expect(after.texts, where).toEqual(expect.arrayContaining([...TEXTS, 'last', 'last but one']));
            expect(after.missing, where).toEqual([]);
          }),
        ),
      );
    });

    it('frozen at the rename of a directory until another process has taken it over', async () => {
      const command = DEEDS['the rename of a directory'] ?? {};
      const choose: Choice = (boundaries) => {
        const first = boundaries.filter(
          ({ name, request }) => boundaries.findLast((other) => other.request < request)?.name !== name,
        );
        return step === 1 ? first : first.filter(({ side }) => side === 'after');
      };
      const halted = await haltAtEach('frozen', command, { signal: 'SIGSTOP', choose });
      await sleep(LEASE_OVER_MS);
      await Promise.all(
        halted.map(async ({ site, child, where }) => {
          const recovered = await limit(() => look(site.options));
          expect(faultsOf(recovered, command), where).toEqual([]);
          child.thaw();
          const told: ChildEnd = await child.ended;
          expect(told.signal, where).toBeNull();
          const after = await limit(() => look(site.options));
          expect(faultsOf(after, command), `${where}: ${String(told.report?.content)}`).toEqual([]);
        }),
      );
    });
  });
}

type Choice = (boundaries: readonly Boundary[]) => readonly Boundary[];

interface Halted {
  readonly site: CrashSite;
  readonly child: CrashChild;
  readonly where: string;
}

function isOfDirectory(command: object): boolean {
  return Object.values(command).includes(DIRECTORY);
}

/** The memory as a process finds it that has seen nothing before. */
interface Look {
  readonly paths: readonly string[];
  readonly entries: readonly HistoryEntry[];
  /** The texts of all versions, as they are read. */
  readonly texts: readonly string[];
  /** Versions that another one replaced, and that are nowhere. */
  readonly missing: readonly WrittenEntry[];
  readonly findings: readonly Finding[];
}

async function look(options: MemoryOptions): Promise<Look> {
  await using memory = await openMemory(options);
  await using admin = await openAdmin(options);
  const paths: string[] = [];
  for await (const { path } of memory.files.list('/memories', { recursive: true })) paths.push(path);
  const entries = await memory.history.list();
  const written = entries.flatMap((entry) => (entry.kind === 'written' ? [entry] : []));
  const names = new Set(written.map(({ version }) => version));
  const missing = written.filter(({ previous }) => previous !== undefined && !names.has(previous));
  const texts = await Promise.all(written.map((entry) => textOf(memory, entry)));
  return { paths, entries, texts, missing, findings: (await admin.verify()).findings };
}

async function textOf({ history }: Memory, entry: WrittenEntry): Promise<string> {
  return (await history.read(entry)).text();
}

/** Answers everything that is not as it must be, wherever the deed was cut off. */
function faultsOf({ paths, entries, texts, missing, findings }: Look, command: object): readonly unknown[] {
  const faults: unknown[] = TEXTS.filter((text) => !texts.includes(text)).map((text) => `no "${text}"`);
  faults.push(...missing);
  // Between its copy and its delete the rename of a file leaves it at two places, which is said.
  const isOfFile = 'new_path' in command && !isOfDirectory(command);
  faults.push(...findings.filter(({ kind }) => !(isOfFile && kind === 'duplicate')));
  const told = entries.flatMap((entry) =>
    entry.kind === 'written' ? [] : [`${entry.kind} ${entry.version} ${entry.path} ${'to' in entry}`],
  );
  faults.push(...told.filter((each, at) => told.indexOf(each) !== at).map((each) => `twice: ${each}`));
  // The history tells the rename of each file that lies below the target, and of no other file.
  const renamed = entries.flatMap((entry) => (entry.kind === 'renamed' ? [entry.to ?? ''] : []));
  if (!('new_path' in command) || isOfFile) return faults;
  const below = paths.filter((path) => path.startsWith(`${TARGET}/`));
  faults.push(...below.filter((path) => !renamed.includes(path)).map((path) => `not told: ${path}`));
  faults.push(...renamed.filter((path) => !below.includes(path)).map((path) => `never was: ${path}`));
  return faults;
}
