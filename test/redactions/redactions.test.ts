import { describe, expect, it } from 'vitest';
import { drawsOf } from '../runner/draws.ts';
import { amount } from '../runner/thorough.ts';
import type { Around } from '../stage/store-wrappers.ts';
import { type Drawn, drawRedaction } from './draws.ts';
import { createScene, followAdvice, PASTS, type Past, type Scene, WRITERS } from './scene.ts';

/** Runs `meet` before the request with that number, counted from 1, and answers how many requests there were. */
function meetAt(
  number: number,
  meet: () => Promise<unknown>,
): { readonly around: Around; requests(): number } {
  let requests = 0;
  return {
    requests: () => requests,
    async around(call, proceed) {
      if (call.verb === 'list' && call.page > 1) return proceed();
      if (++requests === number) await meet();
      return proceed();
    },
  };
}

/** Settled, as whoever waits for nothing sees it. */
async function outcomeOf(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run();
    return 'done';
  } catch (error) {
    return error;
  }
}

async function expectNothingLeft(scene: Scene, redacted: unknown, label: string): Promise<void> {
  if (redacted !== 'done') await followAdvice(scene, redacted);
  expect(await scene.search(), label).toEqual([]);
  await scene.close();
}

const write = WRITERS;

describe.each([true, false])('redact, on a store that keeps versions: %s', (isVersioned) => {
  // In a usual run every other request is met, on one of the two stores; at length each on both.
  const step = amount({ usual: 4, thorough: 1 });
  const begin = isVersioned ? 1 : Math.ceil((step + 1) / 2);
  describe.each(PASTS)('of a file that had the text %s', (past: Past) => {
    it.each(Object.keys(WRITERS))('leaves no byte, or says what stays, whenever %s happens', async (name) => {
      let [number, requests] = [begin, begin];
      for (; number <= requests; number += step) {
        const scene = await createScene({ isVersioned, past });
        const meeting = meetAt(number, () => outcomeOf(async () => write[name]?.(scene)));
        scene.redactor.client.intercept(meeting.around);
        const redacted = await outcomeOf(() => scene.redactor.history.redact(scene.version));
        requests = Math.max(requests, meeting.requests());
        scene.redactor.client.intercept((_, proceed) => proceed());
        await expectNothingLeft(scene, redacted, `${name} before request ${number}`);
      }
    });

    it.each(Object.keys(WRITERS))(
      'leaves no byte, or says what stays, at any request of %s',
      async (name) => {
        let [number, requests] = [begin, begin];
        for (; number <= requests; number += step) {
          const scene = await createScene({ isVersioned, past });
          let redacted: unknown = 'not begun';
          const meeting = meetAt(number, async () => {
            redacted = await outcomeOf(() => scene.redactor.history.redact(scene.version));
          });
          scene.writer.client.intercept(meeting.around);
          await outcomeOf(async () => write[name]?.(scene));
          requests = Math.max(requests, meeting.requests());
          scene.writer.client.intercept((_, proceed) => proceed());
          if (redacted === 'not begun') await scene.close();
          else await expectNothingLeft(scene, redacted, `before request ${number} of ${name}`);
        }
      },
    );
  });
});

/** How many are drawn: 10,000 in full. */
const DRAWN = Number(process.env['REDACTIONS'] ?? 40);

it('leaves no byte beside up to three writers that begin whenever they do', async () => {
  const draw = drawsOf('redactions');
  const outcomes: Record<Drawn['outcome'], number> = { acknowledged: 0, refused: 0 };
  let ended = 0;
  for (let index = 0; index < DRAWN; index++) {
    const drawn = await drawRedaction(Math.floor(draw() * 2 ** 31));
    outcomes[drawn.outcome]++;
    ended += drawn.ended;
  }
  if (process.env['REDACTIONS'] !== undefined)
    console.log(`${DRAWN} redactions, no byte left: ${JSON.stringify({ ...outcomes, ended })}`);
  expect(outcomes.acknowledged).toBeGreaterThan(DRAWN / 4);
  expect(ended).toBeGreaterThan(DRAWN / 4);
}, 7_200_000);
