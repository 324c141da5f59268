import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { encodeEvent, LAMBDA_RESPONSE_BYTES, refuseResponse } from '../aws/service-limits.ts';
import { FunctionError } from './function-error.ts';

/** Lambda's side of the interface between it and a runtime, for one process that works on one event at a time. */
export interface RuntimeApi extends AsyncDisposable {
  /** The address, as `AWS_LAMBDA_RUNTIME_API` takes it. */
  readonly address: string;
  /** Resolves when the process has loaded the function; rejects with a FunctionError when it could not. */
  readonly ready: Promise<void>;
  /**
   * Hands an event to the process when it asks for the next one, and tells the handler the time until `deadline`, in
   * milliseconds since the epoch.
   *
   * @throws FunctionError.
   */
  invoke(event: unknown, deadline: number): Promise<unknown>;
  /**
   * Hands over an event, and gives what the function writes while it runs; what it answers at once where it does not
   * stream. The bytes end in a FunctionError where the function fails behind the first of them.
   *
   * @throws FunctionError.
   */
  invokeWithResponseStream(event: unknown, deadline: number): Promise<Readable>;
  /** Fails the event at work, when the process has ended. */
  fail(error: FunctionError): void;
}

interface Invocation {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly streams: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: FunctionError) => void;
}

const VERSION = '/2018-06-01/runtime';
const RESPONSE_MODE = 'lambda-runtime-function-response-mode';
const ERROR_TYPE = 'lambda-runtime-function-error-type';
/** The answer for the runtime, while the caller learns the sizes. */
const TOO_LARGE = JSON.stringify({
  errorMessage: `Exceeded maximum allowed payload size (${LAMBDA_RESPONSE_BYTES} bytes).`,
  errorType: 'RequestEntityTooLarge',
});

export async function startRuntimeApi(functionArn: string): Promise<RuntimeApi> {
  let waiting: Invocation | undefined;
  let working: Invocation | undefined;
  let asking: ServerResponse | undefined;
  let broken: FunctionError | undefined;
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});

  const handOver = (): void => {
    if (waiting === undefined || asking === undefined) return;
    working = waiting;
    asking.writeHead(200, { 'content-type': 'application/json', ...working.headers });
    asking.end(working.body);
    waiting = asking = undefined;
  };
  const fail = (error: FunctionError): void => {
    broken = error;
    ready.reject(error);
    for (const invocation of [waiting, working]) invocation?.reject(error);
    waiting = working = undefined;
  };

  /** Passes the answer on, and tells whether that was possible. */
  const answer = (body: string): boolean => {
    const refusal = refuseResponse(body);
    if (refusal !== undefined) working?.reject(refusal);
    else working?.resolve(body === '' ? undefined : JSON.parse(body));
    working = undefined;
    return refusal === undefined;
  };

  /** Passes the bytes of a response on as they come. A caller that is gone does not stop the function, as in Lambda. */
  const pass = async (request: IncomingMessage): Promise<string> => {
    const body = new PassThrough().on('error', () => {});
    working?.resolve(body);
    try {
      for await (const chunk of request) body.write(chunk);
    } catch {
      body.destroy(new FunctionError('Runtime.ExitError', 'the process ended'));
    }
    const type = request.trailers[ERROR_TYPE];
    if (type === undefined) body.end();
    else body.destroy(new FunctionError(type, 'the function failed behind its first bytes'));
    return '';
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isPassed = request.headers[RESPONSE_MODE] === 'streaming' && working?.streams === true;
    const body = await (isPassed ? pass(request) : readText(request));
    const what = `${request.method} ${request.url?.replace(`/${working?.id}/`, '/{id}/')}`;
    switch (what) {
      case `GET ${VERSION}/invocation/next`:
        ready.resolve();
        asking = response;
        response.once('close', () => {
          if (asking === response) asking = undefined;
        });
        handOver();
        return;
      case `POST ${VERSION}/invocation/{id}/response`:
        if (isPassed || answer(body)) break;
        response.writeHead(413, { 'content-type': 'application/json' });
        response.end(TOO_LARGE);
        return;
      case `POST ${VERSION}/invocation/{id}/error`:
        working?.reject(readError(body));
        break;
      case `POST ${VERSION}/init/error`:
        fail(readError(body));
        break;
      default:
        response.writeHead(404, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ errorType: 'InvalidRequest', errorMessage: `nothing at ${what}` }));
        return;
    }
    working = undefined;
    response.writeHead(202, { 'content-type': 'application/json' });
    response.end('{"status":"OK"}');
  };

  const invoke = (
    event: unknown,
    { deadline, streams }: { readonly deadline: number; readonly streams: boolean },
  ): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (broken !== undefined) return reject(broken);
      const body = encodeEvent(event);
      const id = randomUUID();
      const headers = {
        'lambda-runtime-aws-request-id': id,
        'lambda-runtime-deadline-ms': String(deadline),
        'lambda-runtime-invoked-function-arn': functionArn,
      };
      waiting = { id, headers, body, streams, resolve, reject };
      handOver();
    });

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    ready: ready.promise,
    fail,
    invoke: (event, deadline) => invoke(event, { deadline, streams: false }),
    async invokeWithResponseStream(event, deadline) {
      const result = await invoke(event, { deadline, streams: true });
      return result instanceof Readable ? result : Readable.from([JSON.stringify(result)]);
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function readError(body: string): FunctionError {
  try {
    const { errorType, errorMessage } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    return new FunctionError(String(errorType ?? 'Error'), String(errorMessage ?? ''));
  } catch {
    return new FunctionError('Runtime.UnreadableError', 'the runtime reported an error that is no JSON');
  }
}
