/** A refusal's facts; without them it has status 400 and the type `invalid_request_error`. */
export interface ApiRefusalOptions {
  /** A status of HTTP. */
  readonly status?: number;
  /** A type of error of the API, such as `rate_limit_error`. */
  readonly type?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Sent with the answer, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal by the API, which a script throws: status, type of error, message. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal';
  readonly status: number;
  readonly type: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(message: string, options: ApiRefusalOptions = {}) {
    super(message);
    this.status = options.status ?? 400;
    this.type = options.type ?? 'invalid_request_error';
    this.details = options.details;
    this.headers = options.headers ?? {};
  }
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new ApiRefusal('The request body is not valid JSON');
  }
}

/** Reads the object at `at`; with `fields`, one that has no other fields. */
export function record(value: unknown, at: string, fields?: readonly string[]): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ApiRefusal(`${at}: Input should be an object`);
  }
  const extra = fields && Object.keys(value).find((name) => !fields.includes(name));
  if (extra !== undefined) throw new ApiRefusal(`${at}.${extra}: Extra inputs are not permitted`);
  return value as JsonObject;
}

export function list(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ApiRefusal(`${at}: Input should be a valid list`);
  return value;
}

export function text(value: unknown, at: string): string {
  if (typeof value !== 'string' || value === '') {
    throw new ApiRefusal(`${at}: Input should be a valid string`);
  }
  return value;
}

export function filledText(value: unknown, at: string): string {
  if (text(value, at).trim() === '') {
    throw new ApiRefusal(`${at}: text content blocks must contain non-whitespace text`);
  }
  return String(value);
}

export function flag(value: unknown, at: string): boolean {
  if (value !== undefined && typeof value !== 'boolean') {
    throw new ApiRefusal(`${at}: Input should be a valid boolean`);
  }
  return value ?? false;
}

export function wholeNumber(
  value: unknown,
  { at, least }: { readonly at: string; readonly least: number },
): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least) {
    throw new ApiRefusal(`${at}: Input should be a whole number of at least ${least}`);
  }
  return value;
}
