import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkMessage, encodeEvent, invokeAsTask } from '../../../infra/local/aws/service-limits.ts';
import { type RuntimeApi, startRuntimeApi } from '../../../infra/local/lambda/runtime-api.ts';
import { createDirectHandler } from '../../../src/worker/queue/direct-handler.ts';
import type { TurnAnswer } from '../../../src/worker/turn/turn-answer.ts';

/** A JSON string of so many bytes, quotes included. */
const ofBytes = (bytes: number): string => `${'ü'.repeat((bytes - 2) >> 1)}${'x'.repeat(bytes % 2)}`;

describe('an invocation that waits', { timeout: 60_000 }, () => {
  let api: RuntimeApi;
  beforeEach(async () => {
    api = await startRuntimeApi('arn:aws:lambda:us-east-1:123456789012:function:worker');
  });
  afterEach(() => api[Symbol.asyncDispose]());

  /**
   * Lets a handler answer one event as a runtime does, and returns what the caller got and what the runtime was told.
   */
  async function invoke(handler: (event: unknown) => Promise<unknown>, event: unknown) {
    const result = api.invoke(event, 0).then(
      (value) => ({ value }),
      (error: Error & { type: string }) => ({ type: error.type, message: error.message }),
    );
    const origin = `http://${api.address}/2018-06-01/runtime/invocation`;
    const next = await fetch(`${origin}/next`);
    const body = JSON.stringify(await handler(await next.json()));
    const id = next.headers.get('lambda-runtime-aws-request-id');
    const told = await fetch(`${origin}/${id}/response`, { method: 'POST', body });
    return { result: await result, status: told.status, told: await told.json() };
  }

  it('is answered with 6 MiB and 100 bytes, and with no byte more', async () => {
    const most = ofBytes(6_291_556);
    const whole = await invoke(async () => most, 'event');
    expect(whole.status).toBe(202);
    expect('value' in whole.result && whole.result.value === most).toBe(true);

    const refused = await invoke(async () => `${most}x`, 'event');
    expect(refused.status).toBe(413);
    expect(refused.told).toEqual({
      errorType: 'RequestEntityTooLarge',
      errorMessage: 'Exceeded maximum allowed payload size (6291556 bytes).',
    });
    expect(refused.result).toEqual({
      type: 'Function.ResponseSizeTooLarge',
      message: expect.stringContaining(
        '(6291557 bytes) exceeded maximum allowed payload size (6291556 bytes)',
      ),
    });
    expect(await invoke(async () => 'next', 'event')).toMatchObject({ result: { value: 'next' } });
  });

  it('takes 6 MiB, and no byte more', async () => {
    const most = ofBytes(6_291_456);
    expect(encodeEvent(most)).toHaveLength(most.length + 2);
    await expect(api.invoke(`${most}x`, 0)).rejects.toMatchObject({
      type: 'RequestEntityTooLargeException',
      message: expect.stringContaining('Request must be smaller than 6291456 bytes'),
    });
    expect(await invoke(async () => 'next', 'event')).toMatchObject({ result: { value: 'next' } });
  });

  it('gets the words of a turn whose conversation is too large for it', async () => {
    const content = 'x'.repeat(7_000_000);
    const answer = {
      outcome: 'answered',
      text: 'words',
      model: 'claude',
      messages: [{ role: 'user', content }],
    };
    const handlerOf = (form: 'text' | 'full') => {
      const delivery = {
        state: 'answered',
        answer: answer as unknown as TurnAnswer,
        isFresh: true,
        form,
      } as const;
      const handler = createDirectHandler({ deliver: async () => delivery });
      return (event: unknown) => handler(event, { getRemainingTimeInMillis: () => 60_000 });
    };
    const words = { outcome: 'answered', text: 'words' };
    expect((await invoke(handlerOf('text'), {})).result).toEqual({ value: words });
    expect((await invoke(handlerOf('full'), {})).result).toMatchObject({
      type: 'Function.ResponseSizeTooLarge',
    });
    expect(await invokeAsTask(handlerOf('text'), {})).toEqual(words);
    await expect(invokeAsTask(handlerOf('full'), {})).rejects.toMatchObject({
      type: 'States.DataLimitExceeded',
    });
  });
});

it('a message of a queue has 1 MiB, in bytes', () => {
  const most = 'ü'.repeat(524_288);
  checkMessage(most);
  expect(() => checkMessage(`${most}x`)).toThrow(
    expect.objectContaining({
      name: 'InvalidParameterValue',
      message: expect.stringContaining('Message must be shorter than 1048576 bytes'),
    }),
  );
});

it('a task of a state machine is given 256 KiB, and gives as much', async () => {
  const most = ofBytes(262_144);
  const tooLarge = { type: 'States.DataLimitExceeded' };
  const events: unknown[] = [];
  const give = (result: unknown) => async (event: unknown) => {
    events.push(event);
    return result;
  };
  expect(await invokeAsTask(give(most), most)).toBe(most);
  expect(await invokeAsTask(give(undefined), 'in')).toBeUndefined();
  await expect(invokeAsTask(give(`${most}x`), 'in')).rejects.toMatchObject(tooLarge);
  await expect(invokeAsTask(give('out'), `${most}x`)).rejects.toMatchObject(tooLarge);
  expect(events).toEqual([most, 'in', 'in']);
});
