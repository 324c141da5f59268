import { describe, expect, it } from 'vitest';
import { BUGS_OF_THIS_RUN } from '../bugs-of-this-run.ts';
import type { runTests } from '../collected-tests.ts';
import { NO_BUG, withBug } from '../plant.ts';
import type { SeededBug, SuiteJudge } from '../seeded-bug.ts';

describe('the suites that CI runs', () => {
  for (const bug of BUGS_OF_THIS_RUN) {
    const { name, seenBy } = bug;
    if (seenBy.run !== 'suite') continue;
    it(`turn red with ${name}`, { timeout: 120_000 }, async () => {
      const { failed } = await outcomeOf(seenBy, bug);
      if (failed === undefined) throw new Error(`${seenBy.file} is green: ${seenBy.title}`);
      // The honest run beside it.
      expect(await outcomeOf(seenBy, NO_BUG, failed.at)).toEqual({ ran: 1 });
    });
  }
});

/** Answers the outcome of the tests of that title, or of the one at that place, with the bug. */
async function outcomeOf(
  { file, title }: SuiteJudge,
  bug: Pick<SeededBug, 'name'>,
  only?: number,
): ReturnType<typeof runTests> {
  const suite: string = withBug(`/${file}`, bug);
  const collected: string = withBug('/test/seeded-bugs/collected-tests.ts', bug);
  await import(suite);
  const { runTests: run } = (await import(collected)) as { readonly runTests: typeof runTests };
  return run(title, only);
}
