import { hasCode } from '../../errors.ts';
import { isBusy } from './errors.ts';
import { gather, inTurn } from './operation-queue.ts';
import type { Statements } from './statements.ts';

/** The most that one transaction holds, so that other processes and the rest of this one have their turn. */
const MOST_WRITES = 64;
const MOST_BYTES = 4_194_304;
const MOST_MS = 10;

/** The manner in which a change is made. */
interface Manner {
  /** The change must write before it frees: pages that it freed and used again would have to be journalled. */
  readonly keepsFreed: boolean;
}

export type SqliteWork<T> = (database: Statements, manner: Manner) => T;

export interface JoinedWrite<T> {
  /** Called directly before the work, perhaps more than once. An error that it throws is the outcome. */
  begin(): void;
  /** Called within a transaction, once more in another one where the first was rolled back. */
  readonly work: SqliteWork<T>;
  /** Roughly how many bytes it writes. */
  readonly bytes: number;
  readonly mayKeepFreed: boolean;
  readonly mayUseReserve: boolean;
}

interface Waiting extends JoinedWrite<unknown> {
  /** True: it needs a transaction of its own, because a shared one failed. */
  isAlone: boolean;
  outcome: WorkOutcome | undefined;
  answer(outcome: WorkOutcome): void;
}

type WorkOutcome = { readonly result: unknown } | { readonly error: unknown };

interface Transactions {
  /** Runs `work` in one durable transaction: all of it is committed, or nothing. */
  together(work: SqliteWork<void>): void;
  /** Commits one write, with the help that it gets on a full disk. */
  alone(write: JoinedWrite<unknown>): unknown;
}

/**
 * Commits writes that wait for their turn in one transaction, and so waits for the disk once. Where several came
 * together, the next ones wait until no more have come for a millisecond. Each write gets its own answer, after the
 * commit. Where the transaction fails, all of it is rolled back and each write is tried alone, so that a write fails
 * for its own reasons only. A lock that another process holds is the answer to all of them, and so is a commit with an
 * unknown outcome.
 */
export function joinWrites({ together, alone }: Transactions): <T>(write: JoinedWrite<T>) => Promise<T> {
  const queue: Waiting[] = [];
  let isScheduled = false;
  /** The number of writes in the last transaction. */
  let company = 0;

  const commitSome = (): void => {
    const [first, ...others] = takeSome(queue).filter(isBegun);
    if (first === undefined) return;
    company = others.length + 1;
    if (others.length === 0) settle(first, () => alone(first));
    else queue.unshift(...commitTogether([first, ...others], together));
    // The first of the writes that are tried alone has its turn at once; the others wait for theirs.
    if (first.outcome === undefined) commitSome();
  };
  const commitInTurn = (): void => {
    isScheduled = true;
    void inTurn(() => {
      isScheduled = false;
      commitSome();
      if (queue.length > 0) commitInTurn();
    }, 'together');
  };
  const commitInCompany = (): void => {
    isScheduled = true;
    void gather(() => queue.length, MOST_WRITES).then(commitInTurn);
  };

  return <T>(write: JoinedWrite<T>): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const own: Waiting = {
      ...write,
      isAlone: false,
      outcome: undefined,
      answer(outcome) {
        own.outcome = outcome;
        // The answer comes at once: a caller that cancels later still learns the outcome.
        if ('error' in outcome) reject(outcome.error);
        else resolve(outcome.result as T);
      },
    };
    queue.push(own);
    if (!isScheduled) (company > 1 ? commitInCompany : commitInTurn)();
    return promise;
  };
}

function takeSome(queue: Waiting[]): readonly Waiting[] {
  let [count, bytes] = [0, 0];
  for (const write of queue.slice(0, MOST_WRITES)) {
    bytes += write.bytes;
    if (count > 0 && (write.isAlone || bytes > MOST_BYTES)) break;
    count++;
    if (write.isAlone) break;
  }
  return queue.splice(0, count);
}

function isBegun(write: Waiting): boolean {
  try {
    write.begin();
    return true;
  } catch (error) {
    write.answer({ error });
    return false;
  }
}

/** Commits writes together, and returns those that are still to be done. */
function commitTogether(writes: readonly Waiting[], together: Transactions['together']): readonly Waiting[] {
  const results: unknown[] = [];
  try {
    together((database, manner) => {
      const began = performance.now();
      for (const write of writes) {
        if (results.length > 0 && performance.now() - began >= MOST_MS) break;
        results.push(write.work(database, manner));
      }
    });
  } catch (error) {
    if (isBusy(error) || hasCode(error, 'outcome_unknown')) {
      for (const write of writes) write.answer({ error });
      return [];
    }
    for (const write of writes) write.isAlone = true;
    return writes;
  }
  for (const [index, result] of results.entries()) writes[index]?.answer({ result });
  return writes.slice(results.length);
}

function settle(write: Waiting, run: () => unknown): void {
  let result: unknown;
  try {
    result = run();
  } catch (error) {
    write.answer({ error });
    return;
  }
  write.answer({ result });
}
