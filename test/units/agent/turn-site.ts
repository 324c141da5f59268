import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { afterEach, beforeEach } from 'vitest';
import { runTurn, type TurnOutcome, type TurnRequest } from '../../../src/agent/index.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { type Played, playClaude, type Sent } from '../../stage/scripted-claude.ts';
import { type Around, interceptStore } from '../../stage/store-wrappers.ts';

export const MESSAGES: readonly BetaMessageParam[] = [{ role: 'user', content: 'Go on.' }];

export interface Turn extends Partial<Omit<TurnRequest, 'client'>> {
  readonly maxRetries?: number;
}

/** A memory of each test's own, and turns on it. */
export interface TurnSite {
  readonly store: ObjectStore;
  readonly memory: Memory;
  /** Stands around the requests of the memory from now on. */
  around: Around;
  /** Runs a turn with a Claude that plays these parts. */
  play(
    parts: readonly Played[],
    turn?: Turn,
  ): Promise<{ readonly outcome: TurnOutcome; readonly sent: readonly Sent[]; readonly elapsed: number }>;
  isThere(path: string): Promise<boolean>;
}

/** Opens the site before each test and closes it after. */
export function useTurnSite(): TurnSite {
  let store: ObjectStore;
  let memory: Memory;
  const site: TurnSite = {
    get store() {
      return store;
    },
    get memory() {
      return memory;
    },
    around: (_, proceed) => proceed(),
    async play(parts, { maxRetries = 0, ...options } = {}) {
      await using claude = await playClaude(parts);
      const client = claude.client({ maxRetries });
      const started = performance.now();
      const outcome = await runTurn({
        client,
        memory,
        model: 'claude-opus-4-8',
        messages: MESSAGES,
        ...options,
      });
      return { outcome, sent: claude.sent, elapsed: performance.now() - started };
    },
    async isThere(path) {
      return !(await memory.execute({ command: 'view', path })).isError;
    },
  };
  beforeEach(async () => {
    store = openSqliteObjectStore({ path: ':memory:' });
    site.around = (_, proceed) => proceed();
    memory = await openMemory({
      store: interceptStore(store, (call, proceed) => site.around(call, proceed)),
      tenant: 'acme',
      rootKey: new Uint8Array(32).fill(1),
    });
  });
  afterEach(async () => {
    await memory.close();
    await store[Symbol.asyncDispose]();
  });
  return site;
}
