import { fromBase64 } from '../format/encoding.ts';
import { KMS_SCHEME } from '../keys/kms-key-arn.ts';

const KEY_BYTES = 32;
export const HOW_TO_MAKE_ONE: string = `A root key is base64 of ${KEY_BYTES} bytes, which "openssl rand -base64 ${KEY_BYTES}" makes ("sealed-memory init" writes a file with it), or "${KMS_SCHEME}" and a key ARN.`;

/**
 * What looks like another thing than a root key, as the rest of a sentence, and how to make one; undefined for a root
 * key, other than one in KMS. Of the key it tells a form and a length, and none of its characters.
 */
export function rootKeyFault(key: unknown): string | undefined {
  const form = typeof key === 'string' ? formOfText(key) : formOfOther(key);
  return form && `${form}. ${HOW_TO_MAKE_ONE}`;
}

function formOfOther(key: unknown): string | undefined {
  if (!(key instanceof Uint8Array)) {
    const { generate, unwrap } = Object(key);
    if (typeof generate === 'function' && typeof unwrap === 'function') return undefined;
    return 'is no text, no Uint8Array, and no object with generate and unwrap';
  }
  const { length } = key;
  if (length === KEY_BYTES) return undefined;
  const isText = length === 44 ? ': Buffer.from(text, "base64") makes them of a text' : '';
  return `has ${length} bytes, not ${KEY_BYTES}${isText}`;
}

function formOfText(text: string): string | undefined {
  const bytes = fromBase64(text)?.length;
  if (bytes === KEY_BYTES) return undefined;
  if (text === '') return 'is empty';
  const key = text.trim();
  if (key === '') return 'is white space alone';
  if (key !== text) return 'has white space around it';
  if (/^[0-9a-f]{16,}$/i.test(text)) {
    return text.length === 2 * KEY_BYTES
      ? 'looks hexadecimal: "xxd -r -p | base64" makes base64 of it'
      : 'looks hexadecimal, and has not the length of a root key';
  }
  if (/^arn:/i.test(text)) return `looks like an ARN without "${KMS_SCHEME}" before it`;
  if (bytes !== undefined) return `is base64 of ${bytes} bytes, not of ${KEY_BYTES}`;
  const mended = `${text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')}=`;
  return fromBase64(mended)?.length === KEY_BYTES
    ? 'looks like base64 for URLs, or without its end: write "+" for "-", "/" for "_", and "=" at the end'
    : `is not base64 of ${KEY_BYTES} bytes`;
}
