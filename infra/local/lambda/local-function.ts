import type { Environment } from '../programs/find-program.ts';
import { type GuardedChild, spawnGuarded } from '../programs/guarded-process.ts';
import { FunctionError } from './function-error.ts';
import { type RuntimeApi, startRuntimeApi } from './runtime-api.ts';

export interface LocalFunctionOptions {
  readonly name: string;
  /** The folder of the bundle. */
  readonly bundle: string;
  /** The handler, as Lambda takes it: `file.export`. */
  readonly handler: string;
  /** The script of AWS's runtime client. */
  readonly runtimeClient: string;
  readonly env: Environment;
  readonly region: string;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  /** The most processes, each with one event at a time. */
  readonly maxConcurrency: number;
  /** Hears every line that the function writes. */
  readonly onLine: (line: string) => void;
}

export interface InvokedFunction extends AsyncDisposable {
  /**
   * Invokes the function with an event.
   *
   * @throws FunctionError when the handler threw, its process ended, or its time was up.
   */
  invoke(event: unknown): Promise<unknown>;
}

/** A function as Lambda runs it: processes that live from event to event, started when they are needed. */
export interface LocalFunction extends InvokedFunction {
  /** Ends every process by SIGKILL, whatever it is doing. The next event starts a new one. */
  kill(): Promise<void>;
  readonly processesStarted: number;
}

/** The two functions that run turns, in the environment of the deployment. */
export interface TurnFunctions {
  /** The function that the queue of turns feeds. */
  readonly worker: InvokedFunction;
  /** The function that answers its callers. */
  readonly direct: InvokedFunction;
}

/** One process, with the interface through which it works. */
export interface FunctionProcess {
  readonly api: RuntimeApi;
  readonly child: GuardedChild;
}

/** Starts both functions of the bundle, as processes of this machine. */
export function startLocalFunctions(options: Omit<LocalFunctionOptions, 'name' | 'handler' | 'memoryMb'>): {
  readonly worker: LocalFunction;
  readonly direct: LocalFunction;
} {
  const common = { ...options, memoryMb: 512 };
  return {
    worker: createLocalFunction({ ...common, name: 'worker', handler: 'index.handler' }),
    direct: createLocalFunction({ ...common, name: 'direct-worker', handler: 'index.invoke' }),
  };
}

export function createLocalFunction(options: LocalFunctionOptions): LocalFunction {
  const timeoutMs = options.timeoutSeconds * 1_000;
  const alive = new Set<FunctionProcess>();
  const idle: FunctionProcess[] = [];
  const queue: (() => void)[] = [];
  let busy = 0;
  let processesStarted = 0;
  let isClosed = false;

  const open = async (): Promise<FunctionProcess> => {
    processesStarted += 1;
    const started = await startProcess(options, processesStarted);
    alive.add(started);
    void started.child.ended.then(async () => {
      alive.delete(started);
      if (idle.includes(started)) idle.splice(idle.indexOf(started), 1);
      started.api.fail(new FunctionError('Runtime.ExitError', 'the process ended'));
      await started.api[Symbol.asyncDispose]();
    });
    if (isClosed) await started.child.stop();
    return started;
  };

  const run = async (event: unknown): Promise<unknown> => {
    const mine = idle.pop() ?? (await open());
    await mine.api.ready;
    const deadline = Date.now() + timeoutMs;
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      const error = new FunctionError('Sandbox.Timedout', `${options.timeoutSeconds} seconds were over`);
      mine.api.fail(error);
      void mine.child.kill();
    }, timeoutMs);
    try {
      return await mine.api.invoke(event, deadline);
    } finally {
      clearTimeout(timer);
      if (alive.has(mine) && !isOver) idle.push(mine);
    }
  };

  return {
    async invoke(event) {
      if (isClosed) throw new FunctionError('Runtime.ExitError', 'the function was stopped');
      if (busy === options.maxConcurrency) await new Promise<void>((resolve) => queue.push(resolve));
      else busy += 1;
      try {
        return await run(event);
      } finally {
        const next = queue.shift();
        if (next) next();
        else busy -= 1;
      }
    },
    async kill() {
      await Promise.all([...alive].map(({ child }) => child.kill()));
    },
    get processesStarted() {
      return processesStarted;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await Promise.all([...alive].map(({ child }) => child.kill()));
    },
  };
}

/** Starts one process of the function, by its number. */
export async function startProcess(
  options: Omit<LocalFunctionOptions, 'timeoutSeconds' | 'maxConcurrency'>,
  number: number,
): Promise<FunctionProcess> {
  const { name, region, memoryMb, onLine } = options;
  const api = await startRuntimeApi(`arn:aws:lambda:${region}:123456789012:function:${name}`);
  let rest = '';
  const child = spawnGuarded({
    program: process.execPath,
    arguments: () => [options.runtimeClient],
    folder: 'sealed-memory-function',
    env: {
      ...options.env,
      _HANDLER: options.handler,
      LAMBDA_TASK_ROOT: options.bundle,
      AWS_LAMBDA_RUNTIME_API: api.address,
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
      AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
      AWS_LAMBDA_LOG_STREAM_NAME: `local/${number}`,
    },
    onOutput(chunk) {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line);
    },
  });
  return { api, child };
}
