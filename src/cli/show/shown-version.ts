const SHOWN_CHARACTERS = 8;

/**
 * Writes a version as people read it: `v` and its first characters, which tell versions apart. The `v` keeps a name from
 * beginning with a dash, as an option does; every command takes a version so (`typedVersion`).
 */
export function shownVersion(version: string): string {
  return `v${version.slice(0, SHOWN_CHARACTERS)}`;
}
