import { afterEach, describe, expect, it } from 'vitest';
import {
  type ConversationSite,
  type ConversationWorker,
  type Kill,
  killAt,
  LEASE_MS,
  type SentMessage,
  startConversations,
} from '../conversation-site.ts';

const FIRST = { turn: 'turn-1', prompt: 'first' };
const SECOND = { turn: 'turn-2', prompt: 'second' };
const THIRD = { turn: 'turn-3', prompt: 'third' };
const LAST = { turn: 'turn-4', prompt: 'last' };
/** Makes a conversation too large for its head. */
const LARGE = 'ß'.repeat(60_000);

let chat: ConversationSite;
afterEach(() => chat[Symbol.asyncDispose]());

/** Delivers until the turn is answered, and gives the text of its answer. */
async function answerOf(worker: ConversationWorker, message: typeof FIRST): Promise<string> {
  for (let delivery = 0; delivery < 5; delivery++) {
    const ended = await worker.deliver(message);
    if (ended.state === 'answered') return ended.answer.text;
    if (ended.state === 'failed') throw new Error(`the turn failed: ${ended.code}`);
    await chat.site.time.pause(ended.afterSeconds * 1_000);
  }
  throw new Error('the turn was not answered');
}

function textOf({ content }: SentMessage): string {
  if (typeof content === 'string') return content;
  return (content as readonly { readonly text?: string }[]).map(({ text = '' }) => text).join('');
}

/** Answers what the conversation holds, as the next turn brings it to Claude. */
async function conversation(): Promise<readonly string[]> {
  await answerOf(await chat.worker(), LAST);
  return (chat.asked.at(-1) ?? []).slice(0, -1).map(textOf);
}

/** The second turn, killed; false where it came to its end before that. */
async function killed(kill: Kill): Promise<boolean> {
  const dying = await chat.worker();
  const stopped = killAt(dying.client, kill);
  const ended = dying.deliver(SECOND).then(() => false);
  return Promise.race([stopped.then(() => true), ended]);
}

describe('a worker that is killed', () => {
  it.each([
    ['small', 'guarded', 'first', 7],
    ['large', 'unguarded', LARGE, 10],
  ] as const)(
    'at any request leaves a %s conversation and its turn in one state',
    async (_, kind, prompt, least) => {
      let request = 0;
      for (let isKilled = true; isKilled; request++) {
        for (const side of ['before', 'after'] as const) {
          chat = await startConversations(kind);
          const first = await answerOf(await chat.worker(), { ...FIRST, prompt });
          const before = chat.asked.length;
          isKilled = await killed({ request, side });
          await chat.site.time.pause(LEASE_MS + 6_000);
          const answer = await answerOf(await chat.worker(), SECOND);
          expect(chat.asked.length - before, `request ${request}`).toBeLessThanOrEqual(2);
          const again = await answerOf(await chat.worker(), SECOND);
          expect(again).toBe(answer);
          expect(await conversation()).toEqual([prompt, first, SECOND.prompt, answer]);
          await chat[Symbol.asyncDispose]();
        }
      }
      expect(request).toBeGreaterThan(least);
    },
  );

  it('at any request keeps its turn whole where another one comes before its next delivery', {
    timeout: 120_000,
  }, async () => {
    for (let [request, isKilled] = [0, true]; isKilled; request++) {
      for (const side of ['before', 'after'] as const) {
        chat = await startConversations();
        const first = await answerOf(await chat.worker(), FIRST);
        isKilled = await killed({ request, side });
        await chat.site.time.pause(LEASE_MS + 2_000);
        const third = await answerOf(await chat.worker(), THIRD);
        const asked = chat.asked.length;
        const second = await answerOf(await chat.worker(), SECOND);
        const held = await conversation();
        const inOrder = [FIRST.prompt, first, SECOND.prompt, second, THIRD.prompt, third];
        const inTurn = [FIRST.prompt, first, THIRD.prompt, third, SECOND.prompt, second];
        // A prompt that the conversation carries is not asked again.
        const isCarried = held[2] === SECOND.prompt;
        expect(held, `request ${request}`).toEqual(isCarried ? inOrder : inTurn);
        expect(chat.asked.length - asked - 1).toBe(isCarried ? 0 : 1);
        await chat[Symbol.asyncDispose]();
      }
    }
  });
});
