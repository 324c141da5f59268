import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { MemoryError } from '../../errors.ts';
import { lateness } from '../port.ts';
import { isNoRoom, wasNeverSent } from './errors.ts';
import type { AttemptTrace, HttpAnswer, WireCall } from './wire.ts';

/** The parts of an HTTP request that are looked at before it is sent. */
export interface HttpAttempt {
  readonly hostname: string;
  readonly body?: unknown;
}

export function newTrace(): AttemptTrace {
  return { earlierMayHaveLanded: false, lastMayHaveLanded: false, answer: undefined };
}

/** Tells whether any attempt may have been executed. */
export function mayHaveLanded(trace: AttemptTrace): boolean {
  return trace.earlierMayHaveLanded || trace.lastMayHaveLanded;
}

/** The server's clock when it sent the last answer, milliseconds; `fallback` for a server that tells no time. */
export function servedAt(trace: AttemptTrace, fallback: number): number {
  return (trace.answer && dateOf(trace.answer)) ?? fallback;
}

/** The time that an answer tells, milliseconds; undefined for one that tells none, or what is no date. */
function dateOf({ headers }: Pick<HttpAnswer, 'headers'>): number | undefined {
  const date = Date.parse(headers['date'] ?? '');
  return Number.isNaN(date) ? undefined : date;
}

export interface RequestWatch {
  readonly onRequest: ((request: { readonly operation: string }) => void) | undefined;
  readonly onDate: ((date: number) => void) | undefined;
  readonly acceptsHost: (host: string) => boolean;
}

/** The watch over a store's requests. Without an endpoint of its own it sends nothing to a host that is not AWS. */
export function watchOf(options: {
  readonly endpoint?: string | undefined;
  readonly onRequest?: RequestWatch['onRequest'];
  readonly onDate?: RequestWatch['onDate'];
}): RequestWatch {
  const custom = options.endpoint !== undefined;
  const { onRequest, onDate } = options;
  return { onRequest, onDate, acceptsHost: custom ? () => true : isAmazonHost };
}

/** The hosts of all partitions of AWS, the secluded ones included. */
const AMAZON =
  /(^|\.)(amazonaws\.(com|com\.cn|eu)|c2s\.ic\.gov|sc2s\.sgov\.gov|csp\.hci\.ic\.gov|cloud\.adc-e\.uk)$/;

function isAmazonHost(host: string): boolean {
  return AMAZON.test(host);
}

/** Tells the watch of one attempt, and sees to the socket of its answer. */
export async function watched<R extends HttpAnswer>(
  watch: RequestWatch,
  { operation, hostname }: { readonly operation: string; readonly hostname: string },
  attempt: () => Promise<R>,
): Promise<R> {
  if (!watch.acceptsHost(hostname)) {
    throw new MemoryError(
      'misconfigured',
      'An endpoint that is not AWS is set for the AWS SDK (AWS_ENDPOINT_URL or a profile): name it in the settings of this program instead.',
    );
  }
  watch.onRequest?.({ operation });
  const answer = await attempt();
  const date = dateOf(answer);
  if (date !== undefined) watch.onDate?.(date);
  closeAfterRefusal(answer);
  return answer;
}

/** MinIO closes the connection after a PUT that met a conflict, and after a GET that was denied. */
const CLOSING: ReadonlySet<number> = new Set([403, 409, 412]);

/**
 * MinIO does not announce that it closes a connection, and the next request on it would die. So the socket goes when
 * the body has been read, before the agent can hand it to another request.
 */
function closeAfterRefusal({ statusCode, body }: HttpAnswer): void {
  if (!CLOSING.has(statusCode)) return;
  const socket = 'socket' in body ? (body.socket as { destroy(): void } | null) : null;
  body.prependOnceListener('end', () => socket?.destroy());
}

/** Makes one attempt of a call and writes into the trace what became of it; `sendBy` is asked before the wire. */
export async function followed<Q extends HttpAttempt, R extends HttpAnswer>(
  { trace, sendBy }: WireCall,
  request: Q,
  attempt: (request: Q) => Promise<R>,
): Promise<R> {
  trace.earlierMayHaveLanded ||= trace.lastMayHaveLanded;
  trace.lastMayHaveLanded = true;
  trace.answer = undefined;
  try {
    const refusal = (): Error | undefined => lateness(sendBy);
    const early = refusal();
    if (early !== undefined) throw early;
    const answer = await attempt(sendBy === undefined ? request : heldBack(request, refusal));
    trace.answer = answer;
    trace.lastMayHaveLanded = !isRefusal(answer.statusCode);
    return answer;
  } catch (error) {
    trace.lastMayHaveLanded = !wasNeverSent(error);
    throw error;
  }
}

/** Runs an attempt together with the reading of its answer, whose document may say that nothing was executed. */
export async function readAttempt<T>({ trace }: WireCall, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (isNoRoom(error)) trace.lastMayHaveLanded = false;
    throw error;
  }
}

/** A success may still turn out to be an error in its body, and a server error may follow the deed. */
function isRefusal(status: number): boolean {
  return (status >= 300 && status < 500) || status === 501;
}

/**
 * Lets `refusal` judge an attempt at the last moment there is: after credentials, signing, pauses and the queue for a
 * connection, once that connection stands, and before the first byte of the request. An error that it gives ends the
 * attempt unsent, and the call with it.
 *
 * The SDK's HTTP handler pipes a body that is a stream into the request at once, and the bytes would wait there for a
 * connection. This stream writes nothing, headers included, before the connection stands.
 */
function heldBack<Q extends HttpAttempt>(request: Q, refusal: () => Error | undefined): Q {
  const pipe = (sent: ClientRequest): ClientRequest => {
    whenConnected(sent, () => {
      const late = refusal();
      if (late !== undefined) sent.destroy(late);
      else sent.end(bytesOf(request.body));
    });
    return sent;
  };
  // The handler only pipes it, so it needs nothing of a stream but its prototype and `pipe`.
  return { ...request, body: Object.assign(Object.create(Readable.prototype), { pipe }) };
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
