import type { MemoryPath } from './path.ts';

export type ImageMediaType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

const EXTENSIONS: ReadonlyMap<string, ImageMediaType> = new Map([
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.gif', 'image/gif'],
  ['.webp', 'image/webp'],
]);

/**
 * Tells the media type of an image whose extension (in any case) and first bytes agree; undefined for any other file.
 */
export function imageMediaType(path: MemoryPath, bytes: Uint8Array): ImageMediaType | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  const expected = dot === -1 ? undefined : EXTENSIONS.get(name.slice(dot).toLowerCase());
  return expected !== undefined && expected === signatureOf(bytes) ? expected : undefined;
}

function signatureOf(bytes: Uint8Array): ImageMediaType | undefined {
  if (startsWith(bytes, 0, '\x89PNG\r\n\x1a\n')) return 'image/png';
  if (startsWith(bytes, 0, '\xff\xd8\xff')) return 'image/jpeg';
  if (startsWith(bytes, 0, 'GIF87a') || startsWith(bytes, 0, 'GIF89a')) return 'image/gif';
  if (startsWith(bytes, 0, 'RIFF') && startsWith(bytes, 8, 'WEBP')) return 'image/webp';
  return undefined;
}

/** Compares the bytes with a signature written as one character per byte. */
function startsWith(bytes: Uint8Array, offset: number, signature: string): boolean {
  for (let index = 0; index < signature.length; index += 1) {
    if (bytes[offset + index] !== signature.charCodeAt(index)) return false;
  }
  return true;
}
