import type { LogicalName, ObjectKey } from '../format/object-keys.ts';
import type { ETag } from '../store/port.ts';
import { confirmedPut } from './confirmed-put.ts';
import { bindVersion, copyVersion, laterOf, type SealedVersion } from './read-file.ts';
import type { Work } from './tenant.ts';

interface Rewriting {
  readonly key: ObjectKey;
  readonly name: LogicalName;
  /** The stored version that is replaced. */
  readonly base: ETag;
  /** `renewed`: a data key that was drawn under an older key than the active one is drawn anew. */
  readonly dataKey: 'kept' | 'renewed';
  /** 16 bytes; when absent, the version's own is kept. */
  readonly origin?: Uint8Array | undefined;
  /** Bounds of other bindings, each of which the new one is later than. */
  readonly bounds?: readonly bigint[];
}

/**
 * Writes an object that was read at its own place again, under the active key: name, text and facts stay. Undefined:
 * another writer was first. One PUT, confirmed.
 *
 * @throws MemoryError as `confirmedPut`.
 */
export async function writeAgain(
  work: Work,
  version: SealedVersion,
  { key, name, base, dataKey, origin, bounds = [] }: Rewriting,
): Promise<ETag | undefined> {
  const copy = dataKey === 'renewed' ? copyVersion : bindVersion;
  const written = await confirmedPut(work, {
    key,
    seal: (stamp) => copy(work, version, { ...stamp, from: name, to: name, origin }),
    after: bounds.reduce(laterOf, version.bound),
    mode: { ifMatch: base },
  });
  return 'etag' in written ? written.etag : undefined;
}
