import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { ApiRefusal, type ClaudeScript, createScriptedClaude } from '../../../src/testing/index.ts';

const QUESTION: Anthropic.MessageCreateParamsNonStreaming = {
  model: 'claude-sonnet-5-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Where were we?' }],
};

function clientOf(play: ClaudeScript): Anthropic {
  const fetch = createScriptedClaude({ play });
  // Nothing listens there: what is answered has not left the process.
  return new Anthropic({ apiKey: 'scripted', baseURL: 'http://127.0.0.1:1', fetch, maxRetries: 0 });
}

const textOf = ({ content }: { readonly content: readonly object[] }): string =>
  content.map((block) => ('text' in block ? block.text : '')).join('');

describe('The scripted Claude as a fetch', () => {
  it('answers the client of the SDK within the process, whole and streamed', async () => {
    const client = clientOf([{ say: 'In May.' }, { say: 'In June.' }]);
    expect(textOf(await client.messages.create(QUESTION))).toBe('In May.');
    const stream = client.messages.stream(QUESTION);
    expect(textOf(await stream.finalMessage())).toBe('In June.');
  });

  it('refuses, with a status that is not tried again, what comes behind the last part of a list', async () => {
    const client = clientOf([]);
    const asked = client.messages.create(QUESTION);
    await expect(asked).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('at its end'),
    });
  });

  it('is strict, and says what a script throws', async () => {
    const limited = new ApiRefusal('Slow down', {
      status: 429,
      type: 'rate_limit_error',
      headers: { 'retry-after': '7' },
    });
    const client = clientOf(() => {
      throw limited;
    });
    const ask = (more: object) =>
      client.messages.create({ ...QUESTION, ...more }).catch((error: unknown) => error);
    expect(await ask({ max_tokens: 0 })).toMatchObject({ status: 400 });
    const refused = await ask({});
    expect(refused).toMatchObject({ status: 429 });
    expect((refused as { headers: Headers }).headers.get('retry-after')).toBe('7');
  });

  it('breaks a connection as fetch tells it, before an answer and within a stream', async () => {
    const client = clientOf(() => ({ fault: 'break', afterEvents: 2, part: { say: 'In May.' } }));
    const whole = client.messages.create(QUESTION);
    await expect(whole).rejects.toBeInstanceOf(Anthropic.APIConnectionError);
    const stream = client.messages.stream(QUESTION);
    await expect(stream.finalMessage()).rejects.toThrow('terminated');
  });

  it('lets a caller go that gives up', async () => {
    const client = clientOf(() => new Promise(() => {}));
    const gaveUp = new AbortController();
    const asked = client.messages.create(QUESTION, { signal: gaveUp.signal });
    gaveUp.abort();
    await expect(asked).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
    const late = createScriptedClaude({ play: [] })('http://claude.invalid/v1/messages', {
      signal: gaveUp.signal,
    });
    await expect(late).rejects.toBe(gaveUp.signal.reason);
  });
});
