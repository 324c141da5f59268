import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shredTenant } from '../../../../src/admin/keys/shred.ts';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { createLayout, type ObjectKey, parseTenantId } from '../../../../src/format/object-keys.ts';
import { ApiRefusal } from '../../../../src/testing/claude/api-refusal.ts';
import { MAX_CONVERSATION_BYTES } from '../../../../src/worker/leases/conversation.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import { countCalls } from '../../../stage/store-wrappers.ts';
import {
  type ConversationSite,
  type ConversationWorker,
  LEASE_MS,
  type SentMessage,
  startConversations,
} from '../conversation-site.ts';

const turn = (number: number, prompt = `prompt ${number}`) => ({ turn: `turn-${number}`, prompt });
const VIEW = { name: 'memory', input: { path: '/memories', command: 'view', note: 'ü \u{1F511} \\ "' } };
/** For what carries megabytes on a machine that is busy. */
const SLOW = 120_000;
const BUSY = { state: 'later', code: 'conversation_busy', afterSeconds: 5, isBlocked: true };

let chat: ConversationSite;
beforeEach(async () => {
  chat = await startConversations();
});
afterEach(() => chat[Symbol.asyncDispose]());

async function answered(worker: ConversationWorker, message: ReturnType<typeof turn>): Promise<void> {
  expect(await worker.deliver(message)).toMatchObject({ state: 'answered' });
}

/** A worker whose turn waits in Claude until it is told to go on. */
async function atWork(message: ReturnType<typeof turn>): Promise<{ readonly end: () => Promise<unknown> }> {
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const number = chat.asked.length + 1;
  chat.play(async () => {
    if (chat.asked.length === number) {
      asked.resolve();
      await go.promise;
    }
    return { say: `answer ${number}` };
  });
  const delivery = (await chat.worker()).deliver(message);
  await asked.promise;
  chat.play(() => ({ say: `answer ${chat.asked.length}` }));
  return {
    end() {
      go.resolve();
      return delivery;
    },
  };
}

describe('a stored conversation', () => {
  it('is carried to Claude byte for byte by the next turn, in another process', async () => {
    let parts = 0;
    chat.play(() => (parts++ % 2 === 0 ? { say: 'I look.', calls: [VIEW] } : { say: 'Nothing, ü \\u0000.' }));
    await answered(await chat.worker(), turn(1, 'What \u{1F511} do you "know"?\n'));
    await answered(await chat.worker(), turn(2));
    const [, second = [], third = []] = chat.asked;
    expect(JSON.stringify(third.slice(0, -1))).toContain('"signature"');
    expect(JSON.stringify(third.slice(0, second.length))).toBe(JSON.stringify(second));
    expect(third.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
    expect(JSON.stringify(third.at(-2))).toContain('Nothing, ü');
    expect(third.at(-1)?.content).toBe('prompt 2');
  });

  it('has the whole turn behind messages that are left out because Claude refuses their thoughts', async () => {
    await chat.begin([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'of another' }] },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: 'second' },
    ]);
    let isBusy = true;
    chat.play(({ messages }) => {
      if (messages.at(-1)?.content.every(({ type }) => type !== 'tool_result')) return { calls: [VIEW] };
      if (isBusy) throw new ApiRefusal('Overloaded', { status: 529, type: 'overloaded_error' });
      return { say: 'third' };
    });
    const turns = { turn: { whenPromptsChange: 'drop_thinking' as const } };
    const third = turn(3, 'three');
    expect(await (await chat.worker()).deliver(third, turns)).toMatchObject({ code: 'overloaded_error' });
    isBusy = false;
    const delivery = await (await chat.worker()).deliver(third, turns);
    const own = [
      { role: 'user', content: 'three' },
      ...['assistant', 'user', 'assistant'].map((role) => ({ role })),
    ];
    expect(delivery).toMatchObject({ answer: { messages: own } });
    expect(await chat.conversation()).toMatchObject([
      { role: 'user', content: 'one' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: 'second' },
      ...own,
    ]);
  });

  it('costs a GET, a HEAD and two PUTs a turn, besides the receipt and the answer', async () => {
    const worker = await chat.worker();
    await answered(worker, turn(1));
    worker.client.calls.length = 0;
    await answered(worker, turn(2));
    expect(countCalls(worker.client.calls)).toEqual({ get: 1, head: 1, put: 5 });
  });

  it('is whole behind a process that stood still for a day between its body and its head', async () => {
    await chat.begin(1);
    const before = await chat.conversation();
    const frozen = await chat.worker();
    frozen.client.intercept(async (call, proceed) => {
      const answer = await proceed();
      const isBody = call.verb === 'put' && /\/conversations\/b/.test(call.key);
      if (!isBody) return answer;
      await chat.site.time.pause(25 * 3_600_000);
      // As expiry does with a body that no head names.
      await chat.site.base.delete([{ key: call.key }]);
      return answer;
    });
    expect(await frozen.deliver(turn(2))).toMatchObject({ state: 'later', code: 'unavailable' });
    expect(await chat.conversation()).toEqual(before);
    await answered(await chat.worker(), turn(2));
    expect(await chat.conversation()).toHaveLength(before.length + 2);
  });

  it('stays as it was where it is too long for the model, and goes on with another one', async () => {
    await answered(await chat.worker(), turn(1));
    const before = await chat.conversation();
    chat.play(({ model }) => {
      if (model !== 'claude-haiku-4-5') return { say: 'second' };
      const type = 'invalid_request_error';
      throw new ApiRefusal('prompt is too long: 200001 tokens > 200000 maximum', { status: 400, type });
    });
    const worker = await chat.worker();
    const small = { turn: { model: 'claude-haiku-4-5' } };
    expect(await worker.deliver(turn(2), small)).toEqual({ state: 'failed', code: 'prompt_too_long' });
    expect(chat.asked).toHaveLength(2);
    expect(await chat.conversation()).toEqual(before);
    await answered(worker, turn(3));
  });

  it('is nothing that the store shows: no prompt, no answer, no name', async () => {
    await answered(await chat.worker(), turn(1, 'canary-prompt'));
    const keys = [...(await chat.stored('conversations')).keys()];
    expect(keys).toEqual([expect.stringMatching(/^h[\w-]{43}$/)]);
    const stored = await chat.site.base.get((await chat.headKey()) as never);
    if (typeof stored !== 'object') throw new Error('there is no head');
    expect(new TextDecoder('latin1').decode(stored.body)).not.toMatch(/canary|answer|chat|turn/);
  });

  it('stores no answer again that expired with its receipt', async () => {
    await answered(await chat.worker(), turn(1));
    for (const cls of ['receipts', 'answers']) {
      for (const id of (await chat.stored(cls)).keys()) {
        await chat.site.base.delete([{ key: `tenants/acme/${cls}/${id}` as ObjectKey }]);
      }
    }
    await answered(await chat.worker(), turn(2));
    expect((await chat.stored('answers')).size).toBe(1);
    expect(chat.asked.at(-1)).toHaveLength(3);
  });

  it('lets one of two turns wait, which asks nothing and then knows the other', async () => {
    const first = await atWork(turn(1));
    const second = await chat.worker();
    expect(await second.deliver(turn(2))).toEqual(BUSY);
    expect(chat.asked).toHaveLength(1);
    expect(await first.end()).toMatchObject({ state: 'answered' });
    await answered(second, turn(2));
    expect(chat.asked[1]?.map(({ content }) => content)).toHaveLength(3);
  });

  it('lets many turns at once follow each other, none of which asks Claude with what is out of date', async () => {
    const workers = await Promise.all(Array.from({ length: 5 }, () => chat.worker()));
    let ended = Promise.withResolvers<void>();
    const untilAnswered = async (worker: ConversationWorker, number: number): Promise<void> => {
      for (;;) {
        const { promise: anotherEnded } = ended;
        const delivery = await worker.deliver(turn(number));
        if (delivery.state === 'answered') break;
        expect(delivery).toEqual(BUSY);
        await anotherEnded;
      }
      ended.resolve();
      ended = Promise.withResolvers();
    };
    await Promise.all(workers.map(untilAnswered));
    await answered(await chat.worker(), turn(9));
    const whole = JSON.stringify(chat.asked.at(-1));
    expect(chat.asked).toHaveLength(6);
    for (const messages of chat.asked.slice(0, -1)) {
      expect(whole.startsWith(JSON.stringify(messages).slice(0, -1))).toBe(true);
    }
  });

  it('goes to the next turn when a worker stood still beyond its lease, whose answer is discarded', async () => {
    await answered(await chat.worker(), turn(1));
    const frozen = await atWork(turn(2));
    await chat.site.time.pause(LEASE_MS + 1_000);
    await answered(await chat.worker(), turn(3));
    expect(await frozen.end()).toMatchObject({ state: 'later', code: 'taken_over' });
    await answered(await chat.worker(), turn(2));
    expect(
      chat.asked
        .at(-1)
        ?.map(({ content }) => content)
        .filter((each) => typeof each === 'string'),
    ).toEqual([...['prompt 1', 'prompt 3', 'prompt 2']]);
  });

  it('is not taken from the next turn by one that stood still, while that is at work', async () => {
    await answered(await chat.worker(), turn(1));
    const frozen = await atWork(turn(2));
    await chat.site.time.pause(LEASE_MS + 1_000);
    const next = await atWork(turn(3));
    expect(await frozen.end()).toMatchObject({ state: 'later', code: 'taken_over' });
    expect(await next.end()).toMatchObject({ state: 'answered' });
    expect(JSON.stringify(await chat.conversation())).not.toContain('prompt 2');
  });

  it('goes to the next turn though the one before has renewed its own lease, and that one begins again at once', async () => {
    await answered(await chat.worker(), turn(1));
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    chat.play(async () => {
      if (chat.asked.length === 2) {
        await chat.site.time.pause(LEASE_MS - 1_000);
        return { say: 'step', calls: [VIEW] };
      }
      asked.resolve();
      await go.promise;
      return { say: 'too late' };
    });
    const late = (await chat.worker()).deliver(turn(2));
    await asked.promise;
    await chat.site.time.pause(2_000);
    chat.play(() => ({ say: `answer ${chat.asked.length}` }));
    await answered(await chat.worker(), turn(3));
    go.resolve();
    expect(await late).toMatchObject({ state: 'later', code: 'taken_over' });
    await answered(await chat.worker(), turn(2));
  });

  it.each(['refused', 'failed'])('stays as it was behind a turn that is %s', async (how) => {
    await answered(await chat.worker(), turn(1));
    const [size] = [...(await chat.stored('conversations')).values()];
    chat.play(() => {
      if (how === 'refused') return { say: 'half a word', stop: 'refusal' };
      throw new ApiRefusal('No', { status: 400, type: 'invalid_request_error' });
    });
    const ended = await (await chat.worker()).deliver(turn(2));
    if (how === 'refused') expect(ended).toMatchObject({ answer: { outcome: 'refused', text: '' } });
    else expect(ended).toMatchObject({ state: 'failed', code: 'invalid_request_error' });
    expect([...(await chat.stored('conversations')).values()]).toEqual([size]);
    chat.play(() => ({ say: 'Go on.' }));
    await answered(await chat.worker(), turn(3));
    expect(chat.asked.at(-1)).toHaveLength(3);
  });

  it('loses what stands before a summary at a threshold', async () => {
    await answered(await chat.worker(), turn(1, 'x'.repeat(5_000)));
    const contextManagement = { compaction: { triggerTokens: 50_000 } };
    const worker = await chat.worker();
    const model = 'anthropic.claude-sonnet-5-5';
    await worker.deliver(turn(2, 'y '.repeat(150_000)), { turn: { model, contextManagement } });
    // Thoughts behind the summary are signed over it, and are taken back.
    expect(await worker.deliver(turn(3), { turn: { model, contextManagement } })).toMatchObject({
      state: 'answered',
    });
    const messages = chat.asked.at(-1) ?? [];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(messages[0]?.content).toBe('What was said so far stands in the summary.');
    const [summary, thought] = (messages[1]?.content ?? []) as readonly unknown[];
    expect([summary, thought]).toMatchObject([{ type: 'compaction' }, { type: 'thinking' }]);
    await worker.deliver(turn(4), { turn: { model, contextManagement } });
    expect(chat.asked.at(-1)?.slice(0, 3)).toEqual(messages);
    expect(JSON.stringify(messages)).not.toContain('xxxx');
  });

  it('is replaced by a summary on demand, and grows behind it', async () => {
    const compaction = { triggerTokens: 50_000 };
    const options = { turn: { contextManagement: { compaction } } };
    const worker = await chat.worker();
    await worker.deliver(turn(1, 'x y '.repeat(50_000)), options);
    const ended = await worker.deliver(turn(2), options);
    const own = [{ content: [{ type: 'compaction' }] }, { content: 'prompt 2' }, { role: 'assistant' }];
    expect(ended).toMatchObject({ answer: { messages: own, usage: { compactions: 1 } } });
    const last = await worker.deliver(turn(3), options);
    expect(last).toMatchObject({ answer: { messages: [{ content: 'prompt 3' }, { role: 'assistant' }] } });
    if (last.state === 'answered') expect(last.answer.messages).toHaveLength(2);
    const stored = await chat.conversation();
    expect(stored).toMatchObject([...own, { content: 'prompt 3' }, { role: 'assistant' }]);
    expect(stored).toHaveLength(5);
    expect(JSON.stringify(stored)).not.toContain('x y');
  });

  it('goes on from a summary that a turn made before it was interrupted', async () => {
    const options = { turn: { contextManagement: { compaction: { triggerTokens: 50_000 } } } };
    const worker = await chat.worker();
    await worker.deliver(turn(1, 'x y '.repeat(50_000)), options);
    const ending = new AbortController();
    chat.play(() => {
      ending.abort();
      return { say: 'too late' };
    });
    const ended = await worker.deliver(turn(2), { ...options, signal: ending.signal });
    expect(ended).toMatchObject({ state: 'later', hasProgress: true });
    chat.play(() => ({ say: 'In time.' }));
    expect(await (await chat.worker()).deliver(turn(2), options)).toMatchObject({ state: 'answered' });
    expect(chat.asked.at(-1)).toMatchObject([{ content: [{ type: 'compaction' }] }, { content: 'prompt 2' }]);
    expect(await chat.conversation()).toHaveLength(3);
  });

  it('goes on from a summary of its turn where a deployment behind it has a model without summaries', async () => {
    const contextManagement = { compaction: { triggerTokens: 50_000 } };
    const worker = await chat.worker();
    for (const i of [1, 2, 3]) await worker.deliver(turn(i, 'x y '.repeat(15_000)));
    // Each step takes longer than what is left behind it: one step a delivery.
    const deliver = (model: string) => {
      let left = 60_000;
      const remainingMs = (): number => (left /= 4);
      return worker.deliver(turn(4), { turn: { contextManagement, model }, remainingMs });
    };
    const later = { state: 'later', code: 'unfinished', hasProgress: true };
    expect(await deliver('claude-sonnet-5-5')).toMatchObject(later);
    chat.play(() => ({ calls: [{ name: 'memory', input: { command: 'view', path: '/memories' } }] }));
    const model = 'claude-haiku-4-5';
    expect(await deliver(model)).toMatchObject(later);
    chat.play(() => ({ say: 'In time.' }));
    const ended = await deliver(model);
    const said = [{ content: 'Words were said.' }, { content: 'prompt 4' }];
    expect(chat.asked.at(-1)?.slice(0, 2)).toMatchObject(said);
    expect(ended).toMatchObject({ state: 'answered', answer: { text: 'In time.' } });
    const stored = await chat.conversation();
    expect(stored.slice(0, 2)).toMatchObject(said);
    expect(ended).toMatchObject({ answer: { messages: stored } });
  });

  it('stays as it is where no summary can be made, which the log tells', async () => {
    const options = { turn: { contextManagement: { compaction: { triggerTokens: 50_000 } } } };
    const worker = await chat.worker();
    await worker.deliver(turn(1, 'x y '.repeat(50_000)), options);
    chat.summarise(() => ({ stop: 'refusal' }));
    expect(await worker.deliver(turn(2), options)).toMatchObject({ state: 'answered' });
    expect(await chat.conversation()).toHaveLength(4);
    const line = chat.lines.find((text) => text.includes('could not be summarised'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ code: 'refusal', claudeRequestId: 'req_scripted' });
  });

  it('goes on behind a redeployment with other prompts, without the thoughts that were signed over the former', async () => {
    await answered(await chat.worker(), turn(1));
    expect(await (await chat.worker()).deliver({ ...turn(2), system: 'Be brief.' })).toMatchObject({
      state: 'answered',
    });
    await answered(await chat.worker(), turn(3));
    const [, second, third] = chat.asked.map((messages) => JSON.stringify(messages));
    expect(second).toContain('answer 1');
    expect(second).not.toContain('"thinking"');
    expect(third).toContain('answer 2');
  });

  it('gives each turn the messages that it added', async () => {
    await answered(await chat.worker(), turn(1));
    const ended = await (await chat.worker()).deliver(turn(2));
    expect(ended).toMatchObject({ answer: { text: 'answer 2', messages: [{ content: 'prompt 2' }, {}] } });
    if (ended.state === 'answered') expect(ended.answer.messages).toHaveLength(2);
  });

  it('is refused where a part of it is gone', async () => {
    await answered(await chat.worker(), turn(1, 'z'.repeat(100_000)));
    for await (const { objects } of chat.site.base.list({ prefix: 'tenants/acme/conversations/b' })) {
      await chat.site.base.delete(objects.map(({ key, etag }) => ({ key, ifMatch: etag })));
    }
    expect(await (await chat.worker()).deliver(turn(2))).toEqual({ state: 'failed', code: 'integrity' });
    // The refused turn holds nothing that the next one had to wait for.
    expect(await (await chat.worker()).deliver(turn(3))).toEqual({ state: 'failed', code: 'integrity' });
    expect(chat.asked).toHaveLength(1);
  });

  it('is refused where its head is malformed', async () => {
    await answered(await chat.worker(), turn(1));
    const { client } = await chat.worker();
    const work = await client.open();
    const { writeRecord, readRecord } = await import('../../../../src/tree/records/sealed-record.ts');
    const id = (await chat.headKey()).slice('tenants/acme/conversations/'.length);
    const stored = await readRecord(work, { cls: 'conversations', id, maxBytes: 65_536 });
    const content = new TextEncoder().encode('{"version":-1,"branches":[]}');
    await writeRecord(work, { cls: 'conversations', id }, { content, base: stored?.etag });
    const expected = { state: 'failed', code: 'integrity' };
    expect(await (await chat.worker()).deliver(turn(2))).toEqual(expected);
  });

  it('is held beyond a migration of its keys, and found under the new one', async () => {
    const first = await atWork(turn(1));
    const operator = await createOperator(chat.site);
    await operator.rotate();
    await chat.site.time.pause(61_000);
    await operator.migrate();
    expect(await first.end()).toMatchObject({ state: 'answered' });
    await answered(await chat.worker(), turn(2));
    expect(chat.asked.at(-1)).toHaveLength(3);
  });
});

describe('a tenant with stored conversations', () => {
  it('is verified without a finding after its key was retired, and shredded with them', async () => {
    await answered(await chat.worker(), turn(1));
    await answered(await chat.worker(), turn(2, 'a'.repeat(70_000)));
    const operator = await createOperator(chat.site);
    await operator.rotate();
    await chat.site.time.pause(61_000);
    await operator.migrate();
    await chat.site.time.pause(1_000_000);
    await operator.migrate();
    expect(await operator.versions()).toEqual([2]);
    expect((await verifyTree((await operator.client.open()).tenant)).findings).toEqual([]);
    await answered(await chat.worker(), turn(3));

    const { time, base: store } = chat.site;
    const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });
    await shredTenant({ store, layout, versions: undefined, clock: time.clock, pause: time.pause });
    const next = chat.worker().then((worker) => worker.deliver(turn(4)));
    await expect(next).rejects.toMatchObject({ code: 'key_unavailable' });
    expect(chat.asked).toHaveLength(3);
  });
});

describe('a large conversation', () => {
  const parts = async (): Promise<readonly (readonly [string, number])[]> => [
    ...[...(await chat.stored('conversations'))].map(([id, size]) => [id.slice(0, 1), size] as const),
  ];

  it('lies in a record of its own, one at a time', async () => {
    await answered(await chat.worker(), turn(1, 'a'.repeat(70_000)));
    await answered(await chat.worker(), turn(2));
    const stored = await parts();
    expect(stored.map(([kind]) => kind)).toEqual(['b', 'h']);
    expect(stored[1]?.[1]).toBeLessThan(1_000);
    expect(JSON.stringify(chat.asked[1]).length).toBeGreaterThan(70_000);
  });

  it('of 10 MB works, and a step of its turn keeps what the turn has added alone', {
    timeout: SLOW,
  }, async () => {
    await chat.begin(10);
    let steps = 0;
    chat.play(() => (steps++ === 0 ? { calls: [VIEW] } : { say: 'Done.' }));
    const worker = await chat.worker();
    await answered(worker, turn(2));
    expect(JSON.stringify(chat.asked.at(-1)).length).toBeGreaterThan(10_000_000);
    const receipts = worker.client.calls.flatMap((call) =>
      call.verb === 'put' && call.key.includes('/receipts/') ? [call.body.length] : [],
    );
    expect(receipts).toHaveLength(3);
    expect(Math.max(...receipts)).toBeLessThan(3_000);
    const next = await chat.conversation();
    expect(JSON.stringify(next).startsWith(JSON.stringify(chat.asked[1]).slice(0, -1))).toBe(true);
    expect((await parts()).map(([kind]) => kind)).toEqual(['b', 'h']);
  });

  it('takes no prompt that makes it too large, and no answer; it goes on as it was', {
    timeout: SLOW,
  }, async () => {
    await chat.begin(16);
    const worker = await chat.worker();
    const tooLong = turn(2, 'b'.repeat(MAX_CONVERSATION_BYTES - 16_000_000));
    expect(await worker.deliver(tooLong)).toEqual({ state: 'failed', code: 'limit_exceeded' });
    expect(chat.asked).toHaveLength(0);
    const before = JSON.stringify(await chat.conversation());
    const long = 'c'.repeat(MAX_CONVERSATION_BYTES - 16_000_000);
    chat.play(() => ({ say: long }));
    expect(await worker.deliver(turn(3))).toMatchObject({
      answer: { outcome: 'too_large', reason: 'conversation_bytes', text: long },
    });
    expect(JSON.stringify(await chat.conversation())).toBe(before);
  });
});

describe('a turn of a conversation that comes back', () => {
  const contentOf = (messages: readonly SentMessage[] = []) => JSON.stringify(messages);

  /** The second turn makes a step, and its time is up. */
  const interrupted = async () => {
    await answered(await chat.worker(), turn(1));
    let left = 20_000;
    chat.play(() => {
      left -= 15_000;
      return { say: 'step', calls: [VIEW] };
    });
    const worker = await chat.worker();
    expect(await worker.deliver(turn(2), { remainingMs: () => left })).toMatchObject({
      state: 'later',
      code: 'unfinished',
      hasProgress: true,
      afterSeconds: 0,
    });
    chat.play(() => ({ say: `answer ${chat.asked.length}` }));
  };

  it('goes on where it was, and no other turn comes between for a minute', async () => {
    await interrupted();
    expect(await (await chat.worker()).deliver(turn(3))).toEqual(BUSY);
    await answered(await chat.worker(), turn(2));
    expect(chat.asked).toHaveLength(3);
    const [, second, third] = chat.asked;
    expect(contentOf(third).startsWith(contentOf(second).slice(0, -1))).toBe(true);
    expect(third).toHaveLength(5);
    await answered(await chat.worker(), turn(3));
    expect(chat.asked.at(-1)).toHaveLength(7);
  });

  it('goes on behind another turn that was stored meanwhile, and its tokens are not forgotten', async () => {
    await interrupted();
    await chat.site.time.pause(61_000);
    await answered(await chat.worker(), turn(3));
    const ended = await (await chat.worker()).deliver(turn(2));
    expect(ended).toMatchObject({ answer: { text: 'answer 4', usage: { requests: 2 } } });
    expect(
      chat.asked
        .at(-1)
        ?.map(({ content }) => content)
        .filter((each) => typeof each === 'string'),
    ).toEqual([...['prompt 1', 'prompt 3', 'prompt 2']]);
    // The words of the turn stand there, without its thought, which was signed over the conversation without the other
    // turn.
    expect(contentOf(chat.asked.at(-1))).toContain('"step"');
    expect(contentOf(chat.asked.at(-1)).match(/"thinking":/g)).toHaveLength(2);
  });

  it('says so when its conversation cannot be given back', async () => {
    const worker = await chat.worker();
    chat.play(() => {
      worker.client.intercept((call, proceed) =>
        call.verb === 'put' && call.key.includes('/conversations/')
          ? Promise.reject(new Error('down'))
          : proceed(),
      );
      throw new ApiRefusal('Overloaded', { status: 529, type: 'overloaded_error' });
    });
    expect(await worker.deliver(turn(1))).toMatchObject({ state: 'later', code: 'overloaded_error' });
    expect(chat.lines.join()).toContain('the conversation could not be released before its lease ends');
  });
});
