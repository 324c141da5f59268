import { toBase64 } from '../../format/encoding.ts';
import { imageMediaType } from '../../language/image.ts';
import type { MemoryPath } from '../../language/path.ts';
import { decodeText } from '../../language/text.ts';
import type { Content } from '../protocol.ts';

/** What the bytes of a file at a path are, for the page. */
export function contentOf(path: MemoryPath, content: Uint8Array): Content {
  const type = imageMediaType(path, content);
  if (type !== undefined) return { kind: 'image', type, base64: toBase64(content) };
  const text = decodeText(content);
  return text === undefined ? { kind: 'bytes' } : { kind: 'text', text };
}
