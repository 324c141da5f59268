import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCp } from '../../src/cli/files/cp.ts';
import { runImport } from '../../src/cli/files/import.ts';
import { runRm } from '../../src/cli/files/rm.ts';
import { runRedact } from '../../src/cli/history/redact.ts';
import { runRestoreVersion } from '../../src/cli/history/restore-version.ts';
import { runRestoreAt, runUndo } from '../../src/cli/history/undo-and-restore-at.ts';
import type { Invocation } from '../../src/cli/run/invocation.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { amount } from '../runner/thorough.ts';
import { invocationOf } from '../stage/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../stage/kept-memory.ts';
import type { Around } from '../stage/store-wrappers.ts';

/** Stands around each request of all memories that are open. */
const wire = vi.hoisted(() => ({ around: undefined as Around | undefined }));
vi.mock('../../src/store/open-store.ts', async (load) => {
  const { aroundStores } = await import('../stage/store-wrappers.ts');
  return aroundStores(await load<typeof import('../../src/store/open-store.ts')>(), wire);
});

const [PATH, NEW] = ['/memories/d/a.md', '/memories/d/new.md'];
const THEIRS = 'theirs\n';

interface Site {
  readonly kept: KeptMemory;
  readonly memory: Memory;
  /** With a file of the same name as the memory's, and another text. */
  readonly folder: string;
  /** Before the newest text of the file. */
  readonly then: string;
  /** The version before that. */
  readonly version: string;
}

type Verb = (run: Invocation, site: Site) => Promise<number>;
const ASKING: Readonly<Record<string, Verb>> = {
  'restore-at': (run, { then }) => runRestoreAt(then, { diff: true }, run),
  undo: (run) => runUndo('bad', { diff: true }, run),
  'undo --force': (run) => runUndo('bad', { diff: true, force: true }, run),
  restore: (run, { version }) => runRestoreVersion({ path: PATH, version }, run),
  redact: (run, { version }) => runRedact({ path: PATH, version }, run),
};
const UNASKED: Readonly<Record<string, Verb>> = {
  'rm -r': (run) => runRm(['/memories/d'], { recursive: true }, run),
  'cp -f': (run) => runCp({ from: '/memories/other.md', to: PATH }, { force: true }, run),
  'import --force': (run, { folder }) =>
    runImport({ from: folder, path: '/memories/d' }, { force: true }, run),
};

/** Deeds of another process, each done once. */
const DEEDS: Readonly<Record<string, (memory: Memory) => Promise<unknown>>> = {
  'writes the file': ({ files }) => files.write(PATH, THEIRS, { actor: 'bad' }),
  'creates a file': ({ files }) => files.write(NEW, THEIRS, { actor: 'bad' }),
  'renames the file, and writes another': async ({ files }) => {
    await files.rename(PATH, NEW, { actor: 'bad' });
    await files.write(PATH, THEIRS, { actor: 'bad' });
  },
};

async function openSite(): Promise<Site> {
  const kept = await openKeptMemory();
  const { memory } = kept;
  const { files, history } = memory;
  await files.write('/memories/other.md', 'other\n');
  await files.write(PATH, 'one\n', { actor: 'ann' });
  await files.write(PATH, 'two\n', { actor: 'ann' });
  const [now, before] = await history.list(PATH);
  await vi.waitUntil(() => Date.now() > (now?.time.getTime() ?? 0), { interval: 1 });
  const then = new Date().toISOString();
  await files.write(PATH, 'poison\n', { actor: 'bad' });
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-shown-'));
  writeFileSync(join(folder, 'a.md'), 'of the folder\n');
  return { kept, memory, folder, then, version: before?.version ?? '' };
}

/** Runs the verb while another process does that at one of its requests, counted from 0; how many there were. */
async function race(
  site: Site,
  { verb, deed, at }: { readonly verb: Verb; readonly deed: string; readonly at: number },
): Promise<{
  readonly requests: number;
  readonly hasWritten: boolean;
  readonly shown: string;
  readonly outcome: unknown;
}> {
  const { kept, memory } = site;
  let [requests, isTheirs, hasWritten] = [0, false, false];
  wire.around = async (_, proceed) => {
    if (isTheirs) return proceed();
    if (requests++ === at) {
      isTheirs = true;
      hasWritten = await (DEEDS[deed] ?? expect.unreachable())(memory).then(
        () => true,
        () => false,
      );
      isTheirs = false;
    }
    return proceed();
  };
  const { invocation, shown } = invocationOf({ flags: kept.flags, isForEyes: true, typed: 'yes\n' });
  const outcome = await verb(invocation, site).catch((error: unknown) => error);
  wire.around = undefined;
  const said = shown.join('');
  return { requests, hasWritten, shown: said.slice(0, said.indexOf('Type yes')), outcome };
}

const textAt = async ({ files }: Memory, path: string): Promise<string | undefined> =>
  (await files.read(path))?.text();

describe('what another process writes at any request of a verb', { timeout: 60_000 }, () => {
  let site: Site;
  beforeEach(async () => {
    site = await openSite();
  });
  afterEach(async () => {
    wire.around = undefined;
    await remove(site);
  });
  const remove = async ({ kept, folder }: Site): Promise<void> => {
    await kept.remove();
    rmSync(folder, { recursive: true });
  };
  const atEach = async (
    verb: Verb,
    deed: string,
    judge: (raced: Awaited<ReturnType<typeof race>>, at: number) => Promise<void>,
  ): Promise<void> => {
    const step = amount({ usual: 13, thorough: 1 });
    for (let at = 0; ; at += step) {
      const raced = await race(site, { verb, deed, at });
      if (raced.requests <= at) return expect(at).toBeGreaterThan(2);
      if (raced.hasWritten) await judge(raced, at);
      await remove(site);
      site = await openSite();
    }
  };

  const casesOf = (verbs: typeof ASKING) =>
    Object.keys(verbs).flatMap((name) => Object.keys(DEEDS).map((deed) => ({ name, deed })));

  it.each(casesOf(ASKING))(
    'is there, or was shown before $name went on: it $deed',
    async ({ name, deed }) => {
      const target = deed === 'creates a file' ? NEW : PATH;
      await atEach(ASKING[name] ?? expect.unreachable(), deed, async ({ shown, outcome }, at) => {
        if ((await textAt(site.memory, target)) === THEIRS) return;
        expect(shown, `${at}: ${outcome}`).toContain(THEIRS);
      });
    },
  );

  it.each(casesOf(UNASKED))('is there, or kept, whatever $name does: it $deed', async ({ name, deed }) => {
    await atEach(UNASKED[name] ?? expect.unreachable(), deed, async ({ outcome }, at) => {
      const { history } = site.memory;
      const written = (await history.list()).filter(({ kind }) => kind === 'written');
      const texts = await Promise.all(written.map(async (entry) => (await history.read(entry)).text()));
      expect(texts, `${at}: ${outcome}`).toContain(THEIRS);
    });
  });
});
