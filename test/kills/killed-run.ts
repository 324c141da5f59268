import { MemoryError } from '../../src/errors.ts';
import { amount } from '../runner/thorough.ts';
import type { Around } from '../stage/store-wrappers.ts';

/**
 * The place where a process dies: after `after` requests; it sends the next one only if that `reaches` the store, and
 * reads no answer.
 */
export interface Death {
  readonly after: number;
  readonly reaches: boolean;
}

/** Every place up to `requests` where a process can die between its requests and their answers. */
export function everyDeath(requests: number): readonly Death[] {
  return Array.from({ length: requests }, (_, after) => [
    { after, reaches: false },
    { after, reaches: true },
  ]).flat();
}

/** Those of them that the usual run tries, spread over all; every one with `TEST_THOROUGH=1`. */
export function someDeaths(requests: number): readonly Death[] {
  const step = amount({ usual: 5, thorough: 1 });
  return everyDeath(requests).filter((_, index) => index % step === 0);
}

/** The requests of a process that dies there: none after that one gets through, and none gets an answer. */
export function dieAt({ after, reaches }: Death): Around {
  let sent = 0;
  return async (call, proceed) => {
    // That a listing has ended is no request. A page that is asked for and not used changes nothing.
    const listed = call.verb === 'list' ? { page: await proceed() } : undefined;
    if (listed !== undefined && (listed.page as IteratorResult<unknown>).done === true) return listed.page;
    sent += 1;
    if (sent <= after) return listed === undefined ? proceed() : listed.page;
    if (sent === after + 1 && reaches && listed === undefined) await proceed();
    throw new MemoryError('aborted', 'the process is dead');
  };
}
