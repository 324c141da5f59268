import type { RetryAdvice } from '../errors.ts';

/** The reason why the API did not answer, and whether it may later. */
interface ApiFailure {
  /**
   * The API's error type, such as `overloaded_error`, `billing_error` for every spend limit, `prompt_too_long` beyond
   * the model's window; without one `http_<status>`, `connection`, `reply_cut` or `unexpected`.
   */
  readonly code: string;
  readonly status: number | undefined;
  readonly retry: RetryAdvice;
  /** The pause that the API asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The API's id of the request. */
  readonly requestId: string | undefined;
}

/** A reply that began to stream and did not arrive whole. None of its tool calls has run. */
export class ReplyCut extends Error {
  override readonly name = 'ReplyCut';

  constructor(cause: unknown) {
    super('The reply ended before it was complete.', { cause });
  }
}

const PASSING_TYPES: ReadonlySet<unknown> = new Set([
  'rate_limit_error',
  'overloaded_error',
  'api_error',
  'timeout_error',
]);
const THOUGHT_REFUSED = /Invalid `?(signature|data)`? in `?(redacted_)?thinking`? block/;
const TOO_LONG = /\bprompt is too long\b|\bexceed context limit\b/;
const LONGEST_PAUSE_MS = 2 ** 31 - 1;

/**
 * Judges an error of the client by its members, not by its class: a client may bring another copy of the SDK. Every
 * error counts as permanent unless it is known to pass by itself.
 */
export function describeFailure(error: unknown, now: number = Date.now()): ApiFailure {
  const { requestID } = (error ?? {}) as { readonly requestID?: unknown };
  return { ...judge(error, now), requestId: typeof requestID === 'string' ? requestID : undefined };
}

function judge(error: unknown, now: number): Omit<ApiFailure, 'requestId'> {
  const { status, type, name, headers } = (error ?? {}) as {
    readonly status?: unknown;
    readonly type?: unknown;
    readonly name?: unknown;
    readonly headers?: unknown;
  };
  const retryAfterMs = readRetryAfter(headers, now);
  if (typeof status === 'number') {
    const told = typeof type === 'string' ? type : `http_${status}`;
    const code = isSpendLimit(error) ? 'billing_error' : isTooLong(error) ? 'prompt_too_long' : told;
    return { code, status, retry: adviceOf(status, headers), retryAfterMs };
  }
  if (typeof type === 'string') {
    return {
      code: type,
      status: undefined,
      retry: PASSING_TYPES.has(type) ? 'later' : 'never',
      retryAfterMs,
    };
  }
  const code =
    error instanceof ReplyCut ? 'reply_cut' : isConnection(error, name) ? 'connection' : 'unexpected';
  return { code, status: undefined, retry: code === 'unexpected' ? 'never' : 'later', retryAfterMs };
}

/**
 * Tells whether an account's own limit was met, which the API tells as a refused request: by its error code, or by the
 * sentence alone where it has no code.
 */
function isSpendLimit(error: unknown): boolean {
  const { message } = error as { readonly message?: unknown };
  const errorCode = errorCodeOf(error);
  if (typeof errorCode === 'string') return errorCode.endsWith('spend_limit_reached');
  return typeof message === 'string' && /\bAPI usage limits\b|\bcredit balance is too low\b/.test(message);
}

/** Reads the error code, which SDKs before 1.5 have in the body of the answer alone. */
export function errorCodeOf(error: unknown): unknown {
  const { errorCode, error: body } = error as {
    readonly errorCode?: unknown;
    readonly error?: { readonly error?: { readonly details?: { readonly error_code?: unknown } } };
  };
  return errorCode ?? body?.error?.details?.error_code;
}

/**
 * Tells whether the prompt is beyond the model's window, which the API tells as a refused request, by the sentence
 * alone.
 */
function isTooLong(error: unknown): boolean {
  const { status, message } = error as { readonly status?: unknown; readonly message?: unknown };
  return status === 400 && typeof message === 'string' && TOO_LONG.test(message);
}

/**
 * Tells whether the API refused thoughts in the conversation: the content before them differs from the content that
 * their signature covers.
 */
export function isThoughtRefusal(error: unknown): boolean {
  const { status, message } = (error ?? {}) as { readonly status?: unknown; readonly message?: unknown };
  return status === 400 && typeof message === 'string' && THOUGHT_REFUSED.test(message);
}

/** Tells whether the error is the API's own word, in the answer or within a stream; false for the loss of an answer. */
export function isApiWord(error: unknown): boolean {
  const { status, type } = (error ?? {}) as { readonly status?: unknown; readonly type?: unknown };
  return typeof status === 'number' || typeof type === 'string';
}

function adviceOf(status: number, headers: unknown): RetryAdvice {
  const word = header(headers, 'x-should-retry');
  if (word === 'true' || word === 'false') return word === 'true' ? 'later' : 'never';
  return status === 408 || status === 409 || status === 429 || status >= 500 ? 'later' : 'never';
}

/**
 * Tells whether the connection failed. The errors of SDKs before 1.6 are all named `Error`; their class has the name.
 */
function isConnection(error: unknown, name: unknown): boolean {
  const told = name === 'Error' ? (error as Error).constructor?.name : name;
  return told === 'APIConnectionError' || told === 'APIConnectionTimeoutError';
}

/**
 * Reads the pause named by `retry-after-ms` or `retry-after` (seconds or a date); undefined when the headers name none
 * to take.
 */
function readRetryAfter(headers: unknown, now: number): number | undefined {
  const milliseconds = Number.parseFloat(header(headers, 'retry-after-ms') ?? '');
  const given = header(headers, 'retry-after') ?? '';
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(given) ? Number(given) * 1000 : Date.parse(given) - now;
  const pause = [milliseconds, seconds].find((value) => value > 0 && value <= LONGEST_PAUSE_MS);
  return pause === undefined ? undefined : Math.ceil(pause);
}

function header(headers: unknown, name: string): string | undefined {
  return headers instanceof Headers ? (headers.get(name) ?? undefined) : undefined;
}
