import { hasCode, MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { untilAborted } from '../../time.ts';
import { beginWait } from '../../waits.ts';
import { drawId } from '../draw-id.ts';
import { uncancelled, type Work } from '../tenant.ts';
import type { RenameLease } from './lease.ts';
import { LEASE_MS, type RegisterState, type RenameEntry, readRegister } from './register.ts';
import type { FileRename } from './rename-file.ts';

/** The longest time that a command waits for another process's rename (milliseconds). */
const PATIENCE_MS = 60_000;
const LOOK_AGAIN_MS = 250;

/**
 * The result of a look at the register: no rename, one of a process that may be alive, or one that this look brought to
 * its end.
 */
export type RecoveryOutcome = 'idle' | 'under_way' | 'finished';

/** The register as a process saw it last: whether it was leased then says nothing about now. */
type Seen = Omit<RegisterState, 'isLeased'>;

/** The one place of a tenant where renames of directories take turns, and where a crashed one is found. */
export interface RenameRegister {
  /**
   * Takes the register for a new rename. Waits while another one is under way and finishes it when its process is gone.
   *
   * @throws MemoryError `unavailable` after a minute.
   */
  begin(work: Work, paths: FileRename): Promise<RenameLease>;
  /**
   * Waits until no rename is under way, finishing it when its process is gone. One GET. Answers whether there was one.
   *
   * @throws MemoryError `unavailable` after a minute.
   */
  finishAbandoned(work: Work): Promise<boolean>;
  /** Finishes a rename whose process is gone; leaves one alone that is under way. */
  recover(work: Work): Promise<RecoveryOutcome>;
}

export function createRenameRegister(): RenameRegister {
  /**
   * The register as this process saw it last, so that a rename needs no look of its own; a stale one costs a refused
   * PUT.
   */
  let known: Seen | undefined;

  const look = async (work: Work): Promise<Seen> => {
    known = await readRegister(work);
    return known;
  };

  const lookUntilIdle = async (work: Work, first: Seen): Promise<Seen> => {
    const { clock } = work.tenant;
    const deadline = clock() + PATIENCE_MS;
    const tell = beginWait('rename', { ms: PATIENCE_MS, clock });
    for (let state = first; state.entry !== undefined; state = await look(work)) {
      if (await takeOver(work, state)) continue;
      if (clock() >= deadline) {
        throw new MemoryError('unavailable', 'another process is renaming a directory');
      }
      tell();
      await work.tenant.pause(LOOK_AGAIN_MS, work.call.signal);
    }
    return known ?? first;
  };

  /** Remembers the version that ends the rename, for the next one. */
  const remembering = (lease: RenameLease): RenameLease => ({
    ...lease,
    async end() {
      known = undefined;
      const etag = await lease.end();
      known = { entry: undefined, etag, ageMs: 0 };
      return etag;
    },
  });

  return {
    async begin(work, paths) {
      const { takeLease } = await import('./lease.ts');
      for (let state = known ?? (await look(work)); ; state = await look(work)) {
        const { etag } = await lookUntilIdle(work, state);
        const rename = { ...paths, id: drawId(work), by: work.saver?.writerOf(work) };
        const lease = await takeLease(work, { rename, phase: 'copying', base: etag });
        if (lease !== 'overtaken') return remembering(lease);
      }
    },
    async finishAbandoned(work) {
      const state = await look(work);
      await lookUntilIdle(work, state);
      return state.entry !== undefined;
    },
    async recover(work) {
      const state = await look(work);
      if (state.entry === undefined) return 'idle';
      return (await takeOver(work, state)) ? 'finished' : 'under_way';
    },
  };
}

/**
 * Finishes the rename of a process that has let its lease run out. Answers false while the lease may be held, or when
 * another process won the race.
 */
async function takeOver(work: Work, { entry, etag, ageMs }: Seen): Promise<boolean> {
  if (entry === undefined || ageMs <= LEASE_MS) return false;
  // Both modules are loaded before the lease is taken, because its time runs.
  const { takeLease } = await import('./lease.ts');
  const { resumeRename } = await import('./rename-directory.ts');
  const lease = await takeLease(work, { rename: renameOf(entry), phase: entry.phase, base: etag });
  if (lease === 'overtaken') return false;
  work.tenant.logger.warn('finishing the rename of a directory that another process began', {
    phase: entry.phase,
  });
  try {
    const verdict = await resumeRename(lease, entry.phase);
    if (verdict !== undefined) {
      const { code } = verdict;
      work.tenant.logger.warn(
        'the rename of another process ended with an error that its caller does not hear',
        {
          code,
        },
      );
    }
  } catch (cause) {
    // The caller's own command did nothing. The operator must find out why the rename keeps blocking it.
    if (hasCode(cause, 'aborted')) throw cause;
    throw new MemoryError('unavailable', 'The rename of a directory by another process cannot be finished.', {
      cause,
    });
  }
  return true;
}

function renameOf({ id, by, from, to }: RenameEntry): RenameLease['rename'] {
  return { id, by, from, to };
}

/**
 * Finishes the rename of a process that is gone. One look is enough for the life of a process, unless it finds a rename
 * under way: the process that runs it may die within its lease, so the first command after the lease looks again.
 */
interface Recovery {
  /** Waits until the look has ended. */
  before(work: Work): Promise<void>;
  /** Runs `read` beside the look, and again when the look finished a rename meanwhile. */
  beside<T>(work: Work, read: () => Promise<T>): Promise<T>;
}

/** Finds the code of the innermost cause, which tells why a rename cannot be finished. */
function innermostCode(error: unknown): MemoryErrorCode {
  if (!(error instanceof MemoryError)) return 'unavailable';
  return error.cause instanceof MemoryError ? innermostCode(error.cause) : error.code;
}

export function createRecovery(renames: RenameRegister): Recovery {
  let looking: Promise<RecoveryOutcome> | undefined;
  /** The moment of the next look, by the monotonic clock. */
  let lookAgainAt = Number.POSITIVE_INFINITY;

  /** Looks, and only logs a failure for the operator: the command still runs, and the next one looks again. */
  const look = async (work: Work): Promise<RecoveryOutcome> => {
    const { logger, monotonic } = work.tenant;
    lookAgainAt = Number.POSITIVE_INFINITY;
    try {
      const recovered = await renames.recover(uncancelled(work));
      if (recovered === 'under_way') lookAgainAt = monotonic() + LEASE_MS;
      // Reads that begin from here on see the finished rename.
      if (recovered === 'finished') looking = Promise.resolve('idle');
      return recovered;
    } catch (error) {
      looking = undefined;
      logger.warn('the register of renames could not be read or finished', { code: innermostCode(error) });
      return 'idle';
    }
  };

  const lookWhereNeeded = (work: Work): Promise<RecoveryOutcome> => {
    if (work.tenant.monotonic() >= lookAgainAt) looking = undefined;
    looking ??= look(work);
    return untilAborted(looking, work.call.signal);
  };

  return {
    async before(work) {
      await lookWhereNeeded(work);
    },
    async beside(work, read) {
      const [recovered, result] = await Promise.allSettled([lookWhereNeeded(work), read()]);
      if (recovered.status === 'fulfilled' && recovered.value === 'finished') return read();
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    },
  };
}
