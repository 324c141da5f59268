import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FunctionError } from '../../../infra/local/lambda/function-error.ts';
import { type RuntimeApi, startRuntimeApi } from '../../../infra/local/lambda/runtime-api.ts';

const ARN = 'arn:aws:lambda:us-east-1:123456789012:function:worker';

describe('startRuntimeApi', () => {
  let api: RuntimeApi;

  beforeEach(async () => {
    api = await startRuntimeApi(ARN);
  });
  afterEach(() => api[Symbol.asyncDispose]());

  const next = () => fetch(`http://${api.address}/2018-06-01/runtime/invocation/next`);
  const post = async (path: string, body: unknown) =>
    fetch(`http://${api.address}/2018-06-01/runtime/${path}`, { method: 'POST', body: JSON.stringify(body) });
  const idOf = (event: Response) => event.headers.get('lambda-runtime-aws-request-id') ?? '';

  it('hands an event to the process, with its id, its deadline and its function, and the response back', async () => {
    const asked = next();
    await api.ready;
    const result = api.invoke({ a: 1 }, 1_900_000_000_000);
    const event = await asked;
    expect(event.headers.get('lambda-runtime-deadline-ms')).toBe('1900000000000');
    expect(event.headers.get('lambda-runtime-invoked-function-arn')).toBe(ARN);
    expect(await event.json()).toEqual({ a: 1 });
    expect((await post(`invocation/${idOf(event)}/response`, { b: 2 })).status).toBe(202);
    expect(await result).toEqual({ b: 2 });
  });

  it('keeps an event until the process asks for it', async () => {
    const result = api.invoke('first', 0);
    const event = await next();
    await post(`invocation/${idOf(event)}/response`, 'done');
    expect(await result).toBe('done');
    const second = api.invoke('second', 0);
    expect(await (await next()).json()).toBe('second');
    api.fail(new FunctionError('Runtime.ExitError', 'over'));
    await expect(second).rejects.toMatchObject({ type: 'Runtime.ExitError' });
  });

  /** Streams as AWS's runtime client does, and gives what stands for the function's hand. */
  async function streamed(id: string) {
    const sent = request(`http://${api.address}/2018-06-01/runtime/invocation/${id}/response`, {
      method: 'POST',
      headers: {
        'lambda-runtime-function-response-mode': 'streaming',
        'transfer-encoding': 'chunked',
        trailer: 'lambda-runtime-function-error-type',
      },
    });
    return { sent, answered: once(sent, 'response') };
  }

  it('passes on what a function streams while it runs, and takes the next event behind that', async () => {
    const result = api.invokeWithResponseStream({}, 0);
    const { sent, answered } = await streamed(idOf(await next()));
    sent.write('a');
    const body = await result;
    expect(String((await once(body, 'data'))[0])).toBe('a');
    sent.end('b');
    expect(await text(body)).toBe('b');
    expect((await answered)[0].statusCode).toBe(202);
    const second = api.invokeWithResponseStream('second', 0);
    await post(`invocation/${idOf(await next())}/response`, 'whole');
    expect(await text(await second)).toBe('"whole"');
  });

  it('ends a stream in the error of its function, or of its process', async () => {
    const failing = api.invokeWithResponseStream({}, 0);
    const first = await streamed(idOf(await next()));
    first.sent.write('a');
    first.sent.addTrailers({ 'lambda-runtime-function-error-type': 'TypeError' });
    first.sent.end();
    await expect(text(await failing)).rejects.toMatchObject({ type: 'TypeError' });
    await first.answered;
    const dying = api.invokeWithResponseStream({}, 0);
    const second = await streamed(idOf(await next()));
    second.answered.catch(() => {});
    second.sent.write('a');
    const body = await dying;
    second.sent.destroy();
    await expect(text(body)).rejects.toMatchObject({ type: 'Runtime.ExitError' });
  });

  it('lets a function go on whose caller is gone, as Lambda does', async () => {
    const result = api.invokeWithResponseStream({}, 0);
    const { sent, answered } = await streamed(idOf(await next()));
    sent.write('a');
    (await result).destroy();
    sent.end('b');
    expect((await answered)[0].statusCode).toBe(202);
  });

  it('tells what the handler threw', async () => {
    const result = api.invoke({}, 0);
    const event = await next();
    const failed = expect(result).rejects.toMatchObject({
      type: 'TurnFailed',
      message: 'TurnFailed: integrity',
    });
    const error = { errorType: 'TurnFailed', errorMessage: 'integrity', trace: [] };
    expect((await post(`invocation/${idOf(event)}/error`, error)).status).toBe(202);
    await failed;
  });

  it('fails every event of a process that could not load its function', async () => {
    await post('init/error', { errorType: 'Runtime.ImportModuleError', errorMessage: 'no such file' });
    await expect(api.ready).rejects.toMatchObject({ type: 'Runtime.ImportModuleError' });
    await expect(api.invoke({}, 0)).rejects.toMatchObject({ type: 'Runtime.ImportModuleError' });
  });

  it('refuses what is about another event, or nothing it knows', async () => {
    const result = api.invoke({}, 0);
    const event = await next();
    const other = '00000000-0000-0000-0000-000000000000';
    expect((await post(`invocation/${other}/response`, 'wrong')).status).toBe(404);
    expect((await fetch(`http://${api.address}/`)).status).toBe(404);
    await post(`invocation/${idOf(event)}/response`, 'right');
    expect(await result).toBe('right');
  });
});
