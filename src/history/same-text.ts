import { sameBytes } from '../format/encoding.ts';
import type { MemoryPath } from '../language/path.ts';
import type { VersionFacts } from './history-record.ts';

/** What was redacted, and how to know it where else it lies. */
export interface Redacted {
  readonly gone: readonly VersionFacts[];
  /** Where the file lay. */
  readonly paths: ReadonlySet<MemoryPath>;
  /** Undefined where an earlier run has taken it out. */
  readonly text: Uint8Array | undefined;
}

/**
 * Whether a version is one of those, holds the same text at a place of the file, or is one of them that a migration of keys
 * has sealed again.
 */
export function holdsRedacted(
  { gone, paths, text }: Redacted,
  version: Omit<VersionFacts, 'bound'>,
  content: Uint8Array,
): boolean {
  if (gone.some(({ contentId }) => sameBytes(contentId, version.contentId))) return true;
  if (!paths.has(version.path)) return false;
  if (text !== undefined) return text.length > 0 && sameBytes(text, content);
  return gone.some((each) => isSealedAgain(each, version));
}

/** A migration keeps all of these, and gives another content id. */
function isSealedAgain(a: Omit<VersionFacts, 'bound'>, b: Omit<VersionFacts, 'bound'>): boolean {
  const isAlike = a.mtime === b.mtime && a.size === b.size;
  return isAlike && sameBytes(a.previous, b.previous) && sameBytes(a.writer, b.writer);
}
