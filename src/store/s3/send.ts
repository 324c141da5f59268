import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type {
  $Command,
  S3Client,
  S3ClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes,
} from '@aws-sdk/client-s3';
import { throwIfAborted } from '../../time.ts';
import { lateness, type SendBound } from '../port.ts';
import type { HttpAnswer } from './client.ts';
import { wasNeverSent } from './errors.ts';

/** What became of the attempts of one operation on the wire. */
export interface Trace {
  /** An attempt before the last one may have been executed although it brought no clear answer. */
  earlierMayHaveLanded: boolean;
  lastMayHaveLanded: boolean;
  /** The last answer, its body unread at first. */
  answer: HttpAnswer | undefined;
}

export function newTrace(): Trace {
  return { earlierMayHaveLanded: false, lastMayHaveLanded: false, answer: undefined };
}

/** Whether any attempt may have been executed. */
export function mayHaveLanded(trace: Trace): boolean {
  return trace.earlierMayHaveLanded || trace.lastMayHaveLanded;
}

/** The server's clock when it sent the last answer, milliseconds; `fallback` for a server that tells no time. */
export function servedAt(trace: Trace, fallback: number): number {
  const date = Date.parse(trace.answer?.headers['date'] ?? '');
  return Number.isNaN(date) ? fallback : date;
}

interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  readonly trace?: Trace | undefined;
  /** Judged before each attempt of the SDK, once it has its connection. */
  readonly sendBy?: SendBound | undefined;
}

/** Sends a command; the trace follows its attempts, also across several sends. */
export async function send<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
  client: S3Client,
  command: $Command<I, O, S3ClientResolvedConfig>,
  options: SendOptions,
): Promise<O> {
  throwIfAborted(options.signal);
  const { trace, sendBy } = options;
  if (trace !== undefined) follow(command, trace);
  if (sendBy !== undefined) holdUntilConnected(command, () => lateness(sendBy));
  return client.send(command, options.signal === undefined ? {} : { abortSignal: options.signal });
}

function follow<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
  command: $Command<I, O, S3ClientResolvedConfig>,
  trace: Trace,
): void {
  command.middlewareStack.add(
    (next) => async (args) => {
      trace.earlierMayHaveLanded ||= trace.lastMayHaveLanded;
      trace.lastMayHaveLanded = true;
      trace.answer = undefined;
      try {
        const result = await next(args);
        trace.answer = result.response as HttpAnswer;
        trace.lastMayHaveLanded = !isRefusal(trace.answer.statusCode);
        return result;
      } catch (error) {
        trace.lastMayHaveLanded = !wasNeverSent(error);
        throw error;
      }
    },
    { step: 'deserialize', priority: 'low', name: 'traceAttempts' },
  );
}

/** A success may still turn out to be an error in its body, and a server error may follow the deed. */
function isRefusal(status: number): boolean {
  return (status >= 300 && status < 500) || status === 501;
}

/**
 * Lets `refusal` judge every attempt of a command at the last moment there is: behind credentials, signing, the SDK's
 * pauses and the queue for a connection, once that connection stands, and before the first byte of the request. An
 * error that it gives ends the attempt unsent, and the command with it.
 */
function holdUntilConnected<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
  command: $Command<I, O, S3ClientResolvedConfig>,
  refusal: () => Error | undefined,
): void {
  command.middlewareStack.add(
    (next) => async (args) => {
      const early = refusal();
      if (early !== undefined) throw early;
      const request = args.request as { readonly body?: unknown };
      return next({ ...args, request: { ...request, body: heldBack(request.body, refusal) } });
    },
    { step: 'deserialize', priority: 'low', name: 'holdUntilConnected' },
  );
}

/**
 * The body as the SDK's HTTP handler takes it. It pipes a stream into the request at once, where all would wait in the
 * queue for a connection; this one writes nothing, headers included, before the connection is there.
 */
function heldBack(body: unknown, refusal: () => Error | undefined): Readable {
  const carrier = new Readable({ read: () => {} });
  const pipe = (request: ClientRequest): ClientRequest => {
    whenConnected(request, () => {
      const late = refusal();
      if (late !== undefined) request.destroy(late);
      else request.end(bytesOf(body));
    });
    return request;
  };
  return Object.assign(carrier, { pipe });
}

function whenConnected(request: ClientRequest, act: () => void): void {
  request.once('socket', (socket: Socket) => {
    if (!socket.connecting) act();
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', act);
  });
}

function bytesOf(body: unknown): Uint8Array | string {
  return typeof body === 'string' || body instanceof Uint8Array ? body : '';
}
