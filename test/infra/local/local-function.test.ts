import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLocalFunction, type LocalFunction } from '../../../infra/local/lambda/local-function.ts';

/** Stands for AWS's runtime client: does what the event says, one after the other. */
const RUNTIME = `
  const api = 'http://' + process.env.AWS_LAMBDA_RUNTIME_API + '/2018-06-01/runtime/';
  if (process.env.BROKEN) {
    await fetch(api + 'init/error', { method: 'POST', body: '{"errorType":"Runtime.Broken"}' });
    process.exit(1);
  }
  for (;;) {
    const response = await fetch(api + 'invocation/next');
    const id = response.headers.get('lambda-runtime-aws-request-id');
    const left = response.headers.get('lambda-runtime-deadline-ms') - Date.now();
    const event = await response.json();
    console.log(JSON.stringify(event));
    if (event === 'exit') process.exit(1);
    if (event === 'hang') await new Promise((resolve) => setTimeout(resolve, 60_000));
    if (event === 'throw') {
      const error = '{"errorType":"TypeError","errorMessage":"thrown"}';
      await fetch(api + 'invocation/' + id + '/error', { method: 'POST', body: error });
      continue;
    }
    const { _HANDLER: handler, OWN: own } = process.env;
    const result = { event, pid: process.pid, handler, own, left };
    await fetch(api + 'invocation/' + id + '/response', { method: 'POST', body: JSON.stringify(result) });
  }
`;

describe('createLocalFunction', { timeout: 30_000 }, () => {
  let folder: string;
  let lines: string[];
  let running: LocalFunction | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'local-function-'));
    lines = [];
    await writeFile(join(folder, 'runtime.mjs'), RUNTIME);
  });
  afterEach(async () => {
    await running?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  function start(
    options: { timeoutSeconds?: number; maxConcurrency?: number; env?: Record<string, string> } = {},
  ) {
    running = createLocalFunction({
      name: 'worker',
      bundle: folder,
      handler: 'index.handler',
      region: 'us-east-1',
      memoryMb: 512,
      timeoutSeconds: 10,
      maxConcurrency: 1,
      env: { OWN: 'value' },
      runtimeClient: join(folder, 'runtime.mjs'),
      onLine: (line) => lines.push(line),
      ...options,
    });
    return running;
  }
  const pidOf = async (invoked: Promise<unknown>) => ((await invoked) as { readonly pid: number }).pid;

  it('keeps its process from event to event, and tells it the handler, the environment and the time', async () => {
    const own = start();
    const first = await own.invoke('a');
    expect(first).toMatchObject({ event: 'a', handler: 'index.handler', own: 'value' });
    const { left } = first as { readonly left: number };
    expect(left).toBeGreaterThan(9_000);
    expect(left).toBeLessThanOrEqual(10_000);
    expect(await pidOf(own.invoke('b'))).toBe(await pidOf(own.invoke('c')));
    expect(own.processesStarted).toBe(1);
    expect(lines).toEqual(['"a"', '"b"', '"c"']);
  });

  it('tells what the handler threw, and keeps the process', async () => {
    const own = start();
    await expect(own.invoke('throw')).rejects.toMatchObject({
      type: 'TypeError',
      message: 'TypeError: thrown',
    });
    await own.invoke('a');
    expect(own.processesStarted).toBe(1);
  });

  it('fails the event whose process ends, and has a new one for the next', async () => {
    const own = start();
    await expect(own.invoke('exit')).rejects.toMatchObject({ type: 'Runtime.ExitError' });
    expect(await own.invoke('a')).toMatchObject({ event: 'a' });
    expect(own.processesStarted).toBe(2);
  });

  it('ends a process whose time is up', async () => {
    const own = start({ timeoutSeconds: 1 });
    await expect(own.invoke('hang')).rejects.toMatchObject({ type: 'Sandbox.Timedout' });
    expect(await own.invoke('a')).toMatchObject({ event: 'a' });
  });

  it('fails events when the function cannot be loaded', async () => {
    const own = start({ env: { BROKEN: 'yes' } });
    await expect(own.invoke('a')).rejects.toMatchObject({ type: 'Runtime.Broken' });
  });

  it('works on so many events at once, and lets the others wait', async () => {
    const own = start({ maxConcurrency: 2 });
    const pids = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((event) => pidOf(own.invoke(event))));
    expect(new Set(pids).size).toBe(2);
    expect(own.processesStarted).toBe(2);
  });

  it('can be killed in the middle of an event', async () => {
    const own = start();
    const failed = expect(own.invoke('hang')).rejects.toMatchObject({ type: 'Runtime.ExitError' });
    await expect.poll(() => lines).toEqual(['"hang"']);
    await own.kill();
    await failed;
    expect(await own.invoke('a')).toMatchObject({ event: 'a' });
  });
});
