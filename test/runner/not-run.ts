import { isCi } from '../../infra/local/programs/install-options.ts';

/** Stands in a line between a suite and the reason for which it did not run. */
const DID_NOT_RUN = ' did NOT RUN: ';

/**
 * Tells whether a suite is skipped, because what it stands on was not found. Then it says so, with the reason; the last
 * lines of the run say it again (`closing-lines.ts`).
 *
 * @param found what the suite stands on, or the `reason` for which that is missing.
 * @throws Error in CI, where every suite must run.
 */
export function isNotRun(suite: string, found: object): boolean {
  if (!('reason' in found)) return false;
  if (isCi(process.env)) throw new Error(`${suite} cannot run: ${found.reason}`);
  console.log(`${suite}${DID_NOT_RUN}${found.reason}`);
  return true;
}

/** Finds the lines of an output that `isNotRun` wrote. */
export function notRunLines(output: string): readonly string[] {
  return output.split('\n').filter((line) => line.includes(DID_NOT_RUN));
}
