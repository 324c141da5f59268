import { once } from '../time.ts';
import type { Call } from '../tree/session.ts';

/** Stands around every call. */
export type Run = <T>(call: () => Promise<T>, options: Call) => Promise<T>;

/** Returns what calls a target that is loaded by the first call, within `run`, so that a close waits for it. */
export function callLazily<Target>(
  run: Run,
  load: () => Promise<Target>,
): <T>(act: (target: Target) => Promise<T>, options?: Call) => Promise<T> {
  const loaded = once(load);
  return (act, options = {}) => run(async () => act(await loaded()), options);
}
