import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { playSteps, startLocalWorker } from '../../../infra/local/lambda/local-worker.ts';
import type { TenantSettings } from '../../../src/open/options/options.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';

const keyOf = (n: number) => new Uint8Array(32).fill(n);
const CREATE = JSON.stringify([[{ command: 'create', path: '/memories/a.md', file_text: 'a' }]]);

let store: ObjectStore;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.UTC(2026, 10, 28) });
  store = openSqliteObjectStore({ path: ':memory:' });
});
afterEach(async () => {
  vi.useRealTimers();
  await store[Symbol.asyncDispose]();
});

describe('a turn that runs while the settings of its tenant change', () => {
  it('is answered and kept by the keys that they name then, in its conversation too', async () => {
    let settings: TenantSettings = { rootKey: keyOf(7) };
    await using local = await startLocalWorker(
      store,
      (scene) => {
        settings = { rootKey: [keyOf(8), keyOf(7)] };
        vi.advanceTimersByTime(360_000);
        return playSteps(scene);
      },
      { memory: { store, rootKey: keyOf(1), tenants: () => settings } },
    );
    const message = { tenant: 'acme', turn: 't', conversation: 'c', prompt: CREATE };
    const asked = { remainingMs: 3_600_000 };
    expect(await local.deliver([message], asked)).toEqual({ batchItemFailures: [] });
    expect(local.replies).toMatchObject([{ turn: 't', outcome: 'answered' }]);
    expect(local.lines.join('\n')).not.toContain('aborted');
    expect(await local.deliver([message], asked)).toEqual({ batchItemFailures: [] });
    expect(local.scenes).toHaveLength(2);
  });

  it('is left in time where they are not answered, and the others of its batch are not held up', async () => {
    await using local = await startLocalWorker(store, undefined, {
      memory: {
        store,
        rootKey: keyOf(1),
        tenants: (tenant) => (tenant === 'acme' ? new Promise<never>(() => {}) : undefined),
      },
    });
    const messages = ['acme', 'globex'].map((tenant) => ({ tenant, turn: 't', prompt: 'q' }));
    const left = await local.deliver(messages, { remainingMs: 12_000 });
    expect(left).toEqual({ batchItemFailures: [{ itemIdentifier: 'm0' }] });
    expect(local.lines.join('\n')).toContain('"code":"deadline"');
  });
});
