import { sameBytes, toBase64url } from '../format/encoding.ts';
import type { MemoryPath } from '../language/path.ts';
import type { VersionFacts } from './history-record.ts';
import type { VersionId } from './past/past.ts';

/** A version whose text was taken out, or goes. */
export type GoneVersion = Pick<VersionFacts, 'id' | 'path' | 'size'>;

/** What was redacted, and how to know it where else it lies. */
export interface Redacted {
  readonly gone: readonly GoneVersion[];
  /** Where the file lay. */
  readonly paths: ReadonlySet<MemoryPath>;
  /** The versions of the file, as far as they are known. */
  readonly versions: ReadonlySet<VersionId>;
  /** Undefined where an earlier run has taken it out. */
  readonly text: Uint8Array | undefined;
}

/**
 * Tells whether a version is one of those, or has the same text in the file's past. A rename that is not written down yet
 * leaves the file at a path that nobody knows: there the version that it replaced tells.
 */
export function holdsRedacted(
  { gone, paths, versions, text }: Redacted,
  version: Pick<VersionFacts, 'id' | 'path' | 'previous'>,
  content: Uint8Array,
): boolean {
  if (gone.some(({ id }) => sameBytes(id, version.id))) return true;
  if (!paths.has(version.path) && !versions.has(toBase64url(version.previous))) return false;
  return text !== undefined && text.length > 0 && sameBytes(text, content);
}
