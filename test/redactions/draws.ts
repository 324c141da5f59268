import { hasReason } from '../../src/errors.ts';
import { createChance } from '../simulation/chance.ts';
import { STORE_KINDS } from '../stage/test-tree.ts';
import { createScene, followAdvice, PASTS, type Scene, WRITERS } from './scene.ts';

/** The outcome of one redaction beside writers. */
export interface Drawn {
  readonly outcome: 'acknowledged' | 'refused';
  /** The names of the writers that ran beside it. */
  readonly writers: readonly string[];
  /** How many of them ended as they were meant to. */
  readonly ended: number;
}

/** The longest time before or after a redaction begins at which a writer begins, in milliseconds. */
const SPREAD_MS = 1_200;
/** The longest time that a request takes on its way there, and back. */
const DELAY_MS = 40;
const MOST_WRITERS = 3;

/**
 * One redaction beside up to three writers, which begin before, in or behind it, by the draws of a seed. Where it is
 * refused, what it says is done, and then it must be acknowledged.
 *
 * @throws Error with the seed where a byte of the text can be read afterwards, or where nothing that is said helps.
 */
export async function drawRedaction(seed: number): Promise<Drawn> {
  const chance = createChance(`redaction ${seed}`);
  const writers = Array.from({ length: chance.between(1, MOST_WRITERS) }, () =>
    chance.pick(Object.keys(WRITERS)),
  );
  const scene = await createScene({
    seed,
    delayMs: DELAY_MS,
    past: chance.pick(PASTS),
    isVersioned: chance.happens(0.3),
    kind: chance.pick(STORE_KINDS),
  });
  try {
    const running = writers.map(async (name) => {
      await scene.site.time.pause(chance.fraction() * 2 * SPREAD_MS);
      return WRITERS[name]?.(await beside(scene));
    });
    const outcomes = Promise.allSettled(running);
    await scene.site.time.pause(chance.fraction() * SPREAD_MS);
    const failure = await scene.redactor.history.redact(scene.version).then(
      () => undefined,
      (error: unknown) => error,
    );
    const settled = await outcomes;
    if (failure !== undefined) await followAdvice(scene, failure);
    for (const each of settled)
      if (
        each.status === 'rejected' &&
        hasReason(each.reason, 'redacted') &&
        each.reason.code === 'outcome_unknown'
      )
        await followAdvice(scene, each.reason);
    const found = await scene.search();
    if (found.length > 0) throw new Error(`the text can be read in ${found.join(', ')}`);
    return {
      writers,
      outcome: failure === undefined ? 'acknowledged' : 'refused',
      ended: settled.filter(({ status }) => status === 'fulfilled').length,
    };
  } catch (cause) {
    throw new Error(`redaction ${seed} beside ${writers.join(', ')}: ${String(cause)}`, { cause });
  } finally {
    await scene.close();
  }
}

/** The scene as one more process sees it. */
async function beside(scene: Scene): Promise<Scene> {
  return { ...scene, writer: await scene.newProcess() };
}
