/**
 * Dollars for one request to S3 Standard in us-east-1, by AWS's public price list as it stood in 2026. Deletes are
 * free.
 */
const DOLLARS_PER_WRITE = 0.005 / 1_000;
const DOLLARS_PER_READ = 0.0004 / 1_000;

const FREE = /^Delete|^Abort/;
const READ = /^Get|^Head/;

/** Prices these operations of S3, by their names in its API, as requests. Lists cost as much as writes. */
export function dollarsOf(operations: readonly string[]): number {
  return operations.reduce((sum, operation) => sum + priceOf(operation), 0);
}

function priceOf(operation: string): number {
  if (FREE.test(operation)) return 0;
  return READ.test(operation) ? DOLLARS_PER_READ : DOLLARS_PER_WRITE;
}
