import { toBase64url } from '../../format/encoding.ts';
import { DAY_MS } from '../../time.ts';
import type { Work } from '../../tree/tenant.ts';
import type { Past, VersionId } from '../past/past.ts';
import { readWholePast } from '../past/read.ts';
import { readActors } from '../save/actors.ts';
import { readTurnRuns, type TurnRuns } from './read-runs.ts';

/** The turns and versions of a tenant, as far as they are known. */
export interface KnownTurns {
  readonly past: Past;
  readonly turns: TurnRuns;
  /** The actors by their hashes in wraps. */
  readonly actors: ReadonlyMap<string, string>;
  /** The time before which ended turns may have expired, by the store; milliseconds since the epoch. */
  readonly keptSince: number;
  readonly writerOf: (actor: string) => string;
}

/** The least time for which ended turns are kept (docs/worker.md, "Expiry"). */
const TURNS_KEPT_MS = 15 * DAY_MS;

/**
 * Reads the turns, versions and actors of a tenant, at the cost of `readTurnRuns`, `readWholePast` and `readActors`.
 */
export async function readKnown(work: Work): Promise<KnownTurns> {
  const turns = await readTurnRuns(work);
  // After the turns, so that each version that a turn wrote is in it.
  const past = await readWholePast(work);
  return {
    past,
    turns,
    actors: await readActors(work),
    keptSince: work.tenant.stamps.storeTime() - TURNS_KEPT_MS,
    writerOf: (actor) => toBase64url(work.keyring.names.writerId(actor)),
  };
}

/** Finds the versions that were ever seen at a path, in steps. */
export function* versionsAt(
  { past, turns }: Pick<KnownTurns, 'past' | 'turns'>,
  path: string,
): Generator<void, readonly VersionId[]> {
  const found = new Set<VersionId>();
  for (const { id } of past.versions.values()) {
    yield;
    if (past.bindings(id).some((binding) => binding.path === path)) found.add(id);
  }
  for (const { from, to, id, state } of past.leaves) {
    yield;
    if (state !== 'undone' && (from === path || to === path)) found.add(id);
  }
  for (const { list } of turns.runs) {
    yield;
    for (const touch of list) if ('version' in touch && touch.path === path) found.add(touch.version);
  }
  return [...found];
}
