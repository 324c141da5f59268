import { MemoryError } from '../../errors.ts';
import { ageOf, type DatedMeta } from '../../store/port.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { type FilePlace, keepNewest } from '../../tree/rename/keep-newest.ts';
import type { Work } from '../../tree/tenant.ts';
import type { DuplicateFinding, DuplicateState } from '../findings.ts';

/** The age below which a rename may still be on its way between two places (milliseconds, the server's clock). */
const QUIET_MS = 60_000;

/** A file as it was read, at one of the places where its content lies. */
export interface ReadPlace extends FilePlace {
  /** The server's clock, as precise as the server tells it; milliseconds since the epoch. */
  readonly lastModified: number;
  /** Bytes as stored. */
  readonly size: number;
  readonly origin: Uint8Array;
}

interface DuplicateRequest {
  /** Places that held one content when they were read, oldest first. */
  readonly groups: readonly (readonly ReadPlace[])[];
  /** True where a directory is being renamed, or a damaged register leaves that open. */
  readonly isRenaming: boolean;
  readonly repair: boolean;
}

/** Looks at the places once more and tells the older ones, or removes them with `repair`. */
export async function decideDuplicates(
  work: Work,
  request: DuplicateRequest,
): Promise<readonly DuplicateFinding[]> {
  const findings: DuplicateFinding[] = [];
  const decideOne = async (group: readonly ReadPlace[]): Promise<void> => {
    findings.push(...(await decideGroup(work, request, group)));
  };
  // At most one file of each group is read.
  await eachConcurrently(work.tenant, request.groups, decideOne, (group) => group.at(-1)?.size ?? 0);
  return findings;
}

async function decideGroup(
  work: Work,
  { isRenaming, repair }: DuplicateRequest,
  group: readonly ReadPlace[],
): Promise<readonly DuplicateFinding[]> {
  const seen = await Promise.all(group.map((place) => lookAgain(work, place)));
  const there = group.filter((_, index) => seen[index] !== undefined);
  const newest = there.at(-1);
  const others = there.slice(0, -1);
  if (newest === undefined || others.length === 0) return [];
  const told = (places: readonly ReadPlace[], state: DuplicateState): readonly DuplicateFinding[] =>
    places.map(({ path }) => ({ kind: 'duplicate', state, older: path, newer: newest.path }));

  if (isRenaming || seen.some((meta) => meta !== undefined && ageOf(meta) < QUIET_MS)) {
    return told(others, 'in_progress');
  }
  const older = others.filter(({ lastModified }) => lastModified < newest.lastModified);
  const undecided = told(
    others.filter((place) => !older.includes(place)),
    'undecided',
  );
  if (!repair || older.length === 0) return [...told(older, 'left'), ...undecided];
  const removed = await removeOlder(work, newest, older);
  const kept = older.filter((place) => !removed.includes(place));
  return [...told(removed, 'removed'), ...told(kept, 'not_removed'), ...undecided];
}

/** Looks at a place again; undefined where its file went or changed while others were read. */
async function lookAgain(work: Work, place: ReadPlace): Promise<DatedMeta | undefined> {
  const found = await work.tenant.store.head(place.key, { signal: work.call.signal });
  return found?.etag === place.etag ? found : undefined;
}

/** Keeps the newest place alone, and answers which of the others are gone; none where it failed. */
async function removeOlder(
  work: Work,
  newest: ReadPlace,
  older: readonly ReadPlace[],
): Promise<readonly ReadPlace[]> {
  try {
    return await keepNewest(work, newest, older);
  } catch (error) {
    if (!(error instanceof MemoryError) || error.code === 'aborted') throw error;
    return [];
  }
}
