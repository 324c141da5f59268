import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { crashProgram, PROGRAM_ENV } from '../stage/programs.ts';
import { type Deed, deedOf, EDIT_EVERY } from './deeds.ts';
import type { TenantState } from './tenant-state.ts';

const PROCESS = crashProgram('writer-process');

/** A deed and how it ended: `done`, the code of its failure, or `cut off` by the end of its process. */
export interface DoneDeed extends Deed {
  readonly outcome: string;
}

/** A process of its own that writes all the while. */
export interface WriterChild {
  /** The deeds that have ended so far; the one under way is left out. */
  readonly ended: readonly DoneDeed[];
  /** Resolves once so many deeds more have ended. */
  progress(deeds: number): Promise<void>;
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** Lets it finish what it is at. Resolves, as after a kill, with all that it did. */
  stop(): Promise<readonly DoneDeed[]>;
}

export function startWriter(given: {
  readonly env: Readonly<Record<string, string>>;
  readonly name: string;
  readonly ttlMs: number;
  /** The part of its deeds that it does: all of them, or edits of the shared files alone. */
  readonly deeds?: 'all' | 'edits';
}): WriterChild {
  const { env, name, ttlMs, deeds = 'all' } = given;
  const stride = deeds === 'all' ? 1 : EDIT_EVERY;
  const deed = (number: number): Deed => deedOf(name, number * stride);
  const child = spawn(process.execPath, [PROCESS, name, String(ttlMs), String(stride)], {
    env: { ...PROGRAM_ENV, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  const ended: DoneDeed[] = [];
  let begun = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'begun') begun += 1;
    else ended.push({ ...deed(ended.length), outcome: line });
  });
  let over = false;
  const closed = once(child, 'close').finally(() => {
    over = true;
  });
  return {
    ended,
    async progress(deeds) {
      for (const before = ended.length; ended.length < before + deeds; await sleep(20)) {
        if (over) throw new Error(`${name} has ended`);
      }
    },
    signal: (signal) => child.kill(signal),
    async stop() {
      child.stdin.end();
      await closed;
      if (begun > ended.length) ended.push({ ...deed(ended.length), outcome: 'cut off' });
      return ended;
    },
  };
}

/** Judges what was done against what is there. */
export function judgeDeeds(deeds: readonly DoneDeed[], { files }: Pick<TenantState, 'files'>) {
  const lines = Object.values(files)
    .flatMap((text) => text.split('\n'))
    .filter((line) => line !== '');
  const writes = deeds.filter(({ command }) => command.command !== 'rename');
  const texts = writes.map(({ text }) => text);
  const isOf = (outcome: string) => (deed: DoneDeed) => deed.outcome === outcome;
  // A rename that was cut off may leave files at both places.
  const torn = deeds.filter(isOf('cut off')).filter(({ command }) => command.command === 'rename');
  const isTorn = (text: string): boolean => torn.some((deed) => writerOf(deed.text) === writerOf(text));
  return {
    refused: deeds.filter(({ outcome }) => outcome !== 'done' && outcome !== 'cut off'),
    lost: writes.filter(isOf('done')).filter(({ text }) => !lines.includes(text)),
    doubled: texts.filter((text) => !isTorn(text) && lines.filter((line) => line === text).length > 1),
    unmoved: deeds
      .filter(isOf('done'))
      .filter(({ command }) => command.command === 'rename' && files[command.old_path] !== undefined),
  };
}

function writerOf(text: string): string | undefined {
  return text.split(',')[0];
}
