import { hasCode, MemoryError } from '../errors.ts';
import { fileKey } from '../format/object-keys.ts';
import { MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import { LONGEST_ANSWER_MS } from '../time.ts';
import { admitContent } from './admission/admission.ts';
import { untilDone } from './concurrency.ts';
import { putText } from './create-file.ts';
import type { FileVersion } from './read-file.ts';
import { keep, recallStaying, reviewStaying } from './staying/staying.ts';
import type { KeptCall, Once, Room, Work } from './tenant.ts';
import { versionName } from './touches.ts';

/** The new content that an edit makes of a file, and the answer for its caller once it is written. */
interface Edited<T> {
  readonly content: Uint8Array;
  readonly result: T;
}

export type Edit<T> = (content: Uint8Array) => Edited<T>;

/** The names of the version that was edited and of the version that replaced it. */
interface EditedVersion {
  readonly base: string;
  readonly version: string;
}

/**
 * The least time that a policy has for an edit when the edits before it have used up the time of their round
 * (milliseconds).
 */
const LEAST_ANSWER_MS = 1_000;

/** The room and the deadline that all edits of a round share while they are judged. */
interface JudgedRound {
  readonly room: Room | undefined;
  /**
   * The time by which a policy must have answered for all edits of the round, by `performance.now`: a policy that hangs
   * holds a path for a minute.
   */
  readonly judgedBy: number;
}

/** An edit may be judged several times and is finished once. */
export interface WaitingEdit extends Pick<KeptCall, 'actor' | 'once'> {
  readonly signal: AbortSignal | undefined;
  /** Judges the edit on `content` and answers with what the next one sees. */
  judge(work: Work, content: Uint8Array, round: JudgedRound): Promise<Judged>;
  /** Makes the last verdict final; `written` names what it wrote, undefined where it wrote nothing. */
  finish(written: EditedVersion | undefined): void;
  fail(error: unknown): void;
}

export function waitingEdit<T>(
  path: MemoryPath,
  edit: Edit<T>,
  call: KeptCall,
): { readonly promise: Promise<T>; readonly waiting: WaitingEdit } {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let finish: WaitingEdit['finish'] = () => {};
  /** The failure of a policy: this edit does not ask it again, least of all one that gives no answer. */
  let unjudged: MemoryError | undefined;
  const waiting: WaitingEdit = {
    signal: call.signal,
    actor: call.actor,
    once: call.once,
    async judge(work, content, { room, judgedBy }) {
      try {
        const edited = edit(content);
        if (unjudged !== undefined) throw unjudged;
        const waitMs = Math.max(LEAST_ANSWER_MS, judgedBy - performance.now());
        const judgedContent = { path, content: edited.content };
        const admitted = await admitContent(work.tenant, judgedContent, call, waitMs).catch(
          (error: unknown) => {
            if (hasCode(error, 'unavailable', 'aborted')) {
              unjudged = error;
              // The policy's failure is final for this edit, so its caller need not wait for the others of the round.
              reject(error);
            }
            throw error;
          },
        );
        await room?.take(admitted.length);
        finish = (written) => {
          if (written !== undefined) {
            call.onTouch?.({ kind: 'read', path, version: written.base });
            call.onTouch?.({ kind: 'written', path, version: written.version });
          }
          resolve(edited.result);
        };
        return { content: admitted, changes: true };
      } catch (error) {
        finish = () => reject(error);
        return { content, changes: false };
      }
    },
    finish: (written) => finish(written),
    fail: reject,
  };
  return { promise, waiting };
}

/**
 * Runs one round: takes all waiting edits, judges them on the file, and writes the result. It judges first the version
 * that this process remembers, whose PUT asks the store whether it is still current. Edits that would leave that
 * version unchanged send no PUT: then it reads the file and judges them again.
 */
export async function editTogether(
  work: Work,
  path: MemoryPath,
  take: () => readonly WaitingEdit[],
): Promise<void> {
  if (path === MEMORY_ROOT) throw missingFile();
  const key = fileKey(work.tenant.layout, work.keyring.names, path);
  let held = recallStaying(work, path);
  let room: Room | undefined;
  const judge = (batch: readonly WaitingEdit[], version: FileVersion): Promise<JudgedBatch> => {
    room?.close('not_written');
    room = work.tenant.quota?.open(work, { key, replaced: version.content.length });
    return judgeAll(work, { batch, version, room });
  };
  const attempt = async (): Promise<'again' | undefined> => {
    // The edits are taken before the file is read, so that each verdict rests on a text at least as new as the call it
    // answers.
    const batch = take();
    if (batch.length === 0) return undefined;
    let current = held;
    held = undefined;
    let judged = current && (await judge(batch, current));
    if (current === undefined || judged?.changes !== true) {
      current = await reviewStaying(work, path);
      if (current === undefined) throw missingFile();
      judged = await judge(batch, current);
    }
    let written: EditedVersion | undefined;
    if (judged.changes) {
      const replaced = current;
      const { content, onces } = judged;
      const text = { content, mode: { ifMatch: replaced.etag }, replaced, onces };
      const { outcome } = await putText(work, path, text);
      if ('conflict' in outcome) {
        if (outcome.conflict === 'missing') throw missingFile();
        return 'again';
      }
      keep(work, key, outcome);
      room?.close('written');
      written = { base: versionName(replaced), version: versionName(outcome) };
    }
    for (const edit of batch) edit.finish(written);
    return undefined;
  };
  try {
    await untilDone(work, attempt);
  } catch (error) {
    room?.close(hasCode(error, 'outcome_unknown') ? 'unknown' : 'not_written');
    throw error;
  }
}

/** The content that an edit makes of a file. */
interface Judged {
  readonly content: Uint8Array;
  readonly changes: boolean;
}

/** The content that a batch makes of a file, and the calls among it that have a part in it. */
interface JudgedBatch extends Judged {
  readonly onces: readonly Once[];
}

/**
 * Judges each edit on the text that the one before left. An edit that takes effect once fails where an earlier process
 * has made it already.
 */
async function judgeAll(
  work: Work,
  round: {
    readonly batch: readonly WaitingEdit[];
    readonly version: FileVersion;
    readonly room: Room | undefined;
  },
): Promise<JudgedBatch> {
  const { version } = round;
  let { content } = version;
  let changes = false;
  const onces: Once[] = [];
  const judgedBy = performance.now() + LONGEST_ANSWER_MS;
  for (const edit of round.batch) {
    const { once } = edit;
    if (once?.bears(version.id) || once?.bears(version.previous)) {
      edit.fail(new MemoryError('outcome_unknown', 'The edit was made before.'));
      continue;
    }
    const judged = await edit.judge(work, content, { room: round.room, judgedBy });
    content = judged.content;
    changes ||= judged.changes;
    if (once && judged.changes) onces.push(once);
  }
  return { content, changes, onces };
}

function missingFile(): MemoryError {
  return new MemoryError('not_found', 'there is no file of that path');
}
