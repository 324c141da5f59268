import { MemoryError } from '../errors.ts';

const ENCODER = new TextEncoder();

/** UTF-16 units of the longest string that V8 makes. */
export const LONGEST_TEXT: number = 2 ** 29 - 24;

/**
 * The text of UTF-8 bytes, a leading byte order mark kept as U+FEFF; undefined when they are not UTF-8.
 *
 * @throws MemoryError `limit_exceeded` (`limit`: `text_bytes`) for a text that no string can hold.
 */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    // What is not UTF-8 is a TypeError, by the standard; else the engine has no room for the text.
    if (error instanceof TypeError) return undefined;
    throw new MemoryError('limit_exceeded', 'the text is longer than a string can be', {
      details: { limit: 'text_bytes', value: bytes.length, max: LONGEST_TEXT },
      cause: error,
    });
  }
}

/** UTF-8 bytes of a well-formed text; `decodeText` gives the same text back. */
export function encodeText(text: string): Uint8Array {
  return ENCODER.encode(text);
}

/** Whether the text can be stored as UTF-8 without loss: no half of a surrogate pair stands alone in it. */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed();
}

/** The text with every lone surrogate replaced by U+FFFD. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** The first `units` UTF-16 units of the text, one less where that would cut a surrogate pair in two. */
export function startOfText(text: string, units: number): string {
  const start = text.slice(0, units);
  const last = start.charCodeAt(start.length - 1);
  return text.length > units && last >= 0xd800 && last <= 0xdbff ? start.slice(0, -1) : start;
}
