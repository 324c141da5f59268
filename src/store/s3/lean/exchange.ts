import { getRetryAfterHint, isThrottlingError, isTransientError } from '@smithy/core/retry';
import type { HttpRequest, RetryErrorInfo, RetryErrorType, RetryStrategyV2 } from '@smithy/types';
import { MemoryError } from '../../../errors.ts';
import { throwIfAborted, untilAborted } from '../../../time.ts';
import { tellLongWait, toldIfLong } from '../../../waits.ts';
import { followed, type RequestWatch, readAttempt, watched } from '../attempts.ts';
import { LONGEST_REQUEST_MS, type S3Connections } from '../connection.ts';
import type { HttpAnswer, WireCall } from '../wire.ts';
import type { LeanRequest } from './requests.ts';
import type { Signer } from './signer.ts';

interface ExchangeContext {
  readonly signer: Signer;
  readonly connections: S3Connections;
  readonly watch: RequestWatch;
}

interface RepeatableRequest<T> {
  readonly request: LeanRequest;
  readonly call: WireCall;
  readonly strategy: RetryStrategyV2;
  /** Makes the result of an answer. Where it throws, the attempt has failed. */
  readonly read: (answer: HttpAnswer) => Promise<T>;
}

/** The wait for an answer, and when a person is told of it: a server that is at work answers sooner. */
const UNANSWERED = { ms: LONGEST_REQUEST_MS, tellAfterMs: 3_000 };
const LONG_PAUSE_MS = 1_000;

/** Sends a request, and again as often as the strategy lets a failure pass. @throws the last failure. */
export async function exchange<T>(context: ExchangeContext, work: RepeatableRequest<T>): Promise<T> {
  const { strategy, call } = work;
  throwIfAborted(call.signal);
  await untilAborted(context.signer.prepare(), call.signal);
  let token = await strategy.acquireInitialRetryToken('');
  for (;;) {
    try {
      const value = await toldIfLong('store', UNANSWERED, () =>
        readAttempt(call, () => attempt(context, work)),
      );
      strategy.recordSuccess(token);
      return value;
    } catch (error) {
      const judged = judge(error);
      const leftMs = (judged.retryAfterHint?.getTime() ?? 0) - Date.now();
      if (leftMs >= LONG_PAUSE_MS) tellLongWait({ for: 'busy store', leftMs });
      const next = strategy.refreshRetryTokenForRetry(token, judged).catch(() => undefined);
      const renewed = await untilAborted(next, call.signal);
      if (renewed === undefined) throw withAttempts(error, token.getRetryCount() + 1);
      token = renewed;
    }
  }
}

async function attempt<T>(
  { signer, connections, watch }: ExchangeContext,
  { request, call, read }: RepeatableRequest<T>,
): Promise<T> {
  // Credentials may have expired since they were prepared.
  const signature = untilAborted(signer.sign(request), call.signal);
  const { request: signed, learnClock, learnClockFrom } = await signature;
  const options = call.signal === undefined ? {} : { abortSignal: call.signal };
  const send = async (held: HttpRequest): Promise<HttpAnswer> =>
    (await connections.handle(held as Parameters<S3Connections['handle']>[0], options))
      .response as HttpAnswer;
  try {
    const { operation } = request;
    const answer = await watched(watch, { operation, hostname: signed.hostname }, () =>
      followed(call, signed, send),
    );
    const value = await read(answer);
    learnClock(answer);
    return value;
  } catch (error) {
    learnClockFrom(error);
    throw error;
  }
}

function judge(thrown: unknown): RetryErrorInfo {
  const { $response } = thrown as { readonly $response?: unknown };
  const retryAfterHint = getRetryAfterHint($response);
  return { errorType: errorTypeOf(thrown), ...(retryAfterHint !== undefined && { retryAfterHint }) };
}

type SdkError = Parameters<typeof isTransientError>[0];

/** Tells the kind of a failure. The SDK's strategies repeat a request after the first two kinds alone. */
function errorTypeOf(thrown: unknown): RetryErrorType {
  const error = thrown as SdkError;
  if (isThrottlingError(error)) return 'THROTTLING';
  return isTransientError(error) ? 'TRANSIENT' : 'CLIENT_ERROR';
}

/** Notes in an error how often the request was tried, for the operator. */
function withAttempts(error: unknown, attempts: number): unknown {
  if (error instanceof MemoryError) return error;
  const { $metadata } = error as { readonly $metadata?: object };
  return Object.assign(error as object, { $metadata: Object.assign($metadata ?? {}, { attempts }) });
}
