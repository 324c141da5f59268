import { toBase64 } from '../../format/encoding.ts';
import { imageMediaType } from '../../language/image.ts';
import { countInvisible } from '../../language/invisible.ts';
import type { MemoryPath } from '../../language/path.ts';
import { decodeText, findInLines } from '../../language/text.ts';
import { inTurns } from '../../time.ts';
import type { ResultOf } from '../protocol.ts';

/** Tells the page whether the bytes of a file at a path are a text, an image or neither. */
export function contentOf(path: MemoryPath, content: Uint8Array): ResultOf<'file'>['content'] {
  const type = imageMediaType(path, content);
  if (type !== undefined) return { kind: 'image', type, base64: toBase64(content) };
  const text = decodeText(content);
  return text === undefined ? { kind: 'bytes', base64: toBase64(content) } : { kind: 'text', text };
}

/** Counts the characters of a text that cannot be seen, and lets others run; bytes that are no text have none. */
export async function countUnseen(content: Uint8Array, signal: AbortSignal): Promise<number> {
  const text = decodeText(content) ?? '';
  const counts = await inTurns(
    findInLines(text, (line) => countInvisible(line) || undefined),
    signal,
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
