import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ScriptedClaude, startScriptedClaude } from '../../../infra/local/claude/scripted-claude.ts';
import {
  type LocalWorker,
  type Play,
  startLocalWorker,
  timeOf,
} from '../../../infra/local/lambda/local-worker.ts';
import { createClientSource } from '../../../infra/worker/client-source.ts';
import { TurnClient } from '../../../infra/worker/turn-client.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ApiRefusal } from '../../../src/testing/claude/api-refusal.ts';
import type { LambdaContext, TurnAnswer } from '../../../src/worker/index.ts';
import { MAX_ANSWER_BYTES } from '../../../src/worker/leases/turn-lease.ts';
import { createReplies } from '../../../src/worker/queue/replies.ts';
import type { WorkerOptions } from '../../../src/worker/worker.ts';
import { createFastQueue, type FastQueue } from './fast-queue.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const turnOf = (i: number, tenant = 'acme') => ({ tenant, turn: `turn-${i}`, prompt: `question ${i}` });

describe('a bad day', () => {
  let store: ObjectStore;
  let queue: FastQueue;
  let site: LocalWorker | undefined;
  let claude: ScriptedClaude | undefined;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] });
    store = openSqliteObjectStore({ path: ':memory:' });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await site?.[Symbol.asyncDispose]();
    await claude?.[Symbol.asyncDispose]();
    claude = undefined;
    await store[Symbol.asyncDispose]();
  });

  const start = async (
    play: Play,
    options: { readonly fifo?: boolean; readonly client?: WorkerOptions['client'] } = {},
  ): Promise<LocalWorker> => {
    queue = createFastQueue({ ...options, onTime: (ms) => vi.setSystemTime(ms) });
    const { sqs, url, deadLetterUrl, replyUrl } = queue;
    site = await startLocalWorker(store, play, {
      queue: { sqs, url, deadLetterUrl },
      ...(options.client && { client: options.client }),
      replies: createReplies({ sqs, queueUrl: replyUrl, mode: 'inline' }),
    });
    return site;
  };
  const overloadedUntil =
    (seconds: number): Play =>
    () => {
      if (queue.now() >= seconds) return { say: 'At last.' };
      throw new ApiRefusal('Overloaded', { status: 529, type: 'overloaded_error' });
    };

  it('of thirty minutes of overload loses no turn, and all are answered ten minutes later', async () => {
    const { worker, scenes } = await start(overloadedUntil(30 * MINUTE));
    const turns = Array.from({ length: 12 }, (_, i) => turnOf(i, `tenant-${i % 3}`));
    for (const turn of turns) queue.put(turn);
    await queue.run(worker.handler, 24 * 60 * MINUTE);
    expect(queue.deadLetters).toEqual([]);
    expect(queue.replies).toHaveLength(turns.length);
    for (const { at } of queue.replies) expect(at).toBeLessThanOrEqual(40 * MINUTE);
    // Waits of 5, 30 and 120 seconds, then of ten minutes, each up to a fifth shorter.
    expect(scenes.length).toBeLessThanOrEqual(9 * turns.length);
  });

  it('lets each turn wait longer from attempt to attempt, and not all of them equally long', async () => {
    const { worker } = await start(overloadedUntil(30 * MINUTE));
    for (let i = 0; i < 8; i++) queue.put(turnOf(i));
    await queue.run(worker.handler, 24 * 60 * MINUTE);
    const longest = [5, 30, 120, 600, 600, 600];
    const waits = [...queue.receives.values()].map((times) =>
      times.slice(1).map((time, i) => time - (times[i] ?? 0)),
    );
    for (const each of waits) {
      for (const [i, most] of longest.slice(0, each.length).entries()) {
        expect(each[i]).toBeLessThanOrEqual(most);
        expect(each[i]).toBeGreaterThanOrEqual(most * 0.8);
      }
    }
    expect(new Set(waits.map((each) => each[3])).size).toBeGreaterThan(1);
  });

  /** A worker whose key lies in a secret; the API takes one key alone. */
  const startWithKey = async (secret: { key: string }, accepted: string) => {
    const [keys, reads]: [string[], string[]] = [[], []];
    let given: string | undefined;
    claude = await startScriptedClaude({
      onRequest: ({ headers }) => {
        given = String(headers['authorization']).replace('Bearer ', '');
        keys.push(given);
      },
      play() {
        if (given === accepted) return { say: 'Yes.' };
        throw new ApiRefusal('invalid x-api-key', { status: 401, type: 'authentication_error' });
      },
    });
    const baseURL = claude.url;
    const client = createClientSource({
      async readKey() {
        reads.push(secret.key);
        return secret.key;
      },
      open: (apiKey) => new TurnClient({ baseURL, maxRetries: 0, ...(apiKey !== undefined && { apiKey }) }),
    });
    return { keys, reads, ...(await start(() => ({ say: 'unasked' }), { client })) };
  };

  it('of a wrong API key empties nothing, and says so; the right key is found when it is there', async () => {
    const secret = { key: 'wrong' };
    const { worker, keys, reads, lines } = await startWithKey(secret, 'right');
    for (let i = 0; i < 5; i++) queue.put(turnOf(i));
    await queue.run(worker.handler, HOUR);
    expect(queue.deadLetters).toEqual([]);
    expect(queue.replies).toEqual([]);
    // Once at the start, and once for each refusal; each turn asks once in thirteen minutes.
    expect(keys.length).toBeLessThanOrEqual(5 * 5);
    expect(reads).toHaveLength(1 + keys.length);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        message: 'turn will be retried',
        code: 'authentication_error',
        afterSeconds: 780,
      }),
    );
    secret.key = 'right';
    await queue.run(worker.handler, HOUR + 16 * MINUTE);
    expect(queue.replies).toHaveLength(5);
    expect(queue.deadLetters).toEqual([]);
  });

  it('of a key that is replaced while workers are warm costs no attempt', async () => {
    const secret = { key: 'right' };
    const { worker, keys, reads } = await startWithKey(secret, 'new');
    queue.put(turnOf(0));
    await queue.run(worker.handler, 0);
    secret.key = 'new';
    queue.put(turnOf(1));
    await queue.run(worker.handler, MINUTE);
    expect(queue.receives.get(JSON.stringify(turnOf(1)))).toHaveLength(1);
    expect(queue.replies).toMatchObject([{ body: expect.stringContaining('turn-1') }]);
    expect(keys).toEqual(['right', 'right', 'new']);
    expect(reads).toEqual(['right', 'right', 'new']);
  });

  it.each([
    [400, 'invalid_request_error', 'You have reached your specified API usage limits.', 'billing_error'],
    [
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API.',
      'billing_error',
    ],
    [402, 'billing_error', 'No.', 'billing_error'],
    [403, 'permission_error', 'No.', 'permission_error'],
    [404, 'not_found_error', 'model: claude-none', 'not_found_error'],
  ])('on which Claude answers %i %s: "%s" pauses its turns', async (status, type, message, code) => {
    const { worker, lines } = await start(() => {
      throw new ApiRefusal(message, { status, type });
    });
    queue.put(turnOf(0));
    await queue.run(worker.handler, HOUR);
    expect(queue.deadLetters).toEqual([]);
    expect(queue.receives.get(JSON.stringify(turnOf(0)))).toEqual([0, 780, 1_560, 2_340, 3_120]);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(expect.objectContaining({ code }));
  });

  it('on which the key cannot be read is one like any other that passes', async () => {
    const { worker, lines } = await start(() => ({ say: 'Yes.' }), {
      client: () => Promise.reject(new Error('Secrets Manager says canary')),
    });
    queue.put(turnOf(0));
    await queue.run(worker.handler, 60);
    expect(queue.receives.get(JSON.stringify(turnOf(0)))).toHaveLength(3);
    const codes = lines.map((line) => (JSON.parse(line) as { readonly code?: string }).code);
    expect(codes).toContain('api_key_unavailable');
    expect(lines.join()).not.toContain('canary');
  });

  it('buries a turn whose own model is unknown', async () => {
    const { worker } = await start(() => {
      throw new ApiRefusal('model: claude-none', { status: 404, type: 'not_found_error' });
    });
    queue.put({ ...turnOf(0), model: 'claude-none' });
    await queue.run(worker.handler, 0);
    expect(queue.deadLetters).toMatchObject([{ attributes: { code: 'not_found_error' } }]);
  });

  describe('of a turn that is longer than its function', () => {
    /** A function of 20 s on a clock of its own, of which each reply of Claude's takes 8 s. */
    const startLong = async (steps: number, options: { readonly fifo?: boolean } = {}) => {
      let used = 0;
      const asked: number[] = [];
      const started = await start(({ messages }) => {
        used += 8_000;
        const step = (messages.length + 1) / 2;
        asked.push(step);
        if (step === steps) return { say: 'At last.' };
        return { calls: [{ name: 'memory', input: { command: 'view', path: '/memories' } }] };
      }, options);
      const contextOf = (): LambdaContext => {
        const begun = used;
        return { getRemainingTimeInMillis: () => 20_000 - (used - begun), awsRequestId: 'request-1' };
      };
      queue.put(turnOf(0));
      await queue.run(started.worker.handler, 24 * HOUR, contextOf);
      return { asked, ...started };
    };
    const inOrder = (steps: number) => Array.from({ length: steps }, (_, i) => i + 1);

    it('asks each step once, a delivery each, and answers with the tokens of all', async () => {
      const { asked, lines, worker } = await startLong(6);
      expect(asked).toEqual(inOrder(6));
      expect(queue.deadLetters).toEqual([]);
      expect(queue.replies).toMatchObject([{ at: 0, body: expect.stringContaining('At last.') }]);
      const told = lines
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
        .filter(({ message }) => message === 'turn answered' || message === 'turn will be retried');
      expect(told).toHaveLength(6);
      const sum = (name: string) => told.reduce((total, line) => total + Number(line[name]), 0);
      const answer = (await worker.invoke({ ...turnOf(0), answer: 'full' }, timeOf(60_000))) as TurnAnswer;
      expect(answer.usage.requests).toBe(6);
      expect(sum('claudeRequests')).toBe(6);
      expect(sum('inputTokens')).toBe(answer.usage.inputTokens);
      expect(sum('outputTokens')).toBe(answer.usage.outputTokens);
      expect(answer.messages).toHaveLength(12);
    });

    it('uses up no attempts, however long it is', async () => {
      const { asked } = await startLong(25);
      expect(asked).toEqual(inOrder(25));
      expect(queue.deadLetters).toEqual([]);
      expect(queue.replies).toHaveLength(1);
      expect(queue.now()).toBe(0);
    });

    it('is answered once when what was sent on was not deleted', async () => {
      const starting = startLong(12);
      queue.loseDeletes(1);
      const { asked } = await starting;
      expect(asked).toEqual(inOrder(12));
      expect(queue.deadLetters).toEqual([]);
      // The reply comes twice; its receiver knows the turn.
      expect(queue.replies).toHaveLength(2);
      expect(queue.receives.get(JSON.stringify(turnOf(0)))?.length).toBeGreaterThan(12);
    });

    it('is not sent behind its group in a FIFO queue, and uses up no attempts there either', async () => {
      expect((await startLong(25, { fifo: true })).asked).toEqual(inOrder(25));
      expect(queue.replies).toHaveLength(1);
    });
  });

  it('keeps the order of a FIFO group, and does not hold up the other groups', async () => {
    const { worker } = await start(
      (scene) => {
        if (queue.now() >= 3 * MINUTE || !JSON.stringify(scene.messages).includes('question 0'))
          return { say: 'Yes.' };
        throw new ApiRefusal('Overloaded', { status: 529, type: 'overloaded_error' });
      },
      { fifo: true },
    );
    for (const [i, group] of ['a', 'a', 'b', 'a', 'b'].entries()) queue.put(turnOf(i), group);
    await queue.run(worker.handler, 60 * MINUTE);
    const answered = queue.replies.map(({ at, body }) => ({ at, turn: JSON.parse(body).turn as string }));
    expect(answered.map(({ turn }) => turn)).toEqual(['turn-2', 'turn-4', 'turn-0', 'turn-1', 'turn-3']);
    expect(answered[1]?.at).toBe(0);
    // Those behind it have used up no attempt.
    for (const i of [1, 3]) expect(queue.receives.get(JSON.stringify(turnOf(i)))).toHaveLength(1);
    expect(queue.deadLetters).toEqual([]);
  });

  it('buries a message that is no turn within ten seconds, by its own hand and with the reason', async () => {
    const { worker, scenes } = await start(() => ({ say: 'Yes.' }));
    queue.put('{"tenant":"acme","turn":"one"');
    queue.put(turnOf(1));
    await queue.run(worker.handler, MINUTE);
    expect(queue.deadLetters).toMatchObject([
      {
        at: 0,
        body: '{"tenant":"acme","turn":"one"',
        attributes: { code: 'invalid_command', requestId: 'request-1' },
      },
    ]);
    expect(queue.receives.get('{"tenant":"acme","turn":"one"')).toHaveLength(1);
    expect(scenes).toHaveLength(1);
  });

  it('buries a turn whose name was used for another message, and names it as the log does', async () => {
    const { worker, scenes, lines } = await start(() => ({ say: 'Yes.' }));
    queue.put(turnOf(0));
    queue.put({ ...turnOf(0), prompt: 'another question' });
    await queue.run(worker.handler, MINUTE);
    expect(scenes).toHaveLength(1);
    expect(queue.replies).toHaveLength(1);
    const told = lines.map((line) => JSON.parse(line) as Readonly<Record<string, string>>);
    const [answered, failed] = ['turn answered', 'turn failed'].map((wanted) =>
      told.find(({ message }) => message === wanted),
    );
    expect(answered).toMatchObject({
      requestId: 'request-1',
      claudeRequestId: 'req_scripted',
      turn: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
    expect(failed).toMatchObject({ code: 'other_message', turn: answered?.['turn'] });
    expect(queue.deadLetters).toMatchObject([
      { attributes: { code: 'other_message', turn: answered?.['turn'], requestId: 'request-1' } },
    ]);
  });

  it('counts the tokens of a turn that fails, and says which request the API refused', async () => {
    const { worker, lines } = await start(({ messages }) => {
      if (messages.length === 1)
        return { calls: [{ name: 'memory', input: { command: 'view', path: '/memories' } }] };
      throw new ApiRefusal('No', { status: 400, type: 'invalid_request_error' });
    });
    queue.put(turnOf(0));
    await queue.run(worker.handler, MINUTE);
    const failed = lines.map((line) => JSON.parse(line)).find(({ message }) => message === 'turn failed');
    expect(failed).toMatchObject({
      code: 'invalid_request_error',
      claudeRequests: 2,
      claudeRequestId: 'req_scripted',
    });
    expect(failed.inputTokens).toBeGreaterThan(0);
    expect(failed.outputTokens).toBeGreaterThan(0);
  });

  it('stores an answer that is too large as such, and asks no second time', async () => {
    const { worker, scenes } = await start(() => ({ say: 'x'.repeat(MAX_ANSWER_BYTES) }));
    queue.put(turnOf(0));
    await queue.run(worker.handler, MINUTE);
    queue.put(turnOf(0));
    await queue.run(worker.handler, MINUTE);
    expect(scenes).toHaveLength(1);
    const bodies = queue.replies.map(({ body }) => JSON.parse(body));
    const reply = { tenant: 'acme', turn: 'turn-0', outcome: 'too_large', reason: 'answer_bytes', text: '' };
    expect(bodies).toEqual([reply, reply]);
    expect(queue.deadLetters).toEqual([]);
  });

  it('keeps the words of an answer whose conversation is too large', async () => {
    const { worker } = await start(() => ({ say: 'x'.repeat(100) }));
    queue.put({ ...turnOf(0), prompt: 'y'.repeat(MAX_ANSWER_BYTES) });
    await queue.run(worker.handler, MINUTE);
    expect(queue.replies.map(({ body }) => JSON.parse(body))).toMatchObject([
      { outcome: 'too_large', text: 'x'.repeat(100) },
    ]);
  });

  it('buries what Claude refuses for good, in order, and goes on with the group', async () => {
    const { worker } = await start(
      (scene) => {
        if (JSON.stringify(scene.messages).includes('question 1')) return { say: 'Yes.' };
        throw new ApiRefusal('No', { status: 400, type: 'invalid_request_error' });
      },
      { fifo: true },
    );
    queue.put(turnOf(0), 'a');
    queue.put(turnOf(1), 'a');
    await queue.run(worker.handler, MINUTE);
    expect(queue.deadLetters).toMatchObject([
      {
        at: 0,
        attributes: { code: 'invalid_request_error' },
        input: { MessageGroupId: 'a', MessageDeduplicationId: 'm0' },
      },
    ]);
    expect(queue.replies).toMatchObject([{ at: 0, body: expect.stringContaining('turn-1') }]);
  });

  it('buries a message again when the first time it was not deleted, and loses none', async () => {
    const { worker } = await start(() => ({ say: 'Yes.' }));
    queue.put('no turn');
    queue.loseDeletes(1);
    await queue.run(worker.handler, 24 * 60 * MINUTE);
    expect(queue.deadLetters.map(({ body }) => body)).toEqual(['no turn', 'no turn']);
    expect(queue.receives.get('no turn')).toHaveLength(2);
  });

  it('keeps a message that the dead letters do not take, until they do', async () => {
    const { worker, lines } = await start(() => ({ say: 'Yes.' }));
    queue.put('no turn');
    queue.refuseDeadLetters(new Error('throttled'));
    await queue.run(worker.handler, 20);
    expect(queue.receives.get('no turn')?.length).toBe(2);
    queue.refuseDeadLetters(undefined);
    await queue.run(worker.handler, 10 * MINUTE);
    expect(queue.deadLetters).toHaveLength(1);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'a message could not be sent on' }),
    );
  });
});
