const ENCODER = new TextEncoder();
const LONE_SURROGATES = /\p{Cs}/gu;

/** The text of UTF-8 bytes, a leading byte order mark kept as U+FEFF; undefined when they are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** UTF-8 bytes of a well-formed text; `decodeText` gives the same text back. */
export function encodeText(text: string): Uint8Array {
  return ENCODER.encode(text);
}

/** Whether the text can be stored as UTF-8 without loss: no half of a surrogate pair stands alone in it. */
export function isWellFormed(text: string): boolean {
  return text.search(LONE_SURROGATES) === -1;
}

/** The text with every lone surrogate replaced by U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(LONE_SURROGATES, '\uFFFD');
}

/** The first `units` UTF-16 units of the text, one less where that would cut a surrogate pair in two. */
export function startOfText(text: string, units: number): string {
  const start = text.slice(0, units);
  const last = start.charCodeAt(start.length - 1);
  return text.length > units && last >= 0xd800 && last <= 0xdbff ? start.slice(0, -1) : start;
}
