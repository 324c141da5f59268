import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import {
  type Boundary,
  type ChildEnd,
  everyBoundaryOf,
  startSessionChild,
} from '../../crashes/crash-child.ts';
import { batchesOf, COUNT, KEY, uuidOf } from './session-load.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-killed-append-'));
const rootKey = randomBytes(32).toString('base64');
afterAll(() => rmSync(directory, { recursive: true }));

const SLOW = 240_000;

interface Site {
  readonly run: (worker: string, killedAt?: Boundary) => Promise<ChildEnd>;
  /** The uuids, in order, as one more process finds them; its list counts as many lines. */
  readonly load: () => Promise<readonly string[]>;
  /** Appends once more, in this process, all that a worker had to. */
  readonly resume: (worker: string) => Promise<void>;
}

function newSite(name: string): Site {
  const options = { store: `sqlite:${join(directory, `${name}.db`)}`, tenant: 'acme', rootKey };
  const env = {
    SEALED_MEMORY_STORE: options.store,
    SEALED_MEMORY_TENANT: options.tenant,
    SEALED_MEMORY_ROOT_KEY: rootKey,
  };
  return {
    run: (worker, at) =>
      startSessionChild({ env, worker, ...(at && { fate: { signal: 'SIGKILL', at } }) }).ended,
    async load() {
      await using memory = await openMemory(options);
      const found = ((await memory.sessions.load(KEY)) ?? []).map(uuidOf);
      const listed = await memory.sessions.list(KEY.projectKey, { fold: COUNT });
      expect(listed.map(({ summary }) => summary)).toEqual(found.length === 0 ? [] : [found.length]);
      return found;
    },
    async resume(worker) {
      await using memory = await openMemory(options);
      for (const lines of batchesOf(worker)) await memory.sessions.append(KEY, lines, { fold: COUNT });
    },
  };
}

const uuidsOf = (batches: readonly (readonly string[])[]): readonly string[] => batches.flat().map(uuidOf);
const storedBy = ({ lines }: ChildEnd): number => lines.filter((line) => line === 'stored').length;

/** The same at every run; each seed another one. */
function chosenBy(seed: number, boundaries: readonly Boundary[]): Boundary | undefined {
  return boundaries[(seed * 2_654_435_761) % boundaries.length];
}

describe('a process that is killed while it appends', { timeout: SLOW }, () => {
  it('leaves to the seven others, some of them killed too, and to those who go on for them, every line once', async () => {
    const { report } = await newSite('alone').run('w');
    const boundaries = everyBoundaryOf(report?.requests ?? []);
    const site = newSite('eight');
    const workers = Array.from({ length: 8 }, (_, index) => `w${index}`);
    const work = workers.map(async (worker, index) => {
      let stored = 0;
      for (let life = 0; ; life++) {
        // The last life is a whole one; some workers have no other.
        const end = await site.run(
          worker,
          life < index % 3 ? chosenBy(index * 3 + life, boundaries) : undefined,
        );
        stored = Math.max(stored, storedBy(end));
        if (end.signal === null) return { lives: life + 1, stored };
      }
    });
    const ended = await Promise.all(work);
    expect(ended.map(({ lives }) => lives).some((lives) => lives > 1)).toBe(true);
    const found = await site.load();
    const expected = workers.flatMap((worker) =>
      uuidsOf(batchesOf(worker)).filter((uuid) => uuid !== 'shared'),
    );
    expect(found.toSorted()).toEqual(['shared', ...expected].toSorted());
    for (const worker of workers) {
      const own = uuidsOf(batchesOf(worker)).filter((uuid) => uuid !== 'shared');
      expect(found.filter((uuid) => own.includes(uuid))).toEqual(own);
    }
  });
});
