import { misconfigured } from '../errors.ts';

const LEAST = { major: 22, minor: 13 };

/** @throws MemoryError `misconfigured` on a Node that is too old for the library, by its version. */
export function refuseOldNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > LEAST.major || (major === LEAST.major && minor >= LEAST.minor)) return;
  throw misconfigured(
    `sealed-memory needs Node ${LEAST.major}.${LEAST.minor} or newer, and this is Node ${version}: install a newer one.`,
  );
}
