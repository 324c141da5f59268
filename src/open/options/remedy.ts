import { hasReason, MemoryError, type MemoryErrorCode } from '../../errors.ts';

/** The next step of an operator, for codes whose message does not say it itself. */
const REMEDIES: Partial<Record<MemoryErrorCode, string>> = {
  integrity: 'the keyring is not what this root key sealed for this tenant; restore it from a backup',
  unsupported_format: 'use the version of sealed-memory that wrote it',
};

/** Makes the message of a failure to open a memory, with the operator's next step. */
export function withRemedy({ code, message }: MemoryError): string {
  const remedy = REMEDIES[code];
  return remedy === undefined ? message : `${message.replace(/\.$/, '')}: ${remedy}.`;
}

/** Makes the error that the caller of a failed opening reads. */
export function openingFailure(error: unknown, nameOf: (option: string) => string): unknown {
  if (hasReason(error, 'name_mode')) {
    const { code, message, details } = error;
    return new MemoryError(code, message.replace('set names', `set ${nameOf('names')}`), { details });
  }
  if (!(error instanceof MemoryError) || REMEDIES[error.code] === undefined) return error;
  const { code, details, retry, cause } = error;
  return new MemoryError(code, withRemedy(error), { details, retry, cause });
}
