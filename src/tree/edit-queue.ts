import { MemoryError } from '../errors.ts';
import type { MemoryPath } from '../language/path.ts';
import { type Edit, editTogether, type WaitingEdit, waitingEdit } from './edit-round.ts';
import type { CallOptions, KeptCall, Work } from './tenant.ts';

interface EditQueue {
  /**
   * Queues an edit, at the moment of the call, after the edits of `path` that were queued before. A round reads the
   * file, applies all waiting edits one after another, each to the text that the one before it left, and writes the
   * last text by one PUT. When the file has changed meanwhile, the round reads it and judges all of them again: a
   * verdict is final only once the PUT that carries it succeeded. An error thrown by one edit ends that edit alone.
   *
   * @throws MemoryError `not_found`, `limit_exceeded`, `version_conflict` when others were faster at every attempt,
   * `outcome_unknown`, and any error of `edit`.
   */
  edit<T>(path: MemoryPath, edit: Edit<T>, options?: KeptCall): Promise<T>;
}

/** @param open makes the tenant's work ready for requests under the given signal. */
export function createEditQueue(open: (options: CallOptions) => Promise<Work>): EditQueue {
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
  /** Edits of the round under way that have been judged. */
  batch: readonly WaitingEdit[];
  /** The number of edits that waited when the round under way began; all others were called later. */
  early: number;
  /** Ends the requests of the round under way. */
  canceller: AbortController;
}

/**
 * Takes the waiting edits into the round, without those whose callers cancelled. Where history is kept, a version has
 * one writer, and its id bears the marks of one key: the first edit of another actor or key waits for the next round,
 * and all edits after it.
 */
function takeWaiting({ saver, call }: Work, queue: PathQueue): readonly WaitingEdit[] {
  let key = queue.batch.find(({ once }) => once)?.once?.key;
  const isOther = ({ actor, once }: WaitingEdit): boolean => {
    key ??= once?.key;
    return (saver && actor !== call.actor) || (once && once.key !== key) === true;
  };
  const other = queue.waiting.findIndex(isOther);
  const taken = queue.waiting.splice(0, other < 0 ? queue.waiting.length : other);
  for (const edit of taken) if (edit.signal?.aborted) edit.fail(cancelled());
  queue.batch = [...queue.batch, ...taken.filter((edit) => !edit.signal?.aborted)];
  return queue.batch;
}

/**
 * Fails the edits that were judged; when none was, the edits that waited when the round began. An edit whose caller did
 * not cancel goes back to the queue when the round was cancelled.
 */
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
