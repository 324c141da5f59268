import { MemoryError } from '../../errors.ts';

/** A line of `exec --jsonl`, parsed; its fields may be anything. */
export type RequestFields = Readonly<Record<string, unknown>>;

/** @throws MemoryError `invalid_command` where the request has a field that it does not know. */
export function refuseOtherFields(request: RequestFields, fields: readonly string[]): void {
  if (Object.keys(request).some((name) => !fields.includes(name))) {
    throw invalidRequest(`This request has the fields ${fields.join(', ')} and no others.`);
  }
}

export function invalidRequest(message: string): MemoryError {
  return new MemoryError('invalid_command', message);
}
