/**
 * Exactly `length` bytes from a cryptographically secure source, never the same ones twice. The array is the
 * caller's to overwrite.
 */
export type RandomBytes = (length: number) => Uint8Array;
