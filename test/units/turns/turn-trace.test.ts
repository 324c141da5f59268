import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type LocalWorker,
  type Play,
  playSteps,
  startLocalWorker,
} from '../../../infra/local/lambda/local-worker.ts';
import { openMemory } from '../../../src/index.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ApiRefusal } from '../../../src/testing/claude/api-refusal.ts';
import { checkActor } from '../../../src/tree/tenant.ts';
import { MOST_TOUCHES } from '../../../src/tree/touches.ts';
import { parseTurnTrace, turnActor } from '../../../src/turns/turn-trace.ts';
import { openAnswers, type TurnAnswer } from '../../../src/worker/turn/turn-answer.ts';
import { countCalls, interceptStore, type StoreCall } from '../../stage/store-wrappers.ts';

/**
 * As they were counted before a turn's reads and writes were noted; with the PUT that keeps a reply which writes: two
 * of the first turn, and one of the others.
 */
const REQUESTS = {
  alone: { put: 13, get: 2, list: 2 },
  begun: { put: 12, get: 3 },
  next: { put: 12, get: 3, head: 1 },
};

const A = '/memories/a.md';
const B = '/memories/b.md';
const create = (path: string, file_text: string) => ({ command: 'create', path, file_text });
const view = (path: string) => ({ command: 'view', path });

describe('what is stored of the files that a turn touched', () => {
  let store: ObjectStore;
  let site: LocalWorker;
  /** The request that Claude is too busy for. */
  let busyAt: number | undefined;
  let calls: StoreCall[];
  const rootKey = randomBytes(32).toString('base64');
  let watched: ObjectStore;
  const memory = () => ({ store: watched, rootKey, history: { days: 30 } });
  const turn = async (id: string, steps: readonly unknown[], more: object = {}): Promise<void> => {
    const prompt = JSON.stringify(steps);
    expect(await site.deliver([{ tenant: 'acme', turn: id, prompt, ...more }])).toEqual({
      batchItemFailures: [],
    });
  };
  const answer = async (id: string): Promise<TurnAnswer | undefined> => {
    await using answers = await openAnswers({ ...memory(), tenant: 'acme' });
    return await answers.read(id);
  };
  const log = async (path: string) => {
    await using opened = await openMemory({ ...memory(), tenant: 'acme' });
    return await opened.history.list(path);
  };

  beforeEach(async () => {
    store = openSqliteObjectStore({ path: ':memory:' });
    calls = [];
    watched = interceptStore(store, (call, proceed) => {
      calls.push(call);
      return proceed();
    });
    busyAt = undefined;
    const play: Play = (scene) => {
      if (site.scenes.length === busyAt)
        throw new ApiRefusal('Overloaded', { status: 529, type: 'overloaded_error' });
      return playSteps(scene);
    };
    site = await startLocalWorker(store, play, { memory: memory() });
  });
  afterEach(async () => {
    await site[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  it('names the turn, the versions that it read and wrote, and nothing twice', async () => {
    await turn('t1', [[create(A, 'one')], [view('/memories'), view(A)]]);
    await turn('t2', [[view(A)], [view(A)], [create(B, 'two')]]);
    const [a] = await log(A);
    const [b] = await log(B);
    expect((await answer('t2'))?.trace).toEqual({
      turn: 't2',
      list: [
        { kind: 'read', path: A, version: a?.version },
        { kind: 'written', path: B, version: b?.version },
      ],
      unlisted: 0,
    });
    expect([a?.writer, b?.writer]).toEqual(['turn t1', 'turn t2']);
  });

  it('cuts the id of a turn that is too long for an actor, and keeps different ones apart', async () => {
    const long = 'x'.repeat(255);
    await turn(`${long}1`, [[create(A, 'one')]]);
    await turn(`${long}2`, [[create(B, 'two')]]);
    const writers = [...(await log(A)), ...(await log(B))].map(({ writer }) => writer);
    expect(new Set(writers).size).toBe(2);
    for (const writer of writers) {
      expect(writer).toHaveLength(256);
      expect(writer).toMatch(/^turn x{207}~[\w-]{43}$/);
    }
  });

  it('says which turn of the conversation went before', async () => {
    const chat = { conversation: 'chat' };
    await turn('t1', [[create(A, 'one')]], chat);
    await turn('t2', [[create(B, 'two')]], chat);
    await turn('t3', [], chat);
    const [first, second, third] = [await answer('t1'), await answer('t2'), await answer('t3')];
    expect(first?.trace).not.toHaveProperty('follows');
    expect(second?.trace?.follows).toMatch(/^[\w-]{43}$/);
    expect(third?.trace).toMatchObject({ turn: 't3', list: [] });
    expect(third?.trace?.follows).not.toBe(second?.trace?.follows);
  });

  it('has what was read before the turn was interrupted, where another worker ends it', async () => {
    await turn('t1', [[create(A, 'one')]]);
    const steps = JSON.stringify([[view(A)], [create(B, 'two')]]);
    const message = { tenant: 'acme', turn: 't2', prompt: steps };
    busyAt = site.scenes.length + 2;
    expect((await site.deliver([message])).batchItemFailures).toHaveLength(1);
    expect(await site.deliver([message], { worker: site.another() })).toEqual({ batchItemFailures: [] });
    expect((await answer('t2'))?.trace?.list).toMatchObject([
      { kind: 'read', path: A },
      { kind: 'written', path: B },
    ]);
  });

  it('is told to no caller that waits', async () => {
    const message = {
      tenant: 'acme',
      turn: 't1',
      prompt: JSON.stringify([[create(A, 'one')]]),
      answer: 'full',
    };
    const told = await site.worker.invoke(message, { getRemainingTimeInMillis: () => 60_000 });
    expect(told).toMatchObject({ outcome: 'answered', text: 'done' });
    expect(told).not.toHaveProperty('trace');
  });

  it('takes no request: a turn sends those that it sent when nothing was stored of it', async () => {
    const count = async (call: () => Promise<void>): Promise<unknown> => {
      calls.length = 0;
      await call();
      return countCalls(calls);
    };
    await turn('begin', [[create(A, 'one')]]);
    const edit = { command: 'insert', path: A, insert_line: 1, insert_text: 'two' };
    const steps = [[view(A)], [view(A)], [edit], [create(B, 'three')]];
    expect(await count(() => turn('t1', steps))).toEqual(REQUESTS.alone);
    expect(await count(() => turn('t2', steps.slice(0, 3), { conversation: 'chat' }))).toEqual(
      REQUESTS.begun,
    );
    expect(await count(() => turn('t3', steps.slice(0, 3), { conversation: 'chat' }))).toEqual(REQUESTS.next);
  });
});

describe('turnActor', () => {
  it.each(['', 'turn 1', 'x'.repeat(251)])('names the turn %j by its whole id', (turn) => {
    expect(turnActor(turn)).toBe(`turn ${turn}`);
  });

  it('cuts an id of 252 characters to 207, and puts the hash of all of it behind', () => {
    const turn = `${'x'.repeat(206)}yz${'x'.repeat(44)}`;
    const hash = createHash('sha256').update(turn).digest('base64url');
    expect(turnActor(turn)).toBe(`turn ${'x'.repeat(206)}y~${hash}`);
    expect(turnActor(turn)).toHaveLength(256);
  });

  it('cuts no letter of a long id in two', () => {
    const turn = `${'x'.repeat(206)}😀${'y'.repeat(44)}`;
    const hash = createHash('sha256').update(turn).digest('base64url');
    expect(turnActor(turn)).toBe(`turn ${'x'.repeat(206)}~${hash}`);
    expect(() => checkActor(turnActor(turn), 'actor')).not.toThrow();
  });
});

describe('parseTurnTrace', () => {
  const trace = { turn: 't', list: [], unlisted: 0 };
  const touches = [
    { kind: 'read', path: A, version: 'v' },
    { kind: 'written', path: A, version: '' },
    { kind: 'deleted', path: A },
    { kind: 'renamed', path: A, to: B },
  ];

  it.each([
    trace,
    { ...trace, follows: 'a' },
    { ...trace, follows: '' },
    { ...trace, list: touches, unlisted: 7 },
  ])('reads %j', (value) => {
    expect(parseTurnTrace(value)).toStrictEqual(value);
  });

  it('keeps of the fields those of a trace', () => {
    expect(parseTurnTrace({ ...trace, more: 1 })).toStrictEqual(trace);
  });

  it.each([
    undefined,
    null,
    1,
    'a',
    [],
    {},
    { ...trace, turn: undefined },
    { ...trace, turn: 1 },
    { ...trace, unlisted: undefined },
    { ...trace, unlisted: -1 },
    { ...trace, list: undefined },
    { ...trace, list: { length: 0 } },
    { ...trace, follows: null },
    { ...trace, follows: 1 },
  ])('takes %j for no trace', (value) => {
    expect(parseTurnTrace(value)).toBeUndefined();
  });

  it.each([
    null,
    'read',
    {},
    { kind: 'read', version: 'v' },
    { kind: 'read', path: A },
    { kind: 'read', path: 1, version: 'v' },
    { kind: 'read', path: A, version: 1 },
    { kind: 'written', path: A, to: B },
    { kind: 'deleted' },
    { kind: 'deleted', path: 1 },
    { kind: 'renamed', path: A },
    { kind: 'renamed', path: A, to: 1 },
    { kind: 'made', path: A, version: 'v', to: B },
    { path: A, version: 'v', to: B },
  ])('takes %j for no touch, even among others', (touch) => {
    expect(parseTurnTrace({ ...trace, list: [...touches, touch] })).toBeUndefined();
    expect(parseTurnTrace({ ...trace, list: [touch, ...touches] })).toBeUndefined();
  });

  it('reads as many touches as are listed, and no more', () => {
    const listOf = (length: number) => Array.from({ length }, () => ({ kind: 'deleted', path: '' }));
    expect(MOST_TOUCHES).toBe(2_000);
    expect(parseTurnTrace({ ...trace, list: listOf(2_000) })?.list).toHaveLength(2_000);
    expect(parseTurnTrace({ ...trace, list: listOf(2_001) })).toBeUndefined();
  });
});
