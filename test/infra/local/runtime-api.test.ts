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
