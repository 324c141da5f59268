import { MemoryError } from '../errors.ts';
import type { LogicalName } from '../sealing/logical-name.ts';
import { rebind, seal } from '../sealing/sealed-object.ts';
import type { OpenVault } from './context.ts';
import type { SealedVersion } from './read-file.ts';

export interface Binding {
  readonly from: LogicalName;
  readonly to: LogicalName;
  /** 16 bytes; absent: the version's own is kept. */
  readonly origin?: Uint8Array | undefined;
}

/**
 * The object of `version` bound to another name, the active key or another origin. Where its own key was retired since
 * it was read its data key is out of reach, and the content is sealed anew.
 */
export function bindVersion(
  { random }: OpenVault,
  version: SealedVersion,
  { from, to, origin }: Binding,
): Uint8Array {
  const { keys, stored, content, mtime } = version;
  try {
    return rebind({ keys, object: stored.body, from, to, origin, random });
  } catch (error) {
    if (!(error instanceof MemoryError) || error.details['reason'] !== 'unknown_key') throw error;
    return seal({ keys, name: to, content, mtime, origin: origin ?? version.origin, random });
  }
}
