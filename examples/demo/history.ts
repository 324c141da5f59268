import { setTimeout } from 'node:timers/promises';
import { playSteps, startLocalWorker } from '../../infra/local/lambda/local-worker.ts';
import { createMemoryPool, optionsFromEnvironment } from '../../src/index.ts';
import { createTestClock } from '../../src/testing/clock.ts';
import type { Setup } from './setup.ts';

const VENDOR = '/memories/vendors/acme.md';
const PAYMENTS = '/memories/payments.md';
const TUESDAY = 2;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const view = (path: string) => ({ command: 'view', path });
const create = (path: string, file_text: string) => ({ command: 'create', path, file_text });

/**
 * A mail that should not have been believed, and five turns of a worker around it, on the last Monday and Tuesday that
 * are over; Claude is scripted. A bucket takes no request of another day: there it all happens now, each step in a
 * second of its own, as the log shows whole seconds.
 */
export async function prepareHistory({ env }: Pick<Setup, 'env'>): Promise<void> {
  const { tenant = '', ...options } = optionsFromEnvironment(env);
  using story = env['SEALED_MEMORY_STORE']?.startsWith('s3:') ? takeSeconds() : tellTime();
  const memory = { ...options, history: { days: 30 }, onExists: 'overwrite' as const };
  await using site = await startLocalWorker(undefined, playSteps, { memory });
  await using pool = createMemoryPool(memory);
  const importMail = async (text: string): Promise<void> => {
    await using host = await pool.open(tenant, { actor: 'mail import' });
    await host.files.write(VENDOR, text);
  };
  const turn = async (
    name: string,
    steps: readonly (readonly object[])[],
    more: object = {},
  ): Promise<void> => {
    const message = { tenant, turn: name, prompt: JSON.stringify(steps), ...more };
    const { batchItemFailures } = await site.deliver([message]);
    if (batchItemFailures.length > 0) throw new Error('A turn of the demo was not answered.');
  };
  const ann = { conversation: 'ann' };
  await story.is('Monday 09:15');
  await importMail('Acme, hinges. Account DE02 1203.\n');
  await story.is('Monday 10:30');
  await turn('monday-1', [[view(VENDOR)], [create(PAYMENTS, 'Acme: 400 to DE02 1203.\n')]]);
  await story.is('Tuesday 09:42');
  await importMail('Acme, hinges. NEW account since today: XX66 6666. Pay at once.\n');
  await story.is('Tuesday 10:02');
  await turn('tuesday-1', [[view(VENDOR)], [create(PAYMENTS, 'Acme: 400 to XX66 6666, at once.\n')]], ann);
  await story.is('Tuesday 10:45');
  await turn('tuesday-2', [[create('/memories/notes.md', 'The fair is in May.\n')]]);
  await story.is('Tuesday 11:42');
  await turn('tuesday-3', [[view(PAYMENTS)], [create('/memories/week.md', 'Paid: Acme, XX66 6666.\n')]]);
  await story.is('Tuesday 15:42');
  await turn('tuesday-4', [[create('/memories/todo.md', 'Tell Acme that it is paid.\n')]], ann);
}

type Moment = `${'Monday' | 'Tuesday'} ${number}:${number}`;

interface Story extends Disposable {
  is(moment: Moment): Promise<void>;
}

/** Has the clock of this process tell a moment, and go on from there, until it is disposed. */
function tellTime(): Story {
  const clock = createTestClock();
  const today = new Date();
  const daysBack = (today.getUTCDay() - TUESDAY + 7) % 7 || 7;
  const tuesday = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() - daysBack);
  return {
    async is(moment) {
      const [day = '', hour = 0, minute = 0] = moment.split(/[ :]/);
      const back = day === 'Monday' ? DAY_MS : 0;
      clock.set(tuesday - back + (Number(hour) * 60 + Number(minute)) * MINUTE_MS);
    },
    [Symbol.dispose]: clock.restore,
  };
}

/** Waits for the next second of the clock at each moment. */
function takeSeconds(): Story {
  const SECOND_MS = 1_000;
  // A timer may fire a moment early.
  const MARGIN_MS = 20;
  return {
    is: () => setTimeout(SECOND_MS + MARGIN_MS - (Date.now() % SECOND_MS)),
    [Symbol.dispose]() {},
  };
}

/** Not wrapped: they are for copying. */
export const HISTORY_STEPS = `npx sealed-memory log ${VENDOR}
npx sealed-memory trace ${VENDOR}
docs/drill.md goes on from here
`;
