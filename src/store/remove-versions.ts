import { type ErrorDetails, hasCode, MemoryError } from '../errors.ts';
import { type KeptVersion, knowsNoVersions, type ObjectVersions, type RequestOptions } from './port.ts';

/** A version that stays although it was to go, or that could not be judged, and why. */
interface LeftVersion {
  readonly kept: KeptVersion;
  readonly error: unknown;
}

/** Counts the older versions that went, and names those that stay. */
interface VersionsRemoval {
  readonly removed: number;
  readonly left: readonly LeftVersion[];
  /** Failures of listings: what would have come after them was not looked at. */
  readonly unlisted: readonly unknown[];
}

/** `gone`: it was listed, and is not there any more. `later`: the caller removes it after all others. */
type VersionVerdict = 'remove' | 'keep' | 'later' | 'gone';

export interface RemovalRequest extends RequestOptions {
  readonly versions: ObjectVersions;
  /** Begins the listings of all places; each is walked again until it shows nothing that went. */
  readonly listings: readonly (() => AsyncIterable<readonly KeptVersion[]>)[];
  /** Judges a version that a plain GET does not find, also again in a later walk. */
  readonly judge: (kept: KeptVersion) => Promise<VersionVerdict>;
  /** Runs the work on every version of a page; one after another unless given. */
  readonly each?: (page: readonly KeptVersion[], work: (kept: KeptVersion) => Promise<void>) => Promise<void>;
  readonly onRemoved?: ((removed: number) => void) | undefined;
}

/** The failures in a row after which the server is asked no more. */
const OUTAGE = 3;

/**
 * Removes older versions for good, and goes on past each one that stays. A version that is listed again although the
 * server confirmed that it went counts as one that stays. `no_versions`: the server has no requests for versions.
 *
 * @throws MemoryError `aborted` when the caller cancels; everything else is in what it returns.
 */
export async function removeVersions(request: RemovalRequest): Promise<VersionsRemoval | 'no_versions'> {
  const { versions, listings, judge, each = oneAfterAnother, onRemoved, signal } = request;
  const left = new Map<string, LeftVersion>();
  const settled = new Set<string>();
  let unlisted: unknown[] = [];
  let [removed, outages] = [0, 0];

  const removeOne = async (kept: KeptVersion): Promise<void> => {
    const name = `${kept.key} ${kept.versionId}`;
    if (left.has(name)) return;
    if (outages >= OUTAGE) throw outage();
    try {
      if (settled.has(name)) throw stillListed();
      const verdict = await judge(kept);
      if (verdict === 'remove') await versions.remove(kept.key, kept.versionId, { signal });
      outages = 0;
      if (verdict === 'keep' || verdict === 'later') return;
      settled.add(name);
      if (verdict === 'gone') return;
      removed++;
      onRemoved?.(removed);
    } catch (error) {
      if (hasCode(error, 'aborted')) throw error;
      if (hasCode(error, 'unavailable', 'timeout')) outages++;
      left.set(name, { kept, error });
    }
  };

  // Until a whole listing shows nothing that went: pages shift while their versions go.
  for (let before = -1; settled.size !== before; ) {
    before = settled.size;
    unlisted = [];
    for (const listing of listings) {
      try {
        for await (const page of listing()) {
          await each(
            page.filter(({ isCurrent }) => !isCurrent),
            removeOne,
          );
        }
      } catch (error) {
        if (hasCode(error, 'aborted')) throw error;
        if (knowsNoVersions(error)) return 'no_versions';
        unlisted.push(error);
      }
    }
  }
  return { removed, left: [...left.values()], unlisted };
}

async function oneAfterAnother(
  page: readonly KeptVersion[],
  work: (kept: KeptVersion) => Promise<void>,
): Promise<void> {
  for (const kept of page) await work(kept);
}

function stillListed(): MemoryError {
  return new MemoryError(
    'misconfigured',
    'The object store lists a version although it confirmed that it is gone: check what lies before it.',
  );
}

function outage(): MemoryError {
  return new MemoryError('unavailable', 'The object store failed again and again, so the rest was left.');
}

/** The words by which a failure tells of the versions that stay. */
interface RemovalWords {
  /** The part that is done all the same, such as "the keys are out of use". */
  readonly done: string;
  /** The owner of the versions, such as "the keyring". */
  readonly of: string;
  /** The permissions that it takes. */
  readonly actions: string;
  readonly details?: ErrorDetails | undefined;
}

/**
 * The failure for what stays or was not looked at, with `reason: 'versions_left'`; undefined where nothing is left to
 * do. `access_denied` where all of it was denied, otherwise the code of the first other failure. `details.versions`
 * counts those that are known to stay.
 */
export function removalFailure(
  { left, unlisted, removed }: VersionsRemoval,
  { done, of, actions, details }: RemovalWords,
): MemoryError | undefined {
  const errors = [...unlisted, ...left.map(({ error }) => error)];
  if (errors.length === 0) return undefined;
  const other = errors.find((error) => !hasCode(error, 'access_denied'));
  if (other !== undefined && !(other instanceof MemoryError)) throw other;
  const count = `${left.length} older version${left.length === 1 ? '' : 's'} of ${of} may still be there`;
  const stays = [
    ...(left.length > 0 ? [count] : []),
    ...(unlisted.length > 0 ? [`not all older versions of ${of} could be listed`] : []),
  ].join(', and ');
  const remedy =
    other === undefined
      ? `allow to list, read and remove them (${actions}; an object lock or a legal hold must have ended) and run this again`
      : `${other.message.replace(/\.$/, '')}; then run this again`;
  return new MemoryError(other?.code ?? 'access_denied', `${done}, but ${stays}: ${remedy}`, {
    details: { ...details, reason: 'versions_left', versions: left.length, removed },
    cause: other ?? errors[0],
  });
}
