import { MemoryError } from '../../errors.ts';
import { toBase64url } from '../../format/encoding.ts';
import {
  type DeleteFailure,
  type ETag,
  isTooLate,
  KEYS_PER_REQUEST,
  type ObjectStore,
  type SendBound,
} from '../../store/port.ts';
import { createAges } from '../../time.ts';
import { type Tenant, uncancelled, type Work } from '../tenant.ts';
import { type DirectoryRename, type RenameEntry, type RenamePhase, writeRegister } from './register.ts';

/**
 * The age (milliseconds, by the faster of the owner's clocks) at which the owner writes the register again before its
 * next request. The rest of the lease is for requests on their way.
 */
const RENEW_MS = 3_000;
/**
 * The age of the register (milliseconds) from which its owner sends no PUT: it could arrive when another process holds
 * the lease.
 */
const SEND_MS = 5_000;
/**
 * The most times that a PUT which came too late is held again: longer than a create waits for a tombstone that a crash
 * left.
 */
const SENDS = 64;
const OWNER_BYTES = 16;

declare const leased: unique symbol;

/**
 * Work under the lease of a directory rename. Before every request its store makes sure that the register is still
 * ours. `takeLease` alone makes it, so that every step of a rename is called with a store that renews the lease.
 */
export type LeasedWork = Work & { readonly tenant: Tenant & { readonly store: LeasedStore } };
type LeasedStore = ObjectStore & { readonly [leased]: true };

/** The right to carry a rename out, held by writing the register again and again. */
export interface RenameLease {
  readonly rename: DirectoryRename;
  /**
   * Work whose store renews the lease, so that a process that was frozen finds out before it sends anything. Its
   * requests throw MemoryError `outcome_unknown` once the lease is lost.
   */
  readonly work: LeasedWork;
  /** Work under this lease for steps that must be finished or taken back: the caller cannot cancel it. */
  readonly finishing: LeasedWork;
  enter(phase: RenamePhase): Promise<void>;
  /** Writes that the rename is over, and answers the register's version. */
  end(): Promise<ETag>;
}

interface LeaseRequest {
  readonly rename: DirectoryRename;
  readonly phase: RenamePhase;
  /** The version of the register that is replaced; undefined where the register is missing. */
  readonly base: ETag | undefined;
}

/** Writes the register as ours, unless another process wins the race. */
export async function takeLease(work: Work, request: LeaseRequest): Promise<RenameLease | 'overtaken'> {
  const { rename } = request;
  const quiet = uncancelled(work);
  let entry: RenameEntry = {
    ...rename,
    phase: request.phase,
    owner: toBase64url(work.tenant.random(OWNER_BYTES)),
  };
  const ages = createAges(work.tenant);
  let writtenAt = ages.now();
  const first = await writeRegister(quiet, entry, request.base);
  if ('conflict' in first) return 'overtaken';
  let { etag } = first;
  let writing: Promise<void> = Promise.resolve();

  const write = async (next: RenameEntry | undefined): Promise<void> => {
    const sentAt = ages.now();
    const written = await writeRegister(quiet, next, etag);
    if ('conflict' in written) throw leaseLost();
    etag = written.etag;
    writtenAt = sentAt;
    if (next !== undefined) entry = next;
  };
  /** Runs the writes of the register one after another; once one has failed, it sends no more of them. */
  const inTurn = (action: () => Promise<void>): Promise<void> => {
    writing = writing.then(action);
    return writing;
  };
  const isDue = (): boolean => ages.elapsed(writtenAt) >= RENEW_MS;
  const hold = async (): Promise<SendBound> => {
    await writing;
    while (isDue()) await inTurn(async () => (isDue() ? write(entry) : undefined));
    const since = writtenAt;
    return { isPast: () => ages.elapsed(since) >= SEND_MS };
  };

  const store = holding(work.tenant.store, hold) as LeasedStore;
  return {
    rename,
    work: { ...work, tenant: { ...work.tenant, store } },
    finishing: { ...quiet, tenant: { ...quiet.tenant, store } },
    enter: (phase) => inTurn(() => write({ ...entry, phase })),
    async end() {
      await inTurn(() => write(undefined));
      return etag;
    },
  };
}

/**
 * Wraps the store so that every request waits for `hold`, and a PUT is sent only before the bound that `hold` answers.
 * A PUT that came too late is held again, a bounded number of times. Deletes go in batches, each after a `hold` of its
 * own.
 */
function holding(store: ObjectStore, hold: () => Promise<SendBound>): ObjectStore {
  return {
    async get(key, options) {
      await hold();
      return store.get(key, options);
    },
    async head(key, options) {
      await hold();
      return store.head(key, options);
    },
    async put(key, body, options) {
      for (let sends = 1; ; sends++) {
        const held = await hold();
        const sendBy: SendBound = { isPast: () => held.isPast() || options.sendBy?.isPast() === true };
        try {
          return await store.put(key, body, { ...options, sendBy });
        } catch (error) {
          if (!isTooLate(error) || options.sendBy?.isPast() === true || sends === SENDS) throw error;
        }
      }
    },
    async delete(targets, options) {
      const failures: DeleteFailure[] = [];
      for (let start = 0; start < targets.length; start += KEYS_PER_REQUEST) {
        await hold();
        failures.push(...(await store.delete(targets.slice(start, start + KEYS_PER_REQUEST), options)));
      }
      return failures;
    },
    async *list(options) {
      await hold();
      for await (const page of store.list(options)) {
        yield page;
        await hold();
      }
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

function leaseLost(): MemoryError {
  return new MemoryError('outcome_unknown', 'another process has taken the rename over');
}
