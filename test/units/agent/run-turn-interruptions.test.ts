import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { commands } from '../../stage/scripted-claude.ts';
import { useTurnSite } from './turn-site.ts';

const CREATE = commands({ command: 'create', path: '/memories/f', file_text: 'x' });
const VIEW = commands({ command: 'view', path: '/memories' });
const VIEW_FILE = commands({ command: 'view', path: '/memories/warm' });
const DONE = { say: 'Done.' };

const site = useTurnSite();
const { play, isThere } = site;

describe('runTurn, when its time is over,', () => {
  it('says whether it was the deadline or the caller, and sends nothing if it was before', async () => {
    const stop = AbortSignal.abort();
    const { outcome, sent } = await play([DONE], { signal: stop });
    expect(outcome).toMatchObject({ outcome: 'interrupted', by: 'aborted' });
    expect(sent).toHaveLength(0);
  });

  it('says that it was interrupted, too, where the memory fails for that', async () => {
    await site.memory.execute({ command: 'create', path: '/memories/warm', file_text: 'x' });
    const stop = new AbortController();
    site.around = async (call, proceed) => {
      if (!('key' in call) || !call.key.includes('/data/')) return proceed();
      stop.abort();
      throw new MemoryError('unavailable', 'the connection was closed');
    };
    const { outcome } = await play([VIEW_FILE, DONE], { signal: stop.signal });
    expect(outcome).toMatchObject({ outcome: 'interrupted', by: 'aborted' });
  });

  it('counts the tokens of the reply that it was in', async () => {
    const stop = new AbortController();
    const say = 'word '.repeat(400);
    const { outcome } = await play([{ say }], { signal: stop.signal, onText: () => stop.abort() });
    expect(outcome).toMatchObject({ outcome: 'interrupted', usage: { requests: 1 } });
    const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = outcome.usage;
    expect(outputTokens).toBeGreaterThanOrEqual(500);
    expect(inputTokens + cacheReadTokens + cacheWriteTokens).toBeGreaterThan(0);
  });

  it('does not wait for a reply that does not come', async () => {
    const time = new AbortController();
    const never = () => {
      setTimeout(() => time.abort(new DOMException('The time is up.', 'TimeoutError')), 50);
      return new Promise<never>(() => {});
    };
    const { outcome, elapsed } = await play([CREATE, never], { signal: time.signal });
    expect(outcome).toMatchObject({ outcome: 'interrupted', by: 'deadline' });
    expect(elapsed).toBeLessThan(3000);
    expect(await isThere('/memories/f')).toBe(true);
  });

  it('hands the signal to the request the store is at, and leaves whole files behind', async () => {
    await site.memory.execute({ command: 'create', path: '/memories/warm', file_text: 'x' });
    const stop = new AbortController();
    const hanging: ObjectStore = {
      ...site.store,
      get: (key, options) =>
        new Promise((resolve, reject) => {
          if (!key.includes('/data/')) return resolve(site.store.get(key, options));
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
    const { content } = await site.memory.execute({ command: 'view', path: '/memories/warm' });
    expect(content).toContain('1\tx');
    await slow.close();
  });
});

describe('runTurn, when the memory does not work,', () => {
  const failing = (code: 'access_denied' | 'unavailable' | 'integrity'): void => {
    site.around = async () => {
      throw new MemoryError(code, 'the store is closed');
    };
  };

  it.each([
    ['access_denied', 'never'],
    ['integrity', 'never'],
    ['unavailable', 'later'],
  ] as const)('ends with %s before Claude hears of it', async (code, retry) => {
    await site.memory.execute({ command: 'create', path: '/memories/warm', file_text: 'x' });
    failing(code);
    const { outcome, sent } = await play([VIEW, DONE]);
    expect(outcome).toMatchObject({ outcome: 'failed', source: 'memory', code, retry });
    expect(sent).toHaveLength(1);
  });

  it('asks Claude nothing if the primed view fails', async () => {
    await site.memory.execute({ command: 'create', path: '/memories/warm', file_text: 'x' });
    failing('access_denied');
    const { outcome, sent } = await play([DONE], { prime: true });
    expect(outcome).toMatchObject({ outcome: 'failed', source: 'memory', code: 'access_denied' });
    expect(sent).toHaveLength(0);
  });

  it('lets Claude go on if told to', async () => {
    await site.memory.execute({ command: 'create', path: '/memories/warm', file_text: 'x' });
    failing('access_denied');
    const { outcome, sent } = await play([VIEW, DONE], { whenMemoryFails: 'go_on' });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Done.' });
    expect(JSON.stringify(sent[1]?.body)).toContain('"is_error":true');
    expect(JSON.stringify(sent[1]?.body)).not.toContain('the store is closed');
  });

  it('primes with the failure as such if Claude is to go on', async () => {
    await site.memory.execute({ command: 'create', path: '/memories/warm', file_text: 'x' });
    failing('access_denied');
    const { sent } = await play([DONE], { prime: true, whenMemoryFails: 'go_on' });
    const results = sent[0]?.body.messages.at(-1);
    expect(results).toMatchObject({ content: [{ type: 'tool_result', is_error: true }] });
  });
});
