import { toBase64 } from '../../format/encoding.ts';
import { imageMediaType } from '../../language/image.ts';
import type { MemoryPath } from '../../language/path.ts';
import { decodeText } from '../../language/text.ts';
import type { ResultOf } from '../protocol.ts';

/** Tells the page whether the bytes of a file at a path are a text, an image or neither. */
export function contentOf(path: MemoryPath, content: Uint8Array): ResultOf<'file'>['content'] {
  const type = imageMediaType(path, content);
  if (type !== undefined) return { kind: 'image', type, base64: toBase64(content) };
  const text = decodeText(content);
  return text === undefined ? { kind: 'bytes' } : { kind: 'text', text };
}
