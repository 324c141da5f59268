import { MemoryError } from '../errors.ts';
import type { MemoryPath } from '../language/path.ts';
import { type Edit, editTogether, type WaitingEdit, waitingEdit } from './edit-round.ts';
import type { Call, Work } from './tenant.ts';

interface EditQueue {
  /**
   * Takes a place behind the edits of `path` that were queued before; the place is taken at the call itself. All
   * edits that wait when it is read are applied one on the text the one before left, and written by one PUT.
   * When the file has changed meanwhile it is read and all of them are judged again, so no verdict is final before
   * the PUT that carries it succeeded. An error thrown by one edit ends that edit alone.
   *
   * @throws MemoryError `not_found`, `limit_exceeded`, `version_conflict` when others were faster at every attempt,
   * `outcome_unknown`, and whatever `edit` throws.
   */
  edit<T>(path: MemoryPath, edit: Edit<T>, options?: Call): Promise<T>;
}

/** @param open makes the tenant's work ready for requests under the given signal. */
export function createEditQueue(open: (options: Call) => Promise<Work>): EditQueue {
  const queues = new Map<MemoryPath, PathQueue>();

  const drain = async (path: MemoryPath, queue: PathQueue): Promise<void> => {
    while (queue.waiting.length > 0) {
      queue.canceller = new AbortController();
      queue.batch = [];
      queue.early = queue.waiting.length;
      try {
        const work = await open({ signal: queue.canceller.signal, actor: queue.waiting[0]?.actor });
        await editTogether(work, path, () => takeWaiting(work, queue));
      } catch (error) {
        failRound(queue, error);
      }
    }
    queues.delete(path);
  };

  return {
    edit(path, edit, call = {}) {
      const { signal } = call;
      const { promise, waiting } = waitingEdit(path, edit, call);
      const known = queues.get(path);
      const queue = known ?? { waiting: [], batch: [], early: 0, canceller: new AbortController() };
      queue.waiting.push(waiting);
      if (known === undefined) {
        queues.set(path, queue);
        void drain(path, queue);
      }
      return signal === undefined ? promise : watched(promise, { queue, signal });
    },
  };
}

/** The edits of one path. */
interface PathQueue {
  readonly waiting: WaitingEdit[];
  /** Those of the round under way that have been judged. */
  batch: readonly WaitingEdit[];
  /** How many waited when the round under way began: those behind them were called later. */
  early: number;
  /** Ends the requests of the round under way. */
  canceller: AbortController;
}

/**
 * Takes what waits into the round; edits whose callers cancelled are not begun. Where history is kept a version has one
 * writer: edits behind one of another actor wait for the next round.
 */
function takeWaiting({ saver, call }: Work, queue: PathQueue): readonly WaitingEdit[] {
  const other = saver && queue.waiting.findIndex(({ actor }) => actor !== call.actor);
  const taken = queue.waiting.splice(0, other === undefined || other < 0 ? queue.waiting.length : other);
  for (const edit of taken) if (edit.signal?.aborted) edit.fail(cancelled());
  queue.batch = [...queue.batch, ...taken.filter((edit) => !edit.signal?.aborted)];
  return queue.batch;
}

/** A failure is that of the edits that were judged; before any was, of those that waited when the round began. */
function failRound(queue: PathQueue, error: unknown): void {
  const isCancelled = queue.canceller.signal.aborted;
  const failed = queue.batch.length > 0 ? queue.batch : queue.waiting.splice(0, queue.early);
  const kept = failed.filter((edit) => isCancelled && !edit.signal?.aborted);
  for (const edit of failed) if (!kept.includes(edit)) edit.fail(error);
  queue.waiting.unshift(...kept);
}

/** Ends the round's requests once the last caller that waits for them has cancelled. */
async function watched<T>(
  promise: Promise<T>,
  { queue, signal }: { readonly queue: PathQueue; readonly signal: AbortSignal },
): Promise<T> {
  const onAbort = (): void => {
    if ([...queue.batch, ...queue.waiting].every((edit) => edit.signal?.aborted)) queue.canceller.abort();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function cancelled(): MemoryError {
  return new MemoryError('aborted', 'The caller cancelled the call.');
}
