import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PROGRAM_ENV } from '../stage/programs.ts';
import { type Deed, deedOf } from './deeds.ts';

const PROCESS = fileURLToPath(new URL('writer-process.ts', import.meta.url));

/** A deed and how it ended: `done`, the code of its failure, or `cut off` by the end of its process. */
export interface DoneDeed extends Deed {
  readonly outcome: string;
}

/** A process of its own that writes all the while. */
export interface WriterChild {
  /** So far, the one under way left out. */
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
}): WriterChild {
  const { env, name, ttlMs } = given;
  const child = spawn(process.execPath, [PROCESS, name, String(ttlMs)], {
    env: { ...PROGRAM_ENV, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  const ended: DoneDeed[] = [];
  let begun = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'begun') begun += 1;
    else ended.push({ ...deedOf(name, ended.length), outcome: line });
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
      if (begun > ended.length) ended.push({ ...deedOf(name, ended.length), outcome: 'cut off' });
      return ended;
    },
  };
}
