import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runTurn, type TurnOutcome, type TurnRequest } from '../../src/agent/index.ts';
import { MemoryError } from '../../src/errors.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { openSqliteObjectStore } from '../../src/objects/sqlite-object-store.ts';
import { openMemory } from '../../src/open-memory.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { type Around, interceptStore } from '../support/intercepted-store.ts';
import { commands, type Played, playClaude, type Sent } from '../support/played-claude.ts';

const MESSAGES: readonly BetaMessageParam[] = [{ role: 'user', content: 'Go on.' }];
const CREATE = commands({ command: 'create', path: '/memories/f', file_text: 'x' });
const VIEW = commands({ command: 'view', path: '/memories' });
const DONE = { say: 'Done.' };

let store: ObjectStore;
let around: Around;
let memory: Memory;

beforeEach(async () => {
  store = await openSqliteObjectStore({ path: ':memory:' });
  around = (_, proceed) => proceed();
  memory = await openMemory({
    store: interceptStore(store, (call, proceed) => around(call, proceed)),
    tenant: 'acme',
    rootKey: new Uint8Array(32).fill(1),
  });
});

afterEach(async () => {
  await memory.close();
  await store[Symbol.asyncDispose]();
});

type Turn = Partial<Omit<TurnRequest, 'client'>>;

async function play(
  parts: readonly Played[],
  options: Turn = {},
): Promise<{ readonly outcome: TurnOutcome; readonly sent: readonly Sent[]; readonly elapsed: number }> {
  await using claude = await playClaude(parts);
  const client = claude.client();
  const started = performance.now();
  const outcome = await runTurn({ client, memory, model: 'a-model', messages: MESSAGES, ...options });
  return { outcome, sent: claude.sent, elapsed: performance.now() - started };
}

async function isThere(path: string): Promise<boolean> {
  return !(await memory.execute({ command: 'view', path })).isError;
}

describe('runTurn, when its time is over,', () => {
  it('says whether it was the deadline or the caller, and sends nothing if it was before', async () => {
    const stop = AbortSignal.abort();
    const { outcome, sent } = await play([DONE], { signal: stop });
    expect(outcome).toMatchObject({ outcome: 'interrupted', by: 'aborted' });
    expect(sent).toHaveLength(0);
  });

  it('does not wait for a reply that does not come', async () => {
    const never = () => new Promise<never>(() => {});
    const { outcome, elapsed } = await play([CREATE, never], { signal: AbortSignal.timeout(300) });
    expect(outcome).toMatchObject({ outcome: 'interrupted', by: 'deadline' });
    expect(elapsed).toBeLessThan(3000);
    expect(await isThere('/memories/f')).toBe(true);
  });

  it('hands the signal to the request the store is at, and leaves whole files behind', async () => {
    await memory.execute({ command: 'create', path: '/memories/warm', file_text: 'x' });
    const stop = new AbortController();
    const hanging: ObjectStore = {
      ...store,
      get: (key, options) =>
        new Promise((resolve, reject) => {
          if (!key.includes('/data/')) return resolve(store.get(key, options));
          const aborted = new MemoryError('aborted', 'the request was aborted');
          options?.signal?.addEventListener('abort', () => reject(aborted));
          stop.abort();
        }),
      [Symbol.asyncDispose]: async () => {},
    };
    const slow = await openMemory({ store: hanging, tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
    const edit = { command: 'str_replace', path: '/memories/warm', old_str: 'x', new_str: 'y' };
    const { outcome, sent } = await play([commands(edit), DONE], { signal: stop.signal, memory: slow });
    expect(outcome).toMatchObject({ outcome: 'interrupted', by: 'aborted' });
    expect(sent).toHaveLength(1);
    const { content } = await memory.execute({ command: 'view', path: '/memories/warm' });
    expect(content).toContain('1\tx');
    await slow.close();
  });
});

describe('runTurn, when the memory does not work,', () => {
  const failing = (code: 'access_denied' | 'unavailable' | 'integrity'): void => {
    around = async () => {
      throw new MemoryError(code, 'the store is closed');
    };
  };

  it.each([
    ['access_denied', 'never'],
    ['integrity', 'never'],
    ['unavailable', 'later'],
  ] as const)('ends with %s before Claude hears of it', async (code, retry) => {
    await memory.execute({ command: 'create', path: '/memories/warm', file_text: 'x' });
    failing(code);
    const { outcome, sent } = await play([VIEW, DONE]);
    expect(outcome).toMatchObject({ outcome: 'failed', source: 'memory', code, retry });
    expect(sent).toHaveLength(1);
  });

  it('asks Claude nothing if the primed view fails', async () => {
    await memory.execute({ command: 'create', path: '/memories/warm', file_text: 'x' });
    failing('access_denied');
    const { outcome, sent } = await play([DONE], { prime: true });
    expect(outcome).toMatchObject({ outcome: 'failed', source: 'memory', code: 'access_denied' });
    expect(sent).toHaveLength(0);
  });

  it('lets Claude go on if told to', async () => {
    await memory.execute({ command: 'create', path: '/memories/warm', file_text: 'x' });
    failing('access_denied');
    const { outcome, sent } = await play([VIEW, DONE], { whenMemoryFails: 'go_on' });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Done.' });
    expect(JSON.stringify(sent[1]?.body)).toContain('"is_error":true');
    expect(JSON.stringify(sent[1]?.body)).not.toContain('the store is closed');
  });
});
