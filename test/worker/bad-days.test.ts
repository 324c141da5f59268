import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiRefusal } from '../../examples/scripted-claude/api-refusal.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { createReplies } from '../../src/worker/replies.ts';
import { createFastQueue, type FastQueue } from '../doubles/fast-queue.ts';
import { type Play, startTestWorker, type TestWorker } from '../support/test-worker.ts';

const MINUTE = 60;
const turnOf = (i: number, tenant = 'acme') => ({ tenant, turn: `turn-${i}`, prompt: `question ${i}` });

describe('a bad day', () => {
  let store: ObjectStore;
  let queue: FastQueue;
  let site: TestWorker | undefined;
  beforeEach(() => {
    store = openSqliteObjectStore({ path: ':memory:' });
  });
  afterEach(async () => {
    await site?.[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  const start = async (play: Play, options: { readonly fifo?: boolean } = {}): Promise<TestWorker> => {
    queue = createFastQueue(options);
    const { sqs, url, deadLetterUrl, replyUrl } = queue;
    site = await startTestWorker(store, play, {
      queue: { sqs, url, deadLetterUrl },
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
    await queue.run(worker.handler, 30);
    expect(queue.receives.get('no turn')?.length).toBe(2);
    queue.refuseDeadLetters(undefined);
    await queue.run(worker.handler, 10 * MINUTE);
    expect(queue.deadLetters).toHaveLength(1);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'a message could not be sent to the dead letters' }),
    );
  });
});
