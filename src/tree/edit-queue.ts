import { hasCode, MemoryError } from '../errors.ts';
import { fileKey } from '../format/object-keys.ts';
import { MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import { admitContent } from './admission.ts';
import { untilSettled } from './concurrency.ts';
import { confirmedPut } from './confirmed-put.ts';
import { sealFor } from './create-file.ts';
import type { FileVersion } from './read-file.ts';
import type { Call, Room, Work } from './session.ts';
import { keep, recallSettled, reviewSettled } from './settled.ts';
import { versionName } from './touches.ts';

/** What an edit makes of a file: the new content, and what to tell about it once it is written. */
interface Edited<T> {
  readonly content: Uint8Array;
  readonly result: T;
}

export type Edit<T> = (content: Uint8Array) => Edited<T>;

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

/** The names of the version that was edited, and of what it was replaced by. */
interface Written {
  readonly base: string;
  readonly version: string;
}

/** An edit may be judged several times and is settled once. */
interface WaitingEdit extends Pick<Call, 'actor'> {
  readonly signal: AbortSignal | undefined;
  /** Judges the edit on `content` and answers with what the next one sees. */
  judge(work: Work, content: Uint8Array, room: Room | undefined): Promise<Judged>;
  /** Makes the last verdict final; tells what was written by it, which is undefined where nothing was. */
  settle(written: Written | undefined): void;
  fail(error: unknown): void;
}

function waitingEdit<T>(
  path: MemoryPath,
  edit: Edit<T>,
  call: Call,
): { readonly promise: Promise<T>; readonly waiting: WaitingEdit } {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let settle: WaitingEdit['settle'] = () => {};
  const waiting: WaitingEdit = {
    signal: call.signal,
    actor: call.actor,
    async judge(work, content, room) {
      try {
        const edited = edit(content);
        const admitted = await admitContent(work.session, { path, content: edited.content }, call);
        await room?.take(admitted.length);
        settle = (written) => {
          if (written !== undefined) {
            call.onTouch?.({ kind: 'read', path, version: written.base });
            call.onTouch?.({ kind: 'written', path, version: written.version });
          }
          resolve(edited.result);
        };
        return { content: admitted, changes: true };
      } catch (error) {
        settle = () => reject(error);
        return { content, changes: false };
      }
    },
    settle: (written) => settle(written),
    fail: reject,
  };
  return { promise, waiting };
}

/**
 * One round: takes all edits that wait, judges them on the file, and writes what they make of it. The file is taken as
 * the session holds it first, and read where that writes nothing: the PUT asks the store whether it is that version
 * still, and nothing else would.
 */
async function editTogether(work: Work, path: MemoryPath, take: () => readonly WaitingEdit[]): Promise<void> {
  if (path === MEMORY_ROOT) throw missingFile();
  const key = fileKey(work.session.layout, work.keyring.names, path);
  let held = recallSettled(work, path);
  let room: Room | undefined;
  const judge = (batch: readonly WaitingEdit[], version: FileVersion): Promise<Judged> => {
    room?.settle('not_written');
    room = work.session.quota?.open(work, { key, replaced: version.content.length });
    return judgeAll(work, { batch, version, room });
  };
  const attempt = async (): Promise<'again' | undefined> => {
    // Taken before the file is read, so that no verdict rests on a text older than the call it answers.
    const batch = take();
    if (batch.length === 0) return undefined;
    let current = held;
    held = undefined;
    let judged = current && (await judge(batch, current));
    if (current === undefined || judged?.changes !== true) {
      current = await reviewSettled(work, path);
      if (current === undefined) throw missingFile();
      judged = await judge(batch, current);
    }
    let written: Written | undefined;
    if (judged.changes) {
      const { content } = judged;
      const replaced = current;
      const mode = { ifMatch: current.etag };
      await work.saver?.saveReplaced(work, path, replaced);
      const seal = (): Uint8Array => sealFor(work, path, content, replaced);
      const outcome = await confirmedPut(work, { key, seal, mode });
      if ('conflict' in outcome) {
        work.session.cache.drop(key);
        if (outcome.conflict === 'missing') throw missingFile();
        return 'again';
      }
      keep(work, key, outcome);
      room?.settle('written');
      written = { base: versionName(replaced), version: versionName(outcome) };
    }
    for (const edit of batch) edit.settle(written);
    return undefined;
  };
  try {
    await untilSettled(work, attempt);
  } catch (error) {
    room?.settle(hasCode(error, 'outcome_unknown') ? 'unknown' : 'not_written');
    throw error;
  }
}

/** What a batch makes of a file. */
interface Judged {
  readonly content: Uint8Array;
  readonly changes: boolean;
}

/** Judges each edit on the text that the one before left. */
async function judgeAll(
  work: Work,
  round: {
    readonly batch: readonly WaitingEdit[];
    readonly version: FileVersion;
    readonly room: Room | undefined;
  },
): Promise<Judged> {
  let { content } = round.version;
  let changes = false;
  for (const edit of round.batch) {
    const judged = await edit.judge(work, content, round.room);
    content = judged.content;
    changes ||= judged.changes;
  }
  return { content, changes };
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

function missingFile(): MemoryError {
  return new MemoryError('not_found', 'there is no file of that path');
}
