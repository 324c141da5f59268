import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { invokeAsTask } from '../../infra/local/aws/service-limits.ts';
import {
  type LocalWorker,
  type Play,
  startLocalWorker,
  timeOf,
} from '../../infra/local/lambda/local-worker.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { ApiRefusal } from '../../src/testing/index.ts';
import type { Worker } from '../../src/worker/index.ts';
import { installLocked } from '../runner/locked-packages.ts';
import { closedBehindEach } from '../stage/closed-behind.ts';

const MACHINE: unknown = JSON.parse(readFileSync('examples/step-functions/turn.asl.json', 'utf8'));
const INPUT = { tenant: 'acme', prompt: 'hello' };
const EXECUTION = 'arn:aws:states:eu-central-1:123456789012:execution:turns:first';

/** The parts of aws-local-stepfunctions that are used: it validates a definition, and runs it as the language says. */
interface StateMachine {
  run(
    input: unknown,
    options: object,
  ): {
    readonly result: Promise<unknown>;
    readonly eventLogs: AsyncIterable<{
      readonly type: string;
      readonly Error?: string;
      readonly Cause?: unknown;
    }>;
  };
}
let open: new (definition: unknown) => StateMachine;
beforeAll(async () => {
  const modules = await installLocked(resolve('test/examples/step-functions'));
  const entry = join(modules, 'aws-local-stepfunctions/build/main.node.esm.js');
  ({ StateMachine: open } = await import(pathToFileURL(entry).href));
}, 300_000);

let site: LocalWorker;
let invoked: Readonly<Record<string, unknown>>[];
const closedBehind = closedBehindEach();

/** Plays Claude. `workerOf` gives the worker for a call of the function, by its number from 0. */
async function start(play?: Play, workerOf = (_call: number): Worker => site.worker) {
  const store = closedBehind(openSqliteObjectStore({ path: ':memory:' }));
  site = closedBehind(await startLocalWorker(store, play));
  invoked = [];
  /** Does what Lambda and its task do between a state and a function. */
  const Turn = async ({ Payload }: { readonly Payload: Readonly<Record<string, unknown>> }) => {
    const worker = workerOf(invoked.push(Payload) - 1);
    try {
      return {
        StatusCode: 200,
        Payload: await invokeAsTask((event) => worker.invoke(event, timeOf(60_000)), Payload),
      };
    } catch (error) {
      const { name, message } = error as Error;
      throw Object.assign(new Error(JSON.stringify({ errorType: name, errorMessage: message, trace: [] })), {
        name,
      });
    }
  };
  return async (input: unknown = INPUT, context: unknown = { Execution: { Id: EXECUTION } }) => {
    const { result, eventLogs } = new open(MACHINE).run(input, {
      overrides: {
        taskResourceLocalHandlers: { Turn },
        retryIntervalOverrides: { Turn: 0 },
        waitTimeOverrides: { 'In an hour': 0 },
      },
      context,
    });
    const output = result.catch(() => undefined);
    const events = [];
    for await (const event of eventLogs) events.push(event);
    const { Error: name, Cause: cause } = events.at(-1) ?? {};
    return name === undefined ? { output: await output } : { name, cause };
  };
}

describe('examples/step-functions', { timeout: 120_000 }, () => {
  it('answers with the outcome and the words, once for each execution', async () => {
    const run = await start();
    const answered = { output: { outcome: 'answered', text: 'You said: hello' } };
    expect(await run()).toEqual(answered);
    expect(await run()).toEqual(answered);
    expect(invoked).toEqual(Array(2).fill({ ...INPUT, turn: EXECUTION }));
    expect(site.scenes).toHaveLength(1);
  });

  it('asks again with the same turn while the worker says later', async () => {
    let asked = 0;
    const run = await start(() => {
      asked += 1;
      if (asked < 3) throw new ApiRefusal('Overloaded', { type: 'overloaded_error', status: 529 });
      return { say: 'Here I am.' };
    });
    expect(await run()).toEqual({ output: { outcome: 'answered', text: 'Here I am.' } });
    expect(invoked.map(({ turn }) => turn)).toEqual(Array(3).fill(EXECUTION));
  });

  it('gives up after ten times, with the code', async () => {
    const run = await start(() => {
      throw new ApiRefusal('Overloaded', { type: 'overloaded_error', status: 529 });
    });
    expect(await run()).toEqual({ name: 'TurnLater', cause: 'overloaded_error' });
    expect(invoked).toHaveLength(11);
  });

  it('asks once where the same would fail again, and ends with the code', async () => {
    const run = await start();
    expect(await run({ ...INPUT, tenant: 'No tenant' })).toEqual({
      name: 'TurnFailed',
      cause: 'invalid_command',
    });
    expect(invoked).toHaveLength(1);
  });

  it('asks again by the hour for a tenant whose tokens of the day are spent', async () => {
    let bounded: Worker | undefined;
    const run = await start(undefined, (call) => {
      bounded ??= site.another({ tokensPerDay: 1 });
      // Behind the first turn, which spends them, come eleven attempts, an hour, and the next day.
      return call < 12 ? bounded : site.worker;
    });
    await run();
    const next = { Execution: { Id: `${EXECUTION}-next` } };
    expect(await run(INPUT, next)).toMatchObject({ output: { outcome: 'answered' } });
    expect(invoked).toHaveLength(13);
  });

  it('fails an execution that Claude refuses, by its outcome', async () => {
    const run = await start(() => ({ say: '', stop: 'refusal' }));
    expect(await run()).toEqual({ name: 'TurnUnanswered', cause: 'refused' });
  });
});
