const COMMON = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const URL_SAFE = alphabet(`${COMMON}-_`);
const PADDING = 0x3d;
const ascii = new TextDecoder();
const STANDARD = alphabet(`${COMMON}+/`);

interface Alphabet {
  readonly codes: Uint8Array;
  /** The value of an ASCII code, −1 where there is none. */
  readonly values: Int8Array;
}

/** RFC 4648 §5 without padding. */
export function toBase64url(bytes: Uint8Array): string {
  return encode(bytes, URL_SAFE, Math.ceil((bytes.length * 4) / 3));
}

/** The bytes of a text that `toBase64url` writes in exactly this way, otherwise undefined. */
export function fromBase64url(text: string): Uint8Array | undefined {
  return decode(text, URL_SAFE);
}

/** RFC 4648 §4, padded. */
export function toBase64(bytes: Uint8Array): string {
  return encode(bytes, STANDARD, Math.ceil(bytes.length / 3) * 4);
}

/** The bytes of padded, canonical RFC 4648 §4 text, otherwise undefined. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return decode(text.slice(0, text.length - padding), STANDARD);
}

function alphabet(characters: string): Alphabet {
  const codes = Uint8Array.from(characters, (character) => character.charCodeAt(0));
  const values = new Int8Array(128).fill(-1);
  for (const [value, code] of codes.entries()) values[code] = value;
  return { codes, values };
}

function encode(bytes: Uint8Array, { codes }: Alphabet, length: number): string {
  const text = new Uint8Array(length).fill(PADDING);
  const used = Math.ceil((bytes.length * 4) / 3);
  for (let at = 0, offset = 0; at < used; at += 4, offset += 3) {
    const group = ((bytes[offset] ?? 0) << 16) | ((bytes[offset + 1] ?? 0) << 8) | (bytes[offset + 2] ?? 0);
    const end = Math.min(at + 4, used);
    for (let index = at, shift = 18; index < end; index++, shift -= 6) {
      text[index] = codes[(group >>> shift) & 63] ?? 0;
    }
  }
  return ascii.decode(text);
}

function decode(text: string, { values }: Alphabet): Uint8Array | undefined {
  if (text.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let pending = 0;
  let bits = 0;
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const value = values[text.charCodeAt(index)] ?? -1;
    if (value < 0) return undefined;
    pending = ((pending << 6) | value) & 0xfff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[length++] = pending >>> bits;
    }
  }
  const leftOver = pending & ((1 << bits) - 1);
  return leftOver === 0 ? bytes : undefined;
}
