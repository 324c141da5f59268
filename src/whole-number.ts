import { MemoryError } from './errors.ts';

/** @throws MemoryError `misconfigured`, naming `what`, unless the value is a whole number within the bounds. */
export function checkWholeNumber(
  what: string,
  value: number,
  { least, most }: { readonly least: number; readonly most: number },
): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new MemoryError('misconfigured', `${what} must be a whole number from ${least} to ${most}.`);
}
