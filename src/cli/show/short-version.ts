const SHOWN_CHARACTERS = 8;

/** As a version is shown: so many characters tell versions apart, and every command takes them. */
export function shortVersion(version: string): string {
  return version.slice(0, SHOWN_CHARACTERS);
}
