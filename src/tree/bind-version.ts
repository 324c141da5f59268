import { hasReason } from '../errors.ts';
import { rebind, seal } from '../format/object.ts';
import type { LogicalName } from '../format/object-keys.ts';
import type { SealedVersion } from './read-file.ts';
import type { Work } from './session.ts';

export interface Binding {
  readonly from: LogicalName;
  readonly to: LogicalName;
  /** 16 bytes; absent: the version's own is kept. */
  readonly origin?: Uint8Array | undefined;
  /** The bound of the version that is replaced, where that is another one and was read. */
  readonly after?: bigint | undefined;
}

/**
 * The object of `version` bound to another name, the active key or another origin. Where its own key was retired since
 * it was read its data key is out of reach, and the content is sealed anew.
 */
export function bindVersion(
  work: Work,
  version: SealedVersion,
  { from, to, origin, after }: Binding,
): Uint8Array {
  const { keys, stored, content, mtime, bound, previous, writer } = version;
  const binding = {
    keys,
    origin: origin ?? version.origin,
    clock: work.session.clock(),
    random: work.session.random,
  };
  const latest = after !== undefined && after > bound ? after : bound;
  try {
    return rebind({ ...binding, object: stored.body, from, to, after: latest });
  } catch (error) {
    if (!hasReason(error, 'unknown_key')) throw error;
    return seal({ ...binding, name: to, content, mtime, after: latest, previous, writer });
  }
}
