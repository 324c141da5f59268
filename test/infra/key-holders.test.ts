import type { SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startLocalWorker, timeOf } from '../../infra/local/lambda/local-worker.ts';
import { MemoryError, type MemoryErrorCode } from '../../src/errors.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import type { RootKey } from '../../src/keys/root-key.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { createExpiry } from '../../src/worker/expiry/expiry-queue.ts';
import { createJsonLogger } from '../../src/worker/json-log.ts';
import { createFastQueue, type FastQueue } from '../units/worker/fast-queue.ts';
import { alarmsOf, countedAs, type LogLine } from './alarm-play.ts';
import { synthesize } from './synthesized.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;
const template = synthesize({ direct: 'true', tenantSettings: 'true' });

/** A root key whose service refuses or is away while it has a code to say so. */
interface Service {
  readonly key: RootKey;
  refusedAs: MemoryErrorCode | undefined;
}

function serviceOf(byte: number): Service {
  const held = envRootKey(new Uint8Array(32).fill(byte));
  const answering = (): void => {
    if (service.refusedAs !== undefined) throw new MemoryError(service.refusedAs, 'canary');
  };
  const service: Service = {
    refusedAs: undefined,
    key: {
      id: `service-${byte}`,
      generate: async (...given) => {
        answering();
        return held.generate(...given);
      },
      unwrap: async (...given) => {
        answering();
        return held.unwrap(...given);
      },
    },
  };
  return service;
}

let store: ObjectStore;
beforeEach(() => {
  store = openSqliteObjectStore({ path: ':memory:' });
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await store[Symbol.asyncDispose]();
});

interface Days {
  readonly alarms: readonly string[];
  /** All lines of worker, direct worker and expiry. */
  readonly lines: readonly LogLine[];
  readonly queue: FastQueue;
  readonly metric: number;
}

/**
 * Plays a deployment for some seconds: acme holds a key of his own, globex has the deployment's. Each has a turn in the
 * queue, six callers that wait, and an expiry.
 */
async function play(
  refusing: { readonly customers?: MemoryErrorCode; readonly operators?: MemoryErrorCode },
  seconds = 2 * DAY,
): Promise<Days> {
  const [customers, operators] = [serviceOf(1), serviceOf(2)];
  const queue = createFastQueue({ retentionSeconds: 2 * DAY, onTime: (ms) => vi.setSystemTime(ms) });
  const logs: Record<'MemoryWorkerLogs' | 'MemoryDirectWorkerLogs' | 'MemoryExpiryLogs', LogLine[]> = {
    MemoryWorkerLogs: [],
    MemoryDirectWorkerLogs: [],
    MemoryExpiryLogs: [],
  };
  const logger = (name: keyof typeof logs) =>
    createJsonLogger({ write: (line) => logs[name].push(JSON.parse(line) as LogLine) });
  const memory = {
    store,
    rootKey: operators.key,
    tenants: (tenant: string) => (tenant === 'acme' ? { rootKey: customers.key } : undefined),
  } satisfies Partial<MemoryOptions>;
  const { sqs, url, deadLetterUrl, customerDeadLetterUrl } = queue;
  vi.setSystemTime(Date.UTC(2026, 0, 1) - 1_000);
  await using local = await startLocalWorker(store, undefined, {
    memory,
    queue: { sqs, url, deadLetterUrl, customerDeadLetterUrl, retentionSeconds: 2 * DAY },
  });
  const turn = (tenant: string, name: string) => ({ tenant, turn: `${tenant}-${name}`, prompt: 'question' });
  for (const tenant of ['acme', 'globex']) {
    await local.worker.invoke(turn(tenant, 'first'), timeOf(60_000));
  }
  customers.refusedAs = refusing.customers;
  operators.refusedAs = refusing.operators;
  const errors: number[] = [];
  const direct = local.another({ logger: logger('MemoryDirectWorkerLogs') });
  const expire = createExpiry({
    memory: { ...memory, expireAfterDays: 90 },
    queue: { sqs: { send: async () => ({}) } as unknown as SQSClient, url: 'https://queue.example/expiry' },
    logger: logger('MemoryExpiryLogs'),
  });
  vi.setSystemTime(Date.UTC(2026, 0, 1));
  for (const tenant of ['acme', 'globex']) {
    for (let n = 0; n < 6; n++) {
      const asked = direct.invoke(turn(tenant, `direct-${n}`), timeOf(60_000));
      await asked.catch(() => errors.push(Date.now()));
    }
    const body = JSON.stringify({ run: '2026-01-01T00:00:00.000Z', tenant });
    const record = { messageId: tenant, body, attributes: {} };
    await expire({ Records: [record] }, { getRemainingTimeInMillis: () => 300_000 });
  }
  for (const tenant of ['acme', 'globex']) {
    queue.put(turn(tenant, 'queued'));
  }
  await queue.run(local.another({ logger: logger('MemoryWorkerLogs') }).handler, seconds);
  const alarms = alarmsOf(template, {
    logs,
    ofAws(metric, dimensions, fromMs) {
      if (metric === 'Errors' && dimensions.includes('MemoryDirect')) {
        return errors.filter((at) => at >= fromMs && at < fromMs + 300_000).length;
      }
      if (metric !== 'ApproximateNumberOfMessagesVisible') return undefined;
      return dimensions.includes('MemoryDeadLetters') ? queue.deadLetters.length : undefined;
    },
  });
  const lines = Object.values(logs).flat();
  return { alarms, lines, queue, metric: countedAs(template, 'CustomerKeyUnavailable', lines) };
}

/** The alarms that go off while the deployment's own key is away: at turns, at callers that wait, and at the expiry. */
const AT_ONCE = ['CloudRetries', 'DirectErrors', 'ExpiryTenants', 'WaitingTurns'];
const IN_THE_END = [...AT_ONCE, 'DeadLetters'].toSorted();

describe('the alarms of an operator', { timeout: 120_000 }, () => {
  it('are quiet while all keys answer', async () => {
    const { alarms, metric, queue } = await play({});
    expect([alarms, metric, queue.deadLetters, queue.customerDeadLetters]).toEqual([[], 0, [], []]);
  });

  it.each(['key_unavailable', 'access_denied', 'unavailable', 'timeout'] as const)(
    'tell a key that a customer holds from the deployment’s, as %s',
    async (code) => {
      const his = await play({ customers: code }, HOUR);
      expect(his.alarms).toEqual([]);
      expect(his.metric).toBeGreaterThan(3);
      const held = his.lines.filter(({ keyHolder }) => keyHolder !== undefined);
      expect(new Set(held.map(({ keyHolder }) => keyHolder))).toEqual(new Set(['tenant']));
      expect(new Set(held.map(({ code: told }) => told))).toEqual(new Set([code]));
      expect(held.filter(({ level }) => level === 'error')).toEqual([]);
      expect(JSON.stringify(his.lines)).not.toContain('canary');
      const ours = await play({ operators: code }, HOUR);
      expect(ours.alarms).toEqual(AT_ONCE);
      expect(ours.metric).toBe(0);
      expect(ours.lines.filter(({ keyHolder }) => keyHolder !== undefined)).toEqual([]);
    },
  );

  it('stay quiet when his turns are given up at last', async () => {
    const { alarms, queue } = await play({ customers: 'key_unavailable' });
    expect(alarms).toEqual([]);
    expect(queue.deadLetters).toEqual([]);
    const attributes = { code: 'key_unavailable', keyHolder: 'tenant' };
    expect(queue.customerDeadLetters).toMatchObject([{ attributes }]);
  });

  it('go off while both are away, and each dead letter lies where it belongs', async () => {
    const { alarms, metric, queue } = await play({
      customers: 'key_unavailable',
      operators: 'key_unavailable',
    });
    expect(alarms).toEqual(IN_THE_END);
    expect(metric).toBeGreaterThan(3);
    const tenantsOf = (letters: FastQueue['deadLetters']): readonly string[] =>
      letters.map(({ body }) => JSON.parse(body).tenant as string);
    expect(tenantsOf(queue.deadLetters)).toEqual(['globex']);
    expect(tenantsOf(queue.customerDeadLetters)).toEqual(['acme']);
  });
});
