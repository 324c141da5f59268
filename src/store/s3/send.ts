import type {
  $Command,
  S3Client,
  S3ClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes,
} from '@aws-sdk/client-s3';

import { throwIfAborted } from '../../time.ts';
import { lateness } from '../answers.ts';
import type { SendBound } from '../port.ts';
import { wasNeverSent } from './errors.ts';
import type { HttpAnswer } from './middleware.ts';
import { holdUntilConnected } from './wire.ts';

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

export interface SendOptions {
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
