import { MemoryError } from '../../errors.ts';
import type { ETag } from '../port.ts';

/**
 * The ETag of an answer in its quoted form, the same from every request. Without a strong one, conditions cannot
 * work: `misconfigured`.
 */
export function parseETag(text: string | undefined): ETag {
  const value = text?.match(/^(?:"([^"]+)"|([^"]+))$/);
  const inner = value?.[1] ?? value?.[2];
  if (inner === undefined || inner.startsWith('W/')) {
    throw new MemoryError(
      'misconfigured',
      'The endpoint answers without a usable ETag: it, or a proxy before it, is not fit for conditional writes.',
    );
  }
  return `"${inner}"` as ETag;
}
