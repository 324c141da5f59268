import { describe, expect, it } from 'vitest';
import { createDirectHandler } from '../../../../src/worker/queue/direct-handler.ts';
import type { Delivery } from '../../../../src/worker/turn/delivery.ts';
import type { TurnAnswer } from '../../../../src/worker/turn/turn-answer.ts';

const TIME = { getRemainingTimeInMillis: () => 60_000 };
const TEXT = { outcome: 'answered', text: 'grüße' };
const ANSWER = { ...TEXT, model: 'claude', messages: [] as unknown } as TurnAnswer;
const ANSWERED: Delivery = { state: 'answered', answer: ANSWER, isFresh: true };

function handlerOf(delivery: Delivery) {
  const delivered: unknown[] = [];
  const handler = createDirectHandler({
    deliver: async (message) => {
      delivered.push(message);
      return delivery;
    },
  });
  return { handler, delivered };
}

const urlEvent = (body?: string, isBase64Encoded = false) => ({
  requestContext: { http: { method: 'POST' } },
  ...(body !== undefined && { body }),
  isBase64Encoded,
});

describe('the direct handler', () => {
  it.each([undefined, 'text', 'full', 'none'] as const)(
    'gives the answer as it is asked for, here %s',
    async (form) => {
      const { handler } = handlerOf({ ...ANSWERED, ...(form && { form }) });
      const { text: _text, ...bare } = TEXT;
      const wanted = { text: TEXT, full: ANSWER, none: bare }[form ?? 'text'];
      expect(await handler({}, TIME)).toEqual(wanted);
      expect(await handler(urlEvent('{}'), TIME)).toMatchObject({
        statusCode: 200,
        body: JSON.stringify(wanted),
      });
    },
  );

  it('takes the event for the message, and gives the answer', async () => {
    const { handler, delivered } = handlerOf(ANSWERED);
    const event = { tenant: 'acme', turn: '1', prompt: 'hello' };
    expect(await handler(event, TIME)).toEqual(TEXT);
    expect(delivered).toEqual([event]);
  });

  it('fails with an error that a state machine can tell apart, and that says the code alone', async () => {
    const later = handlerOf({ state: 'later', code: 'rate_limit_error', afterSeconds: 5 });
    const failed = handlerOf({ state: 'failed', code: 'integrity' });
    await expect(later.handler({}, TIME)).rejects.toMatchObject({
      name: 'TurnLater',
      message: 'rate_limit_error',
    });
    await expect(failed.handler({}, TIME)).rejects.toMatchObject({
      name: 'TurnFailed',
      message: 'integrity',
    });
  });

  it('reads the body of a function URL, as text or base64, and none as an empty one', async () => {
    const { handler, delivered } = handlerOf(ANSWERED);
    const text = '{"prompt":"grüße"}';
    await handler(urlEvent(text), TIME);
    await handler(urlEvent(Buffer.from(text).toString('base64'), true), TIME);
    await handler(urlEvent(), TIME);
    expect(delivered).toEqual([text, text, '']);
  });

  it('answers a function URL with JSON', async () => {
    expect(await handlerOf(ANSWERED).handler(urlEvent('{}'), TIME)).toEqual({
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(TEXT),
    });
  });

  it.each([
    [{ state: 'failed', code: 'invalid_command' }, 400],
    [{ state: 'failed', code: 'limit_exceeded' }, 413],
    [{ state: 'failed', code: 'integrity' }, 500],
    [{ state: 'later', code: 'running', afterSeconds: 85 }, 409],
    [{ state: 'later', code: 'deadline', afterSeconds: 5 }, 503],
    [{ state: 'later', code: 'access_denied', afterSeconds: 5 }, 503],
  ] as const)('answers %o with its status and its code alone', async (delivery, statusCode) => {
    const answer = await handlerOf(delivery).handler(urlEvent('{}'), TIME);
    const headers = {
      'content-type': 'application/json',
      ...(delivery.state === 'later' && { 'retry-after': String(delivery.afterSeconds) }),
    };
    expect(answer).toEqual({ statusCode, headers, body: JSON.stringify({ code: delivery.code }) });
  });
});
