import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type LocalWorker,
  type Play,
  startLocalWorker,
  timeOf,
  wordsOf,
} from '../../../infra/local/lambda/local-worker.ts';
import { SHRED_MARKER } from '../../../src/format/keyring-bytes.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ApiRefusal } from '../../../src/testing/claude/api-refusal.ts';
import type { ScriptedScene } from '../../../src/testing/claude/scripted-claude.ts';
import type { MemoryEvent } from '../../../src/tool/watch.ts';
import { interceptStore } from '../../stage/store-wrappers.ts';
import { listingServer } from './listing-server.ts';

const TURN = { tenant: 'acme', turn: 'turn-1', prompt: 'remember the canary-acme' };
const NO_FAILURES = { batchItemFailures: [] };
const FIRST_BACK = { batchItemFailures: [{ itemIdentifier: 'm0' }] };

/** Notes what the user says in a file, then reads the directory back into its answer. */
const noting: Play = (scene) => {
  const results = toolResults(scene);
  const path = `/memories/${wordsOf(scene).replaceAll(' ', '-')}.md`;
  if (results.length === 0) {
    return { calls: [{ name: 'memory', input: { command: 'create', path, file_text: wordsOf(scene) } }] };
  }
  if (results.length === 1)
    return { calls: [{ name: 'memory', input: { command: 'view', path: '/memories' } }] };
  return { say: results[1] ?? '' };
};

function toolResults({ messages }: ScriptedScene): readonly string[] {
  return messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_result' ? [block.text] : [])),
  );
}

describe('the worker', () => {
  let store: ObjectStore;
  let site: LocalWorker;
  const start = async (...given: [Play?, Parameters<typeof startLocalWorker>[2]?]): Promise<LocalWorker> => {
    site = await startLocalWorker(store, ...given);
    return site;
  };
  beforeEach(() => {
    store = openSqliteObjectStore({ path: ':memory:' });
  });
  afterEach(async () => {
    await site[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  it('runs a turn with the tenant’s memory and replies', async () => {
    await start(noting);
    expect(await site.deliver([TURN])).toEqual(NO_FAILURES);
    expect(site.scenes).toHaveLength(3);
    expect(site.replies).toEqual([
      {
        tenant: 'acme',
        turn: 'turn-1',
        outcome: 'answered',
        text: expect.stringContaining('remember-the-canary'),
      },
    ]);
  });

  it('runs the turns of a tenant with its own model, prompt and limits, which a message goes before', async () => {
    const rootKey = randomBytes(32);
    const own = {
      model: 'claude-opus-5-5',
      system: 'Be brief.',
      maxTokens: 500,
      effort: 'low',
      tokensPerDay: 1,
    } as const;
    const tenants = (tenant: string) => (tenant === 'acme' ? own : undefined);
    await start(undefined, { memory: { store, rootKey, tenants }, turnOptions: { system: 'Be long.' } });
    await site.deliver([TURN, { ...TURN, tenant: 'globex' }]);
    const [second, first] = site.scenes.toSorted((a, b) => a.model.localeCompare(b.model));
    expect([second?.model, second?.system, second?.maxTokens]).toEqual(['claude-opus-5-5', 'Be brief.', 500]);
    expect([first?.system]).toEqual(['Be long.']);
    expect(await site.deliver([{ ...TURN, turn: 'turn-2' }])).toEqual(FIRST_BACK);
    expect(site.lines.join()).toContain('"code":"tokens_per_day"');
    await site.deliver([
      { ...TURN, tenant: 'globex', turn: 'turn-2', system: 'Sing.', model: 'claude-fable-5-1' },
    ]);
    expect(site.scenes.at(-1)).toMatchObject({ model: 'claude-fable-5-1', system: 'Sing.' });
  });

  it('keeps a turn in the queue while the settings of its tenant cannot be read', async () => {
    const tenants = (tenant: string) => {
      if (tenant === 'acme') throw new Error('throttled');
      return undefined;
    };
    await start(undefined, { memory: { store, rootKey: randomBytes(32), tenants } });
    expect(await site.deliver([TURN])).toEqual(FIRST_BACK);
    expect(site.lines.join()).toContain('"code":"unavailable"');
    expect(await site.deliver([{ ...TURN, tenant: 'globex' }])).toEqual(NO_FAILURES);
    expect(site.scenes).toHaveLength(1);
  });

  it('keeps turns in the queue while a tenant that they mount is shredded, and fails those of that tenant', async () => {
    const mount = { at: '/memories/handbook', tenant: 'org', readOnly: true, expires: false };
    const rootKey = randomBytes(32);
    await start(noting, { memory: { store, rootKey } });
    await site.deliver([{ ...TURN, tenant: 'org' }]);
    await store.put('keyrings/org' as ObjectKey, SHRED_MARKER, { mode: 'overwrite' });
    const mounting = site.another({ memory: { store, rootKey, mounts: [mount] } });
    expect(await site.deliver([TURN], { worker: mounting })).toEqual(FIRST_BACK);
    expect(site.lines.at(-1)).toContain('"message":"turn will be retried"');
    expect(site.lines.at(-1)).toContain('"code":"key_unavailable"');
    await site.deliver([{ ...TURN, tenant: 'org', turn: 'turn-2' }], { worker: site.another() });
    expect(site.lines.at(-1)).toContain('"message":"turn failed"');
    expect(await site.deliver([TURN])).toEqual(NO_FAILURES);
    expect(site.replies.at(-1)).toMatchObject({ tenant: 'acme', outcome: 'answered' });
  });

  it('tells the listeners of each turn its words and its calls of tools, and nothing of one that is answered again', async () => {
    const told: unknown[] = [];
    await start(noting, {
      onTurn: (name) => ({
        onText: (delta) => told.push([name, 'said', delta.length > 0]),
        onToolUse: (use) => told.push([name, use]),
      }),
    });
    const named = { tenant: 'acme', turn: 'turn-2', conversation: 'chat-1' };
    await site.deliver([{ ...named, prompt: 'hello' }]);
    const used = [named, { name: 'memory', outcome: 'ok' }];
    expect(told.slice(0, 3)).toEqual([used, used, [named, 'said', true]]);
    const before = told.length;
    await site.deliver([{ ...named, prompt: 'hello' }]);
    expect(told).toHaveLength(before);
    await site.deliver([TURN]);
    expect(told[before]).toEqual([
      { tenant: 'acme', turn: 'turn-1' },
      { name: 'memory', outcome: 'ok' },
    ]);
  });

  it('ends a turn at its most requests, cut by them', async () => {
    await start(noting, { turnOptions: { maxRequests: 2 } });
    await site.deliver([TURN]);
    expect(site.scenes).toHaveLength(2);
    expect(site.replies).toMatchObject([{ outcome: 'truncated', reason: 'max_requests' }]);
  });

  it('ends a turn that stays without a word for good', async () => {
    await start(() => ({}));
    await site.deliver([TURN]);
    await site.deliver([TURN]);
    expect(site.scenes).toHaveLength(2);
    const ended = { outcome: 'truncated', reason: 'wordless' };
    expect(site.replies).toMatchObject([ended, ended]);
  });

  it('asks with its own system prompt, or with that of the message', async () => {
    await start(({ system }) => ({ say: String(system) }), { turnOptions: { system: 'You bake.' } });
    await site.deliver([TURN, { ...TURN, turn: 'turn-2', system: 'You sail.' }]);
    expect(site.replies).toMatchObject([{ text: 'You bake.' }, { text: 'You sail.' }]);
  });

  it('answers a finished turn again without Claude, also in another process', async () => {
    await start(noting);
    await site.deliver([TURN]);
    await site.deliver([TURN]);
    await site.deliver([TURN], { worker: site.another() });
    expect(site.scenes).toHaveLength(3);
    expect(site.replies).toHaveLength(3);
    expect(new Set(site.replies.map((reply) => JSON.stringify(reply))).size).toBe(1);
  });

  it('runs a turn once that is delivered twice at once, and looks again when the other must have ended', async () => {
    const asked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    await start(async (scene) => {
      asked.resolve();
      await go.promise;
      return { say: wordsOf(scene) };
    });
    const first = site.deliver([TURN], { remainingMs: 60_000 });
    await asked.promise;
    expect(await site.deliver([TURN], { worker: site.another() })).toEqual(FIRST_BACK);
    // 90 s of lease, and two in which a store's whole seconds may say that it is not over.
    expect(site.visibility[0]).toBeGreaterThan(82);
    expect(site.visibility[0]).toBeLessThanOrEqual(92);
    go.resolve();
    expect(await first).toEqual(NO_FAILURES);
    expect(site.scenes).toHaveLength(1);
  });

  it('keeps tenants of one batch apart: memory, credentials, answers', async () => {
    const asked: string[] = [];
    await start(noting, {
      credentials: (tenant) => async () => {
        asked.push(tenant);
        return { accessKeyId: tenant, secretAccessKey: 's', sessionToken: 't', expiration: new Date(2e12) };
      },
    });
    const tenants = ['acme', 'bolt', 'core', 'dune'];
    const turn = (tenant: string) => ({ tenant, turn: 'same', prompt: `keep canary-${tenant}` });
    expect(await site.deliver(tenants.map(turn))).toEqual(NO_FAILURES);
    expect(new Set(asked)).toEqual(new Set(tenants));
    for (const reply of site.replies as { readonly tenant: string; readonly text: string }[]) {
      expect(reply.text).toContain(`canary-${reply.tenant}`);
      for (const other of tenants.filter((tenant) => tenant !== reply.tenant)) {
        expect(reply.text).not.toContain(`canary-${other}`);
      }
    }
    expect(site.replies).toHaveLength(4);
  });

  it('closes the memory of a turn with it, so that its tenant makes room for others', async () => {
    const gets: string[] = [];
    const watched = interceptStore(store, (call, proceed) => {
      if (call.verb === 'get') gets.push(call.key);
      return proceed();
    });
    const rootKey = randomBytes(32).toString('base64');
    const limited = { store: watched, rootKey, maxTenants: 1 };
    await start(undefined, { memory: limited });
    const loads = (): number => gets.filter((key) => key.endsWith('keyrings/acme')).length;
    await site.deliver([TURN]);
    const first = loads();
    await site.deliver([{ ...TURN, turn: 'turn-2' }]);
    expect(loads()).toBe(first);
    await site.deliver([{ ...TURN, tenant: 'other' }]);
    await site.deliver([{ ...TURN, turn: 'turn-3' }]);
    expect(loads()).toBe(first + 1);
  });

  it('tells onEvent of every command of a turn, and whose turn it was', async () => {
    const events: MemoryEvent[] = [];
    const rootKey = randomBytes(32).toString('base64');
    await start(noting, { memory: { store, rootKey, onEvent: (event) => events.push(event) } });
    await site.deliver([TURN]);
    const [command, actor] = [['create', 'view'], `turn ${TURN.turn}`];
    expect(events.map((event) => event.command)).toEqual(command);
    expect(events).toMatchObject([
      { tenant: 'acme', actor, outcome: 'ok' },
      { tenant: 'acme', actor, outcome: 'ok' },
    ]);
    expect(JSON.stringify(events)).not.toContain('canary');
  });

  it('shows mounted memories in every turn, each reached with the credentials of its own tenant', async () => {
    await using server = await listingServer([]);
    const asked: string[] = [];
    await start(undefined, {
      memory: {
        // The worker then asks for each before the turn begins.
        lazy: false,
        store: 's3://bucket',
        rootKey: randomBytes(32).toString('base64'),
        s3: { endpoint: server.endpoint, region: 'us-east-1' },
        mounts: [{ at: '/memories/handbook', tenant: 'org', readOnly: true }],
      },
      credentials: (tenant) => async () => {
        asked.push(tenant);
        return {
          accessKeyId: 'AKIATEST',
          secretAccessKey: 'secret',
          sessionToken: 'token',
          expiration: new Date(2e12),
        };
      },
    });
    await site.deliver([TURN]);
    expect(new Set(asked)).toEqual(new Set(['acme', 'org']));
  });

  it('tells the operator of every request, and counts those of a turn', async () => {
    await using server = await listingServer([]);
    const operations: string[] = [];
    await start(undefined, {
      memory: {
        store: 's3://bucket',
        rootKey: randomBytes(32).toString('base64'),
        s3: { endpoint: server.endpoint, region: 'us-east-1' },
        onRequest: ({ operation }) => operations.push(operation),
      },
      credentials: () => async () => ({
        accessKeyId: 'AKIATEST',
        secretAccessKey: 'secret',
        sessionToken: 'token',
        expiration: new Date(2e12),
      }),
    });
    expect(await site.deliver([TURN])).toEqual(FIRST_BACK);
    expect(operations).toHaveLength(server.requests.length);
    expect(operations).toContain('GetObject');
    const lines = site.lines.map((line) => JSON.parse(line));
    expect(lines).toContainEqual(
      expect.objectContaining({ message: 'turn will be retried', storeRequests: operations.length }),
    );
  });

  it('gives a turn back when Claude is busy, for as long as Claude says at least', async () => {
    let refusals: (Error | undefined)[] = [busy('17'), busy('3600'), busy(undefined)];
    await start((scene) => {
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      return { say: wordsOf(scene) };
    });
    for (let attempt = 0; attempt < 3; attempt++) expect(await site.deliver([TURN])).toEqual(FIRST_BACK);
    expect(site.visibility).toEqual([17, 3600, 5]);
    refusals = [];
    expect(await site.deliver([TURN])).toEqual(NO_FAILURES);
    expect(site.replies).toHaveLength(1);
  });

  it('hides a message until its function must have ended, then until the lease of its turn must have', async () => {
    await start();
    await site.deliver([TURN], { remainingMs: 60_000 });
    expect(site.received[0]).toBeGreaterThan(55);
    expect(site.received[0]).toBeLessThanOrEqual(65);
    // A minute of the function, 30 s of the lease beyond it, and what stores and queues do not tell exactly.
    expect(site.taken[0]).toBeGreaterThan(85);
    expect(site.taken[0]).toBeLessThanOrEqual(95);
  });

  it('fails fast, with its code, what Claude’s API refuses for good', async () => {
    await start(() => {
      throw new ApiRefusal('canary-in-error', { status: 400, type: 'invalid_request_error' });
    });
    expect(await site.deliver([TURN])).toEqual(FIRST_BACK);
    expect(site.visibility).toEqual([1]);
    expect(logOf(site)).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'turn failed', code: 'invalid_request_error' }),
    );
  });

  it('gives a turn back before its time is up, and leaves it to the next delivery at once', async () => {
    let pauseMs = 5_000;
    await start(async (scene) => {
      await sleep(pauseMs);
      return { say: wordsOf(scene) };
    });
    expect(await site.deliver([TURN], { remainingMs: 10_400 })).toEqual(FIRST_BACK);
    expect(logOf(site)).toContainEqual(
      expect.objectContaining({ message: 'turn will be retried', code: 'deadline' }),
    );
    pauseMs = 0;
    expect(await site.deliver([TURN])).toEqual(NO_FAILURES);
  });

  it('replies again, without Claude, when the reply was lost', async () => {
    await start();
    site.failSending(new Error('the queue is gone'));
    expect(await site.deliver([TURN])).toEqual(FIRST_BACK);
    site.failSending(undefined);
    expect(await site.deliver([TURN])).toEqual(NO_FAILURES);
    expect(site.scenes).toHaveLength(1);
    expect(site.replies).toHaveLength(1);
  });

  it('stores and answers a refusal of Claude’s like an answer', async () => {
    await start(() => ({ say: 'half a word', stop: 'refusal' }));
    await site.deliver([TURN]);
    await site.deliver([TURN]);
    expect(site.scenes).toHaveLength(1);
    expect(site.replies[1]).toEqual({
      tenant: 'acme',
      turn: 'turn-1',
      outcome: 'refused',
      reason: 'general_harms',
      text: '',
    });
  });

  it.each(['not JSON', '{}', JSON.stringify({ ...TURN, tenant: '../x' })])(
    'sends the message %s towards the dead letters without delay',
    async (message) => {
      await start();
      expect(await site.deliver([message])).toEqual(FIRST_BACK);
      expect(site.visibility).toEqual([1]);
      expect(site.scenes).toHaveLength(0);
    },
  );

  it('names the request of a message that holds no turn, and nothing of the message', async () => {
    await start();
    const told = { level: 'error', message: 'a message holds no turn', code: 'invalid_command' };
    const { getRemainingTimeInMillis } = timeOf(60_000);
    for (const id of [{ awsRequestId: 'request-1' }, {}]) {
      const context = { getRemainingTimeInMillis, ...id };
      const asked = site.worker.invoke({ ...TURN, tenant: '../canary' }, context);
      await expect(asked).rejects.toMatchObject({ name: 'TurnFailed' });
    }
    const lines = site.lines
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message === told.message);
    expect(lines).toMatchObject([{ ...told, requestId: 'request-1' }, told]);
    expect(lines.map((line) => 'requestId' in line)).toEqual([true, false]);
    expect(site.lines.join('\n')).not.toContain('canary');
  });

  it('gives a turn back whose tenant role may not be assumed, and says why', async () => {
    const { MemoryError } = await import('../../../src/errors.ts');
    await start(undefined, {
      credentials: () => async () => {
        throw new MemoryError('access_denied', 'the tenant role may not be assumed');
      },
    });
    expect(await site.deliver([TURN])).toEqual(FIRST_BACK);
    expect(site.visibility).toEqual([5]);
    expect(logOf(site)).toContainEqual(
      expect.objectContaining({ message: 'turn will be retried', code: 'access_denied' }),
    );
  });

  it.each([0, 172_799, 1_209_601, 345_600.5])(
    'refuses a queue that keeps its messages for %d s',
    async (seconds) => {
      const queue = { sqs: { send: async () => {} } as never, url: 'https://queue.example/turns' };
      await expect(
        startLocalWorker(undefined, undefined, { queue: { ...queue, retentionSeconds: seconds } }),
      ).rejects.toMatchObject({ code: 'misconfigured' });
    },
  );

  it('writes no path, no text and no turn into its log', async () => {
    await start(noting);
    await site.deliver([TURN, { ...TURN, turn: 'turn-2', prompt: 'keep canary-two' }]);
    expect(logOf(site)).toContainEqual(
      expect.objectContaining({
        message: 'turn answered',
        tenant: 'acme',
        claudeRequests: 3,
        code: 'answered',
      }),
    );
    expect(logOf(site)).toContainEqual(
      expect.objectContaining({ message: 'memory command', command: 'create', code: 'ok' }),
    );
    expect(site.lines.join('\n')).not.toMatch(/canary|memories|turn-1|turn-2/);
  });

  it('answers a caller that waits: with the answer, or with an error a state machine can catch', async () => {
    await start();
    const answer = await site.worker.invoke(TURN, timeOf(60_000));
    const text = { outcome: 'answered', text: 'You said: remember the canary-acme' };
    expect(answer).toEqual(text);
    const whole = await site.worker.invoke({ ...TURN, answer: 'full' }, timeOf(60_000));
    expect(whole).toMatchObject({ ...text, messages: [{}, {}], usage: { requests: 1 } });
    await expect(site.worker.invoke({ ...TURN, tenant: 7 }, timeOf(60_000))).rejects.toMatchObject({
      name: 'TurnFailed',
      message: 'invalid_command',
    });
    await expect(site.worker.invoke({ ...TURN, turn: 'late' }, timeOf(10_000))).rejects.toMatchObject({
      name: 'TurnLater',
      message: 'deadline',
    });
  });

  it('answers a function URL with status, headers and JSON', async () => {
    await start();
    const event = (body: string, isBase64Encoded = false) => ({
      requestContext: { http: {} },
      body,
      isBase64Encoded,
    });
    const ask = (given: unknown) => site.worker.invoke(given, timeOf(60_000));
    const text = JSON.stringify(TURN);
    const encoded = Buffer.from(text).toString('base64');
    for (const given of [event(text), event(encoded, true)]) {
      const { statusCode, body } = (await ask(given)) as {
        readonly statusCode: number;
        readonly body: string;
      };
      expect(statusCode).toBe(200);
      expect(JSON.parse(body)).toMatchObject({ outcome: 'answered' });
    }
    expect(await ask(event('no'))).toMatchObject({ statusCode: 400, body: '{"code":"invalid_command"}' });
    expect(await ask(event('no base64', true))).toMatchObject({ statusCode: 400 });
  });
});

function busy(retryAfter: string | undefined): ApiRefusal {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  return new ApiRefusal('Slow down', { status: 429, type: 'rate_limit_error', headers });
}

function logOf({ lines }: LocalWorker): readonly unknown[] {
  return lines.map((line) => JSON.parse(line));
}
