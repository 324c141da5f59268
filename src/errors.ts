/**
 * The kind of an error, split by what the reader does next: the model mends its input · try again · the operator must
 * act · security.
 */
export type MemoryErrorCode =
  | 'invalid_command'
  | 'invalid_path'
  | 'not_found'
  | 'already_exists'
  | 'is_directory'
  | 'not_text'
  | 'no_match'
  | 'ambiguous_match'
  | 'line_out_of_range'
  | 'limit_exceeded'
  | 'read_only'
  | 'policy_refused'
  | 'version_conflict'
  | 'outcome_unknown'
  | 'unavailable'
  | 'timeout'
  | 'aborted'
  | 'access_denied'
  | 'key_unavailable'
  | 'tenant_unknown'
  | 'unsupported_format'
  | 'misconfigured'
  | 'integrity';

/**
 * The advice about a repeat. `now`: the same call may be repeated at once; `later`: after a pause; `never`: something
 * must change first.
 */
export type RetryAdvice = 'never' | 'now' | 'later';

const RETRY: Partial<Record<MemoryErrorCode, RetryAdvice>> = {
  version_conflict: 'now',
  unavailable: 'later',
  timeout: 'later',
};

/**
 * Facts a reply may name: numbers, rule names, field names, memory paths. Never content, keys, bucket names or object
 * keys.
 */
export type ErrorDetails = Readonly<
  Record<string, string | number | boolean | readonly number[] | readonly string[]>
>;

export interface MemoryErrorOptions {
  readonly details?: ErrorDetails;
  readonly cause?: unknown;
  readonly retry?: RetryAdvice;
}

/**
 * The one error class of the library. `message` is written for the operator and holds no content, key material, bucket,
 * ARN or object key; `language/sentences.ts` alone makes the model's text, from `code` and `details`.
 */
export class MemoryError extends Error {
  override readonly name = 'MemoryError';
  readonly code: MemoryErrorCode;
  readonly retry: RetryAdvice;
  readonly details: ErrorDetails;

  constructor(code: MemoryErrorCode, message: string, options: MemoryErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retry = options.retry ?? RETRY[code] ?? 'never';
    this.details = options.details ?? {};
  }
}

/** The holder of a root key who is not the operator: the settings of his tenant name the key. */
export type KeyHolder = 'tenant';

/** Answers who holds the root key that refused or was away; undefined for the operator's, and for every other failure. */
export function keyHolderOf(error: unknown): KeyHolder | undefined {
  if (!(error instanceof MemoryError)) return undefined;
  return error.details['keyHolder'] === 'tenant' ? 'tenant' : keyHolderOf(error.cause);
}

/** Tells whether `error` is a `MemoryError` with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly MemoryErrorCode[]): error is MemoryError {
  return error instanceof MemoryError && codes.includes(error.code);
}

/** Tells whether an object was read that was not sealed for its place, or is larger than any that was. */
export function isDamaged(error: unknown): error is MemoryError {
  return hasCode(error, 'integrity', 'limit_exceeded');
}

/** Waits for a reading. Passes over damage, which `verify` names, and answers `otherwise` in its place. */
export async function unlessDamaged<T, U = undefined>(
  reading: Promise<T>,
  otherwise?: (error: MemoryError) => U,
): Promise<T | U> {
  try {
    return await reading;
  } catch (error) {
    if (!isDamaged(error)) throw error;
    return otherwise?.(error) as U;
  }
}

/**
 * Answers a file in place of one that `files.stat` refuses as damaged, for a caller who would only delete it.
 *
 * @throws any other error.
 */
export function damagedFile(error: unknown): { readonly type: 'file' } {
  if (isDamaged(error)) return { type: 'file' };
  throw error;
}

/** Tells whether `error` is a `MemoryError` whose `details.reason` is this one. */
export function hasReason(error: unknown, reason: string): error is MemoryError {
  return error instanceof MemoryError && error.details['reason'] === reason;
}

const FOR_THE_OPERATOR: ReadonlySet<MemoryErrorCode> = new Set([
  'outcome_unknown',
  'unavailable',
  'timeout',
  'access_denied',
  'key_unavailable',
  'tenant_unknown',
  'unsupported_format',
  'misconfigured',
  'integrity',
]);

/** Tells whether the model reads only a neutral sentence about an error, so that the operator must be told the cause. */
export function isForTheOperator({ code }: Pick<MemoryError, 'code'>): boolean {
  return FOR_THE_OPERATOR.has(code);
}

/**
 * Checks a whole number.
 *
 * @throws MemoryError `misconfigured`, naming `what`, unless the value is a whole number within the bounds.
 */
export function checkWholeNumber(
  what: string,
  value: unknown,
  { least, most }: { readonly least: number; readonly most: number },
): void {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return;
  throw misconfigured(`${what} must be a whole number from ${least} to ${most}.`);
}

export function misconfigured(message: string, cause?: unknown): MemoryError {
  return new MemoryError('misconfigured', message, { cause });
}

/**
 * Loads a package that is an optional peer of this one.
 *
 * @throws MemoryError `misconfigured` that says what to install, where the package is missing.
 */
export async function loadPeer<T>(
  load: () => Promise<T>,
  { name, of }: { readonly name: string; readonly of: string },
): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const code = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
    if (code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw misconfigured(`A package is not installed that ${of} needs: run "npm install ${name}".`, error);
  }
}
