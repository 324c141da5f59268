import Anthropic from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ScriptedClaude, startScriptedClaude } from '../../../../infra/local/claude/scripted-claude.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { classKey } from '../../../../src/format/object-keys.ts';
import { ApiRefusal } from '../../../../src/testing/claude/api-refusal.ts';
import type { ScriptedPart } from '../../../../src/testing/claude/reply.ts';
import { createJsonLogger, toldFailure } from '../../../../src/worker/json-log.ts';
import { createConversations } from '../../../../src/worker/leases/conversations.ts';
import { createReceipts, type Receipts } from '../../../../src/worker/leases/receipts.ts';
import { deliverTurn } from '../../../../src/worker/turn/deliver-turn.ts';
import { type Delivery, failureOf } from '../../../../src/worker/turn/delivery.ts';
import { fingerprintOf, parseTurnMessage } from '../../../../src/worker/turn/turn-message.ts';
import { bytes, createSite, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const MESSAGE = parseTurnMessage({ tenant: 'acme', turn: 'turn-1', prompt: 'hello' });
const LEASE_MS = 90_000;
const CLAIM = { leaseMs: LEASE_MS, message: fingerprintOf(MESSAGE) };
const VIEW = { name: 'memory', input: { command: 'view', path: '/memories' } };
const memory = {
  execute: async () => ({ isError: false as const, content: 'nothing' }),
};

async function receiptsOf(site: TestSite): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { objects } of site.base.list({ prefix: 'tenants/acme/receipts/' })) {
    keys.push(...objects.map(({ key }) => key));
  }
  return keys;
}

describe('deliverTurn', () => {
  let claude: ScriptedClaude;
  let asked = 0;
  let beforeAnswer: () => Promise<void> = async () => {};
  const answering = (): ScriptedPart => ({ say: `answer ${asked}` });
  let reply = answering;
  beforeAll(async () => {
    claude = await startScriptedClaude({
      async play() {
        asked++;
        await beforeAnswer();
        return reply();
      },
    });
  });
  afterAll(() => claude[Symbol.asyncDispose]());
  const lines: string[] = [];
  afterEach(() => {
    asked = 0;
    reply = answering;
    beforeAnswer = async () => {};
    lines.length = 0;
  });

  /** One worker of the tenant. */
  async function worker(site: TestSite): Promise<{
    readonly client: TestClient;
    readonly receipts: Receipts;
    deliver(
      signal?: AbortSignal,
      turn?: Partial<Parameters<typeof deliverTurn>[0]['turn']>,
    ): Promise<Delivery>;
  }> {
    const client = await site.client();
    const { tenant } = await client.open();
    const receipts = createReceipts(tenant);
    return {
      client,
      receipts,
      deliver: (signal = new AbortController().signal, turn = {}) =>
        deliverTurn({
          message: MESSAGE,
          memory,
          receipts,
          conversations: createConversations(tenant),
          client: async () => new Anthropic({ baseURL: claude.url, apiKey: 'test', maxRetries: 0 }),
          turn: {
            model: 'claude-sonnet-5-5',
            ...turn,
          },
          signal,
          leaseMs: LEASE_MS,
          log: createJsonLogger({ write: (line) => lines.push(line) }),
        }),
    };
  }

  it('leaves a turn that fails when its time is up to the next delivery, whatever it fails with', async () => {
    const site = await createSite();
    const { receipts, deliver } = await worker(site);
    const ending = new AbortController();
    const { claim } = receipts;
    vi.spyOn(receipts, 'claim').mockImplementation(async (turn, request) => {
      const claimed = await claim(turn, request);
      ending.abort();
      return claimed;
    });
    const contextManagement = { compaction: { triggerTokens: 0.5 } };
    expect(await deliver(ending.signal, { contextManagement })).toEqual({
      state: 'later',
      code: 'deadline',
      afterSeconds: 5,
      isCondition: true,
    });
    vi.restoreAllMocks();
    expect(await deliver(undefined, { contextManagement })).toEqual({
      state: 'failed',
      code: 'misconfigured',
    });
  });

  it('says of a turn that another worker runs when that must have ended, in whole seconds', async () => {
    const site = await createSite();
    const [first, second] = [await worker(site), await worker(site)];
    await first.receipts.claim('turn-1', CLAIM);
    await site.time.pause(1_500);
    // Two seconds more than what is left: the clocks of a server and a queue go in whole ones.
    expect(await second.deliver()).toEqual({
      state: 'later',
      code: 'running',
      afterSeconds: 91,
      isExact: true,
    });
    expect(asked).toBe(0);
  });

  it('takes a turn over after its lease, and lets the answer that was stored first count', async () => {
    const site = await createSite();
    const [slow, next] = [await worker(site), await worker(site)];
    beforeAnswer = async () => {
      beforeAnswer = async () => {};
      await site.time.pause(LEASE_MS + 1_000);
      expect(await next.deliver()).toMatchObject({ state: 'answered', isFresh: true });
    };
    expect(await slow.deliver()).toEqual({ state: 'later', code: 'taken_over', afterSeconds: 5 });
    expect(asked).toBe(2);
    const again = await slow.deliver();
    expect(again).toMatchObject({ state: 'answered', isFresh: false, answer: { text: 'answer 2' } });
    expect(asked).toBe(2);
  });

  it('asks Claude nothing when its time is up already, and leaves the turn to the next delivery', async () => {
    const site = await createSite();
    const first = await worker(site);
    const late = AbortSignal.abort(new DOMException('late', 'TimeoutError'));
    expect(await first.deliver(late)).toEqual({
      state: 'later',
      code: 'deadline',
      afterSeconds: 5,
      isCondition: true,
    });
    expect(asked).toBe(0);
    // Not even its receipt is written.
    expect(await receiptsOf(site)).toEqual([]);
    expect(await (await worker(site)).deliver()).toMatchObject({ state: 'answered', isFresh: true });
  });

  it('stores what Claude has said even when the time is up meanwhile', async () => {
    const site = await createSite();
    const first = await worker(site);
    const ending = new AbortController();
    first.client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key.includes('/answers/')) ending.abort();
      return proceed();
    });
    expect(await first.deliver(ending.signal)).toMatchObject({ state: 'answered', isFresh: true });
    expect(await (await worker(site)).deliver()).toMatchObject({ state: 'answered', isFresh: false });
    expect(asked).toBe(1);
  });

  it('lets an answer count that an earlier delivery stored while Claude was at work', async () => {
    const site = await createSite();
    const [first, next] = [await worker(site), await worker(site)];
    const claim = await first.receipts.claim('turn-1', CLAIM);
    if (claim.state !== 'ours') throw new Error(`the turn is ${claim.state}`);
    await site.time.pause(LEASE_MS + 1_000);
    beforeAnswer = async () => {
      await claim.lease.finish(bytes('{"outcome":"answered","text":"earlier","messages":[]}'));
    };
    expect(await next.deliver()).toMatchObject({ answer: { text: 'earlier' }, isFresh: true });
  });

  it('asks Claude with what the message says of the model, its limit and the system prompt', async () => {
    const site = await createSite();
    const bodies: unknown[] = [];
    const fetched: typeof fetch = (url, init) => {
      bodies.push(JSON.parse(String(init?.body)));
      return fetch(url, init);
    };
    const given = { model: 'claude-opus-5', maxTokens: 1_234, system: 'Be brief.' };
    const { tenant } = await (await site.client()).open();
    await deliverTurn({
      message: { ...MESSAGE, ...given },
      memory,
      receipts: createReceipts(tenant),
      conversations: createConversations(tenant),
      client: async () =>
        new Anthropic({ baseURL: claude.url, apiKey: 'test', maxRetries: 0, fetch: fetched }),
      turn: { model: 'claude-sonnet-5-5' },
      signal: new AbortController().signal,
      leaseMs: LEASE_MS,
      log: createJsonLogger({ write: () => {} }),
    });
    expect(bodies).toMatchObject([{ model: given.model, max_tokens: given.maxTokens }]);
    expect(JSON.stringify(bodies)).toContain(given.system);
  });

  it('gives a turn back within five seconds', async () => {
    const site = await createSite();
    const first = await worker(site);
    const ending = new AbortController();
    beforeAnswer = async () => ending.abort();
    const within = vi.spyOn(AbortSignal, 'timeout');
    await first.deliver(ending.signal);
    expect(within.mock.calls).toContainEqual([5_000]);
    within.mockRestore();
  });

  it('gives a turn back whose options make no request', async () => {
    const site = await createSite();
    const impossible = { contextManagement: { clearToolUses: { keep: -1 } } };
    expect(await (await worker(site)).deliver(undefined, impossible)).toEqual({
      state: 'failed',
      code: 'misconfigured',
    });
    expect(await (await worker(site)).deliver()).toMatchObject({ state: 'answered', isFresh: true });
  });

  it('says of a turn that its caller cancelled that it was aborted', async () => {
    const site = await createSite();
    const ending = new AbortController();
    beforeAnswer = async () => ending.abort();
    expect(await (await worker(site)).deliver(ending.signal)).toMatchObject({ code: 'aborted' });
  });

  it('waits no shorter than Claude asks for, in whole seconds', async () => {
    const site = await createSite();
    beforeAnswer = async () => {
      throw new ApiRefusal('busy', {
        status: 529,
        type: 'overloaded_error',
        headers: { 'retry-after-ms': '7001' },
      });
    };
    expect(await (await worker(site)).deliver()).toEqual({
      state: 'later',
      code: 'overloaded_error',
      afterSeconds: 8,
      isCondition: true,
    });
  });

  it('frees a turn whose answer cannot be stored, so that the next delivery need not wait for the lease', async () => {
    const site = await createSite();
    const first = await worker(site);
    first.client.intercept((call, proceed) =>
      call.verb === 'put' && call.key.includes('/answers/')
        ? Promise.reject(new MemoryError('unavailable', 'gone'))
        : proceed(),
    );
    expect(await first.deliver()).toMatchObject({ state: 'later', code: 'unavailable' });
    expect(await (await worker(site)).deliver()).toMatchObject({ state: 'answered', isFresh: true });
    expect(asked).toBe(2);
  });

  it('stops spending when another worker has taken the turn over, and leaves that one alone', async () => {
    const site = await createSite();
    const [frozen, next] = [await worker(site), await worker(site)];
    let parts = 0;
    reply = () => (parts++ === 0 ? { calls: [VIEW] } : { say: 'answer' });
    beforeAnswer = async () => {
      beforeAnswer = async () => {};
      await site.time.pause(LEASE_MS + 1_000);
      expect(await next.receipts.claim('turn-1', CLAIM)).toMatchObject({ state: 'ours' });
    };
    expect(await frozen.deliver()).toMatchObject({ state: 'later', code: 'taken_over' });
    expect(asked).toBe(1);
    expect(await (await worker(site)).deliver()).toMatchObject({ state: 'later', code: 'running' });
  });

  it('keeps a step even when the time is up meanwhile, and goes on behind it', async () => {
    const site = await createSite();
    const first = await worker(site);
    const ending = new AbortController();
    let parts = 0;
    reply = () => (parts++ === 0 ? { calls: [VIEW] } : { say: 'answer' });
    first.client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && call.key.includes('/receipts/') && asked === 1) ending.abort();
      return proceed();
    });
    expect(await first.deliver(ending.signal)).toMatchObject({ state: 'later', hasProgress: true });
    expect(await (await worker(site)).deliver()).toMatchObject({ state: 'answered' });
    expect(asked).toBe(2);
  });

  it('ends a turn whose worker died behind its last reply without a further one', async () => {
    const site = await createSite();
    const { client, deliver } = await worker(site);
    reply = () => ({ calls: [VIEW] });
    let isStored = false;
    client.intercept(async (call, proceed) => {
      const isAnswer = call.verb === 'put' && call.key.includes('/answers/');
      if (!isAnswer || isStored) return proceed();
      isStored = true;
      throw new MemoryError('access_denied', 'no more');
    });
    const turn = { maxRequests: 2 };
    expect(await deliver(undefined, turn)).toMatchObject({ state: 'later', code: 'access_denied' });
    const answer = { outcome: 'truncated', reason: 'max_requests', model: 'claude-sonnet-5-5' };
    expect(await deliver(undefined, turn)).toMatchObject({ state: 'answered', answer });
    expect(asked).toBe(2);
  });

  it('goes on when a step cannot be saved, and says so', async () => {
    const site = await createSite();
    const first = await worker(site);
    let parts = 0;
    reply = () => (parts++ === 0 ? { calls: [VIEW] } : { say: 'answer' });
    first.client.intercept((call, proceed) =>
      call.verb === 'put' && call.key.includes('/receipts/') && asked === 1
        ? Promise.reject(new MemoryError('unavailable', 'gone'))
        : proceed(),
    );
    expect(await first.deliver()).toMatchObject({ state: 'answered' });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: 'the progress of a turn could not be saved', code: 'unavailable' },
    ]);
  });

  it('fails for good on a progress that is malformed', async () => {
    const site = await createSite();
    const first = await worker(site);
    const claim = await first.receipts.claim('turn-1', CLAIM);
    if (claim.state !== 'ours') throw new Error(`the turn is ${claim.state}`);
    await claim.lease.save(bytes('{"steps":[]}'));
    await claim.lease.release();
    expect(await first.deliver()).toEqual({ state: 'failed', code: 'integrity' });
    expect(asked).toBe(0);
  });

  it('warns, and lets the lease run out, when a turn cannot be given back', async () => {
    const site = await createSite();
    const first = await worker(site);
    const ending = new AbortController();
    beforeAnswer = async () => {
      first.client.intercept((call, proceed) =>
        call.verb === 'put' ? Promise.reject(new MemoryError('unavailable', 'gone')) : proceed(),
      );
      ending.abort();
    };
    expect(await first.deliver(ending.signal)).toMatchObject({ state: 'later', afterSeconds: 5 });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', code: 'unavailable' }]);
    expect(await (await worker(site)).deliver()).toMatchObject({ state: 'later', code: 'running' });
    await site.time.pause(LEASE_MS + 1_000);
    expect(await (await worker(site)).deliver()).toMatchObject({ state: 'answered' });
  });

  it.each([
    '{"outcome":"dreamt","text":"x","messages":[]}',
    '{"outcome":"answered","text":["x"],"messages":[]}',
    '{"outcome":"answered","text":"x","messages":{}}',
  ])('fails for good on an answer that is malformed: %s', async (answer) => {
    const site = await createSite();
    const first = await worker(site);
    const claim = await first.receipts.claim('turn-1', CLAIM);
    if (claim.state !== 'ours') throw new Error(`the turn is ${claim.state}`);
    await claim.lease.finish(bytes(answer));
    expect(await first.deliver()).toEqual({ state: 'failed', code: 'integrity' });
    expect(asked).toBe(0);
  });

  it('fails for good on a receipt that was tampered with', async () => {
    const site = await createSite();
    const first = await worker(site);
    await first.deliver();
    const {
      tenant: { layout },
      keyring,
    } = await first.client.open();
    const key = classKey(layout, 'receipts', keyring.names.keyedHash('receipts', 'turn-1'));
    await site.base.put(key, new Uint8Array(300), { mode: 'overwrite' });
    expect(await (await worker(site)).deliver()).toEqual({ state: 'failed', code: 'integrity' });
  });
});

describe('failureOf', () => {
  const going = new AbortController().signal;

  it.each([
    ['unavailable', true],
    ['timeout', true],
    ['outcome_unknown', true],
    ['access_denied', true],
    ['key_unavailable', true],
    ['version_conflict', false],
  ] as const)(
    'takes %s for one that may pass, and for a condition of the deployment: %s',
    (code, isCondition) => {
      expect(failureOf(new MemoryError(code, 'x'), going)).toEqual({
        state: 'later',
        code,
        afterSeconds: 5,
        ...(isCondition && { isCondition }),
      });
    },
  );

  it.each(['integrity', 'misconfigured', 'unsupported_format', 'invalid_command', 'limit_exceeded'] as const)(
    'takes %s for one that stays',
    (code) => {
      expect(failureOf(new MemoryError(code, 'x'), going)).toEqual({ state: 'failed', code });
    },
  );

  it('tries a turn again whose keys were wiped beneath it', () => {
    expect(failureOf(new MemoryError('aborted', 'x'), going)).toEqual({
      state: 'later',
      code: 'aborted',
      afterSeconds: 5,
    });
  });

  it('does not wait for a tenant that was shredded', () => {
    const shredded = new MemoryError('key_unavailable', 'x', { details: { reason: 'destroyed' } });
    expect(failureOf(shredded, going)).toEqual({ state: 'failed', code: 'key_unavailable' });
  });

  it('takes whatever it does not know for one that may pass, and everything after the deadline', () => {
    expect(failureOf(new TypeError('canary'), going)).toEqual({
      state: 'later',
      code: 'unexpected',
      afterSeconds: 5,
    });
    expect(failureOf(new MemoryError('integrity', 'x'), AbortSignal.abort())).toMatchObject({
      state: 'later',
      code: 'deadline',
    });
  });
});

describe('toldFailure', () => {
  it('names the failure of the store behind what the library made of it', () => {
    const cause = new MemoryError('access_denied', 'x');
    expect(toldFailure(new MemoryError('unavailable', 'y', { cause }))).toEqual({ code: 'access_denied' });
    expect(toldFailure(new MemoryError('unavailable', 'y', { cause: new Error('z') })).code).toBe(
      'unavailable',
    );
    const ours = new MemoryError('not_found', 'z');
    expect(toldFailure(new MemoryError('unavailable', 'y', { cause: ours })).code).toBe('unavailable');
    expect(toldFailure('z').code).toBe('unexpected');
  });
});
