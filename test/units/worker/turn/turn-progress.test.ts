import { describe, expect, it } from 'vitest';
import { NO_USAGE } from '../../../../src/agent/turn-outcome.ts';
import type { PendingReply, TurnProgress } from '../../../../src/agent/turn-progress.ts';
import { createJsonLogger } from '../../../../src/worker/json-log.ts';
import type { ConversationLease } from '../../../../src/worker/leases/conversation-lease.ts';
import { MAX_ANSWER_BYTES, type TurnLease } from '../../../../src/worker/leases/turn-lease.ts';
import { createDeliveryProgress } from '../../../../src/worker/turn/turn-progress.ts';

const MESSAGES = [{ role: 'user', content: 'Go on.' }] as const;
const PENDING = {
  reply: {
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'tool_use', id: 'toolu_1', name: 'memory', input: { command: 'create' } },
    ],
    stop_reason: 'tool_use',
  },
  key: 'AAAAAAAAAAAAAAAAAAAAAA',
  since: 1,
} as unknown as PendingReply;
const KEPT: TurnProgress = {
  messages: MESSAGES,
  text: '',
  usage: NO_USAGE,
  digest: 'prompts',
  pending: PENDING,
};

/** The progress of a delivery that keeps what it saves. */
function deliver({
  isOurs = true,
  digest = 'prompts',
  version,
  saved,
}: {
  isOurs?: boolean;
  digest?: string;
  /** The number of turns of the conversation. */
  version?: number;
  saved?: Uint8Array;
} = {}) {
  const bytes: Uint8Array[] = [];
  const lease: TurnLease = {
    attempts: 1,
    async save(progress) {
      bytes.push(progress);
      return isOurs;
    },
    finish: async (answer) => answer,
    release: async () => {},
  };
  let left = 60_000;
  const progress = createDeliveryProgress({
    lease,
    saved,
    basis: {
      lease: version === undefined ? undefined : ({ version } as ConversationLease),
      before: [],
      messages: MESSAGES,
      digest,
    },
    name: { turn: 't1' },
    // Each step takes longer than what is left behind it.
    remainingMs: () => (left /= 4),
    log: createJsonLogger({ write: () => {} }),
  });
  return { progress, bytes };
}

describe('a reply that is kept before its tools run', () => {
  it('goes on whatever time is left, and is judged with the step behind it', async () => {
    const { progress, bytes } = deliver();
    expect(await progress.onStep(KEPT)).toBe('go_on');
    const { pending: _, ...behind } = KEPT;
    expect(await progress.onStep(behind)).toBe('stop');
    expect(bytes).toHaveLength(2);
  });

  it('runs no tool where another worker has the turn', async () => {
    const { progress } = deliver({ isOurs: false });
    expect(await progress.onStep(KEPT)).toBe('stop');
    expect(progress.isTakenOver).toBe(true);
  });

  it('comes back as it was, and without thoughts where the prompts have changed', async () => {
    const { progress, bytes } = deliver();
    await progress.onStep(KEPT);
    const [saved] = bytes;
    if (saved === undefined) throw new Error('nothing was saved');
    expect(deliver({ saved }).progress.latest).toMatchObject({ messages: MESSAGES, pending: PENDING });
    const redeployed = deliver({ saved, digest: 'others' }).progress.latest;
    expect(redeployed?.pending?.reply.content).toEqual([PENDING.reply.content[1]]);
    expect(redeployed).toMatchObject({ digest: 'others', pending: { key: PENDING.key, since: 1 } });
  });

  it('comes back without thoughts where another turn of the conversation was stored meanwhile', async () => {
    const { progress, bytes } = deliver({ version: 1 });
    await progress.onStep(KEPT);
    const [saved] = bytes;
    if (saved === undefined) throw new Error('nothing was saved');
    const moved = deliver({ saved, version: 2 }).progress.latest;
    expect(moved?.pending?.reply.content).toEqual([PENDING.reply.content[1]]);
    expect(moved).toMatchObject({ messages: MESSAGES, pending: { key: PENDING.key, since: 1 } });
  });
});

it('a step that is too large to be kept brings the turn no further', async () => {
  const { progress, bytes } = deliver();
  const content = 'x'.repeat(MAX_ANSWER_BYTES);
  await progress.onStep({ ...KEPT, messages: [{ role: 'user', content }] });
  expect(progress.hasProgress).toBe(false);
  await progress.onStep(KEPT);
  expect([bytes.length, progress.hasProgress]).toEqual([2, true]);
});
