import { MemoryError } from '../../errors.ts';
import { toBase64 } from '../../format/encoding.ts';
import { decodeText } from '../../language/text.ts';
import { isoOf } from '../../time.ts';

const SHOWN_CHARACTERS = 8;

/**
 * Writes a version as people read it: `v` and its first characters, which tell versions apart. The `v` keeps a name
 * from beginning with a dash, as an option does; every command takes a version so (`typedVersion`).
 */
export function shownVersion(version: string): string {
  return `v${version.slice(0, SHOWN_CHARACTERS)}`;
}

/** Writes a time to the second. */
export function timeOf(date: Date | number): string {
  return isoOf(date).replace(/\.\d+Z$/, 'Z');
}

/** Writes a time to the millisecond where it lies between two seconds: this tells apart what happened within one. */
export function exactTimeOf(date: Date): string {
  return isoOf(date).replace('.000Z', 'Z');
}

/** Decodes bytes for a screen. @throws MemoryError `not_text` for bytes that are no text. */
export function textFor(bytes: Uint8Array, path: string): string {
  const text = decodeText(bytes);
  if (text !== undefined) return text;
  throw new MemoryError('not_text', `${path} is not text: "sealed-memory get" writes it to a file.`);
}

/** Makes the fields that hold a content in a line of JSON: its text, or base64 where it is none. */
export function contentFields(bytes: Uint8Array): { readonly text: string } | { readonly base64: string } {
  const text = decodeText(bytes);
  return text === undefined ? { base64: toBase64(bytes) } : { text };
}
