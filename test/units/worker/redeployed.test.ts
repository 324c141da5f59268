import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type LocalWorker,
  type Play,
  startLocalWorker,
  timeOf,
} from '../../../infra/local/lambda/local-worker.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ApiRefusal } from '../../../src/testing/claude/api-refusal.ts';
import type { TurnAnswer } from '../../../src/worker/index.ts';

const TURN = { tenant: 'acme', turn: 'turn-1', prompt: 'where were we?' };
const VIEW = { calls: [{ name: 'memory', input: { command: 'view', path: '/memories' } }] };
const NEXT = { role: 'user', content: 'and now?' };

/** Looks into the memory first, then answers, with a thought each time. */
const looking: Play = ({ messages }) =>
  messages.at(-1)?.content.some(({ type }) => type === 'tool_result') ? { say: 'Nowhere yet.' } : VIEW;

describe('a worker that was deployed with other prompts', () => {
  let store: ObjectStore;
  let site: LocalWorker;

  const start = async (play: Play = looking): Promise<void> => {
    site = await startLocalWorker(store, play, { turnOptions: { systemAdditions: { topic: 'bread' } } });
  };
  const codes = (): readonly unknown[] =>
    site.lines
      .map((line) => JSON.parse(line))
      .flatMap(({ message, code }) => (/^turn /.test(message) ? [code] : []));
  const firstAnswer = async (): Promise<TurnAnswer> =>
    (await site.worker.invoke({ ...TURN, answer: 'full' }, timeOf(60_000))) as TurnAnswer;

  beforeEach(() => {
    store = openSqliteObjectStore({ path: ':memory:' });
  });

  afterEach(async () => {
    await site[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  it('goes on with stored conversations, without the thoughts of before and with those since', async () => {
    await start();
    const turn = (n: number) => ({
      tenant: 'acme',
      conversation: 'chat-7',
      turn: `t${n}`,
      prompt: `turn ${n}`,
    });
    const redeployed = site.another({ turnOptions: { systemAdditions: { topic: 'cake' } } });
    for (const n of [1, 2]) await site.deliver([turn(n)]);
    for (const n of [3, 4]) await site.deliver([turn(n)], { worker: redeployed });
    expect(codes()).toEqual(['answered', 'answered', 'answered', 'answered']);
    const shown = site.scenes.map(({ messages }) => [
      messages.length,
      messages.flatMap(({ content }) => content).filter(({ type }) => type === 'thinking').length,
    ]);
    expect(shown).toEqual([
      ...[
        [1, 0],
        [3, 1],
        [5, 2],
        [7, 3],
      ],
      ...[
        [9, 0],
        [11, 1],
        [13, 2],
        [15, 3],
      ],
    ]);
  });

  it('refuses a conversation of before, before Claude is asked, and the same prompts take it', async () => {
    await start();
    const { messages, digest } = await firstAnswer();
    const asked = site.scenes.length;
    const second = { tenant: 'acme', turn: 'turn-2', messages: [...messages, NEXT], digest };
    const redeployed = site.another({ turnOptions: { systemAdditions: { topic: 'cake' } } });
    await site.deliver([second], { worker: redeployed });
    expect(codes()).toEqual(['answered', 'conversation_changed']);
    expect(site.scenes).toHaveLength(asked);
    await site.deliver([{ ...second, turn: 'turn-3' }]);
    expect(codes().at(-1)).toBe('answered');
  });

  it('goes on without the thoughts where it is told to', async () => {
    await start();
    const { messages, digest } = await firstAnswer();
    const second = { tenant: 'acme', turn: 'turn-2', messages: [...messages, NEXT], digest };
    const turn = { systemAdditions: { topic: 'cake' }, whenPromptsChange: 'drop_thinking' as const };
    const next = (await site
      .another({ turnOptions: turn })
      .invoke({ ...second, answer: 'full' }, timeOf(60_000))) as TurnAnswer;
    expect(next).toMatchObject({ outcome: 'answered', text: 'Nowhere yet.' });
    expect(next.digest).not.toBe(digest);
  });

  it('goes on with a turn that was begun before, from its last step', async () => {
    let isBusy = true;
    await start((scene) => {
      const part = looking(scene);
      if (isBusy && scene.messages.length > 1) {
        throw new ApiRefusal('Overloaded', { status: 529, type: 'overloaded_error' });
      }
      return part;
    });
    await site.deliver([TURN]);
    expect(codes()).toEqual(['overloaded_error']);
    isBusy = false;
    const redeployed = site.another({ turnOptions: { systemAdditions: { topic: 'cake' } } });
    await site.deliver([TURN], { worker: redeployed });
    expect(codes()).toEqual(['overloaded_error', 'answered']);
    expect(site.scenes).toHaveLength(3);
    // The worker leaves out what was thought under the other prompts.
    expect(JSON.stringify(site.scenes.map(({ messages }) => messages)[2])).not.toContain('"thinking"');
  });
});

describe('a turn whose thoughts use up all tokens', () => {
  it('fails by its name, is not stored as an answer, and goes on from where it was', async () => {
    const store = openSqliteObjectStore({ path: ':memory:' });
    let hasRoom = false;
    const site = await startLocalWorker(store, (scene) => {
      const hasLooked = scene.messages.length > 1;
      if (!hasLooked) return VIEW;
      return hasRoom ? { say: 'Nowhere yet.' } : { think: 'Hm.', stop: 'max_tokens' };
    });
    await site.deliver([TURN]);
    expect(site.lines.join('\n')).toContain('"code":"thinking_exceeds_max_tokens"');
    expect(site.replies).toEqual([]);
    hasRoom = true;
    await site.deliver([TURN]);
    expect(site.replies).toMatchObject([{ outcome: 'answered', text: 'Nowhere yet.' }]);
    expect(site.scenes).toHaveLength(3);
    await site[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });
});
