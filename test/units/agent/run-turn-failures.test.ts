import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { runTurn } from '../../../src/agent/index.ts';
import { ApiRefusal } from '../../../src/testing/claude/api-refusal.ts';
import { commands, playClaude } from '../../stage/scripted-claude.ts';
import { MESSAGES, useTurnSite } from './turn-site.ts';

const CREATE = commands({ command: 'create', path: '/memories/f', file_text: 'x' });
const VIEW = commands({ command: 'view', path: '/memories' });
const DONE = { say: 'Done.' };

const site = useTurnSite();
afterEach(() => vi.useRealTimers());
const { play, isThere } = site;

const refusal = (status: number, type: string, headers: Readonly<Record<string, string>> = {}) =>
  new ApiRefusal('No.', { status, type, headers });
const limited = (headers: Readonly<Record<string, string>>) => refusal(429, 'rate_limit_error', headers);

describe('runTurn, when the API does not answer,', () => {
  it.each([
    [429, 'rate_limit_error', { 'retry-after': '7' }, 7000],
    [529, 'overloaded_error', { 'retry-after': '3' }, 3000],
    [529, 'overloaded_error', { 'retry-after-ms': '250', 'retry-after': '3' }, 250],
    [529, 'overloaded_error', {}, undefined],
    [408, 'timeout_error', {}, undefined],
    [409, 'conflict_error', {}, undefined],
    [499, 'api_error', { 'x-should-retry': 'true' }, undefined],
    [500, 'api_error', {}, undefined],
    [500, 'api_error', { 'retry-after': '-1' }, undefined],
    [503, 'api_error', { 'retry-after': 'soon' }, undefined],
    [503, 'api_error', { 'retry-after': '2147483' }, 2_147_483_000],
    [503, 'api_error', { 'retry-after': '2147484' }, undefined],
  ])('calls %i %s a failure that passes, and says when to come back', async (status, type, headers, wait) => {
    const { outcome } = await play([VIEW, refusal(status, type, headers)]);
    expect(outcome).toMatchObject({ outcome: 'failed', source: 'api', code: type, retry: 'later' });
    expect(outcome).toHaveProperty('retryAfterMs', wait);
    expect(outcome.messages).toHaveLength(3);
  });

  it('reads a date to come back at', async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const { outcome } = await play([limited({ 'retry-after': date })]);
    expect(outcome).toMatchObject({ outcome: 'failed', retry: 'later' });
    const { retryAfterMs } = outcome as { readonly retryAfterMs: number };
    expect(retryAfterMs).toBeGreaterThan(55_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  it.each([
    [400, 'invalid_request_error', {}],
    [401, 'authentication_error', {}],
    [403, 'permission_error', {}],
    [404, 'not_found_error', {}],
    [413, 'request_too_large', {}],
    [499, 'api_error', {}],
    [500, 'api_error', { 'x-should-retry': 'false' }],
    [429, 'rate_limit_error', { 'x-should-retry': 'false' }],
  ])('calls %i %s a failure that stays', async (status, type, headers) => {
    const { outcome } = await play([refusal(status, type, headers)]);
    expect(outcome).toMatchObject({ outcome: 'failed', source: 'api', code: type, retry: 'never' });
  });

  it.each([
    [400, 'You have reached your specified API usage limits. You will regain access later.'],
    [400, 'You have reached your specified workspace API usage limits.'],
    [400, 'Your credit balance is too low to access the Anthropic API.'],
  ])('calls a spend limit by its name, though it is told as %i: %s', async (status, message) => {
    const { outcome } = await play([new ApiRefusal(message, { status, type: 'invalid_request_error' })]);
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'billing_error', retry: 'never' });
  });

  it.each([
    'prompt is too long: 208656 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again',
  ])('calls a conversation beyond the model’s window by its name: %s', async (message) => {
    const type = 'invalid_request_error';
    const { outcome } = await play([new ApiRefusal(message, { status: 400, type })]);
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'prompt_too_long', retry: 'never' });
  });

  it.each([
    ['enforced_spend_limit_reached', 'billing_error'],
    ['ramp_limit_exceeded', 'rate_limit_error'],
  ])('knows by its code %s that a limit is %s, and that it passes', async (error_code, code) => {
    const type = 'rate_limit_error';
    const { outcome } = await play([new ApiRefusal('No.', { status: 429, type, details: { error_code } })]);
    expect(outcome).toMatchObject({ outcome: 'failed', code, retry: 'later' });
  });

  it('lets the client repeat a request as it was told to', async () => {
    const wait = { 'retry-after-ms': '20' };
    const { outcome, sent } = await play([limited(wait), refusal(529, 'overloaded_error', wait), DONE], {
      maxRetries: 2,
    });
    expect(outcome).toMatchObject({ outcome: 'answered', usage: { requests: 1 } });
    expect(sent).toHaveLength(3);
  });

  it('ends the client’s long pause at the deadline', async () => {
    const time = new AbortController();
    const refuse = () => {
      setTimeout(() => time.abort(new DOMException('The time is up.', 'TimeoutError')), 200);
      throw limited({ 'retry-after': '600' });
    };
    const { outcome, elapsed, sent } = await play([refuse], { maxRetries: 5, signal: time.signal });
    expect(outcome).toMatchObject({ outcome: 'interrupted', by: 'deadline' });
    expect(elapsed).toBeLessThan(3000);
    expect(sent).toHaveLength(1);
  });

  it('calls an API that cannot be reached a failure that passes', async () => {
    const claude = await playClaude([]);
    const client = claude.client();
    await claude[Symbol.asyncDispose]();
    const outcome = await runTurn({
      client,
      memory: site.memory,
      model: 'claude-opus-4-8',
      messages: MESSAGES,
    });
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'connection', retry: 'later' });
  });
});

describe('runTurn, when a reply is cut,', () => {
  it.each([
    ['breaks before the first event', 'break', 0],
    ['breaks within a call', 'break', 2],
    ['breaks before its end', 'break', 5],
    ['ends before the first event', 'end', 0],
    ['ends within a call', 'end', 2],
    ['ends behind the call', 'end', 4],
    ['ends before its last event', 'end', 5],
  ] as const)('asks for it again if it %s, and runs its calls once', async (_, fault, afterEvents) => {
    let writes = 0;
    await site.memory.execute({ command: 'create', path: '/memories/warm', file_text: '' });
    site.around = (call, proceed) => {
      if (call.verb === 'put') writes += 1;
      return proceed();
    };
    const { outcome, sent } = await play([{ fault, afterEvents, part: CREATE }, CREATE, DONE]);
    expect(outcome).toMatchObject({ outcome: 'answered', usage: { requests: 3 } });
    expect(sent[1]?.body).toEqual(sent[0]?.body);
    expect(writes).toBe(1);
    expect(await isThere('/memories/f')).toBe(true);
  });

  it.each([
    ['before it began', 'break', 0, 'none'],
    ['behind its beginning', 'break', 1, 'input'],
    ['behind words', 'break', 3, 'words'],
    ['before its end', 'end', 5, 'all'],
    ['by the API itself, behind words', 'overloaded', 3, 'words'],
  ] as const)('counts the tokens of a reply that was cut %s', async (_, fault, afterEvents, counted) => {
    const part = { say: 'word '.repeat(400) };
    const { outcome: whole } = await play([part]);
    const cut = { fault, afterEvents, part } as const;
    const { outcome } = await play(fault === 'overloaded' ? [cut] : [cut, cut, cut]);
    expect(outcome).toMatchObject({ outcome: 'failed' });
    const times = outcome.usage.requests;
    expect(times).toBe(fault === 'overloaded' ? 1 : 3);
    const inputOf = ({ usage }: typeof outcome): number =>
      usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
    expect(inputOf(outcome)).toBe(counted === 'none' ? 0 : times * inputOf(whole));
    // The API has told one token of output at the beginning, and tells all of them at the end.
    const output = { none: 0, input: 1, words: 500, all: whole.usage.outputTokens }[counted];
    expect(outcome.usage.outputTokens).toBe(times * output);
    expect(outcome.usage).toMatchObject({ compactions: 0, clearedToolUses: 0 });
  });

  it('adds them to those of the reply that arrives', async () => {
    const part = { say: 'Done.' };
    const { outcome: whole } = await play([part]);
    const { outcome } = await play([{ fault: 'break', afterEvents: 1, part }, part]);
    expect(outcome.usage.outputTokens).toBe(whole.usage.outputTokens + 1);
  });

  it('asks again from where the turn was', async () => {
    const { outcome, sent } = await play([VIEW, { fault: 'break', afterEvents: 3, part: DONE }, DONE]);
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Done.' });
    expect(sent.map(({ body }) => body.messages.length)).toEqual([1, 3, 3]);
    expect(outcome.messages).toHaveLength(4);
  });

  it('asks again for one of which nothing came for a minute', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const begun = Promise.withResolvers<void>();
    const spoken = { fault: 'stall', afterEvents: 3, part: DONE } as const;
    let isOver = false;
    const turn = play([spoken, DONE], { onText: () => begun.resolve() }).finally(() => {
      isOver = true;
    });
    await begun.promise;
    await vi.advanceTimersByTimeAsync(59_999);
    await setImmediate();
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    const { outcome, sent } = await turn;
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Done.', usage: { requests: 2 } });
    expect(sent).toHaveLength(2);
  });

  it('ends after the third time', async () => {
    const cut = { fault: 'break', afterEvents: 2, part: DONE } as const;
    const { outcome, sent } = await play([cut, cut, cut, DONE]);
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'reply_cut', retry: 'later' });
    expect(sent).toHaveLength(3);
  });

  it('counts what was cut among the requests that it may make', async () => {
    const cut = { fault: 'break', afterEvents: 2, part: DONE } as const;
    const { outcome, sent } = await play([VIEW, cut, VIEW, VIEW, DONE], { maxRequests: 3 });
    expect(outcome).toMatchObject({ outcome: 'truncated', by: 'max_requests', usage: { requests: 3 } });
    expect(sent).toHaveLength(3);
  });

  it('does not ask again where that would be a request too many', async () => {
    const cut = { fault: 'break', afterEvents: 2, part: DONE } as const;
    const { outcome, sent } = await play([VIEW, cut, DONE], { maxRequests: 2 });
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'reply_cut', retry: 'later' });
    expect(sent).toHaveLength(2);
  });

  it('takes the API’s own word within a stream as a failure that passes, without asking again', async () => {
    const { outcome, sent } = await play([{ fault: 'overloaded', afterEvents: 2, part: CREATE }]);
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'overloaded_error', retry: 'later' });
    expect(sent).toHaveLength(1);
    expect(await isThere('/memories/f')).toBe(false);
  });
});
