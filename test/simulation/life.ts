import { MemoryError } from '../../src/errors.ts';
import type { Pause } from '../../src/time.ts';
import type { Scheduler } from './scheduler.ts';
import type { Trace } from './trace.ts';

/** The event at the n-th boundary of a process; at a boundary it sends a request or takes an answer. */
export type Fate = { readonly boundary: number } & (
  | { readonly kind: 'kill' }
  | { readonly kind: 'freeze'; readonly ms: number }
);

/** The life of a simulated process, which runs, stands still for a while or is gone. */
export interface Life {
  readonly name: string;
  readonly alive: boolean;
  /** The number of boundaries that it has passed. */
  readonly boundaries: number;
  /** Passes a boundary; true where the process may do what it was about to do. */
  passes(): boolean;
  /** Runs the event inside the process: at once, or after it has thawed, or never. */
  resume(event: () => void): void;
  readonly pause: Pause;
  /** Milliseconds that stand still while the process is frozen. */
  monotonic(): number;
  kill(): void;
  /** Calls back when the process is killed. */
  onKill(callback: () => void): void;
}

export function createLife(world: {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly trace: Trace;
  readonly fates: readonly Fate[];
}): Life {
  const { name, scheduler, trace, fates } = world;
  let alive = true;
  const killed: (() => void)[] = [];
  let boundaries = 0;
  let thaw = Number.NEGATIVE_INFINITY;
  let stoodStill = 0;

  function kill(): void {
    if (!alive) return;
    trace.note(name, 'is killed');
    alive = false;
    for (const callback of killed) callback();
  }

  function freeze(ms: number): void {
    trace.note(name, `freezes for ${Math.round(ms)} ms`);
    const from = Math.max(thaw, scheduler.now());
    thaw = from + ms;
    stoodStill += ms;
  }

  function resume(event: () => void): void {
    if (!alive) return;
    const rest = thaw - scheduler.now();
    if (rest > 0) scheduler.after(rest, () => resume(event));
    else event();
  }

  return {
    name,
    get alive() {
      return alive;
    },
    get boundaries() {
      return boundaries;
    },
    passes() {
      if (!alive) return false;
      boundaries += 1;
      const fate = fates.find(({ boundary }) => boundary === boundaries);
      if (fate?.kind === 'kill') kill();
      if (fate?.kind === 'freeze') freeze(fate.ms);
      return alive;
    },
    resume,
    pause: (ms, signal) =>
      new Promise((resolve, reject) => {
        const aborted = (): void => reject(new MemoryError('aborted', 'The caller cancelled the call.'));
        if (signal?.aborted) return aborted();
        signal?.addEventListener('abort', aborted, { once: true });
        scheduler.after(ms, () =>
          resume(() => {
            signal?.removeEventListener('abort', aborted);
            resolve();
          }),
        );
      }),
    monotonic: () => scheduler.now() - stoodStill,
    kill,
    onKill(callback) {
      killed.push(callback);
    },
  };
}
