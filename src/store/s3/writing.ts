import { hasCode, MemoryError } from '../../errors.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import { pause, throwIfAborted } from '../../time.ts';
import {
  type DeleteFailure,
  type DeleteOptions,
  type DeleteTarget,
  KEYS_PER_REQUEST,
  type PutMode,
  type PutOptions,
  resentConflict,
  type WriteResult,
} from '../port.ts';
import { mayHaveLanded, newTrace } from './attempts.ts';
import { isCollision, s3CodeOf, s3Failure, s3KeyFailure, s3OutcomeUnknown, statusOf } from './errors.ts';
import { parseETag } from './reading.ts';
import type { AttemptTrace, S3Wire } from './wire.ts';

const CONFLICT_ROUNDS = 8;
/** The bound for what MinIO denies: it denies, though rarely, a write that meets the removal of an emptied folder. */
const DENIED_ROUNDS = 2;
const FIRST_PAUSE_MS = 20;

/** Stores an object under the condition of `mode`. It may be sent again. */
export async function putToS3(
  wire: S3Wire,
  key: ObjectKey,
  body: Uint8Array,
  options: PutOptions,
): Promise<WriteResult> {
  const { mode, signal, sendBy } = options;
  const trace = newTrace();
  const attempt = async (): Promise<WriteResult> => {
    const etag = await wire.put(key, body, { mode, signal, sendBy, trace });
    return { etag: parseETag(etag) };
  };
  try {
    throwIfAborted(signal);
    return await repeatOnConflict(attempt, trace, signal);
  } catch (error) {
    return judgeFailedPut(error, mode, trace);
  }
}

/** Sends a request again that met a concurrent one: the server refused it, and nothing of it was executed. */
export async function repeatOnConflict<T>(
  attempt: () => Promise<T>,
  trace: Pick<AttemptTrace, 'answer'>,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let round = 0; ; round++) {
    try {
      return await attempt();
    } catch (error) {
      if (round >= roundsFor(error, trace)) throw error;
    }
    await pause(Math.random() * FIRST_PAUSE_MS * 2 ** round, signal);
  }
}

function roundsFor(error: unknown, { answer }: Pick<AttemptTrace, 'answer'>): number {
  if (isCollision(error)) return CONFLICT_ROUNDS;
  return s3CodeOf(error) === 'AccessDenied' && answer?.headers['server'] === 'MinIO' ? DENIED_ROUNDS : 0;
}

/** Turns a definite refusal into its error and everything else into `outcome_unknown`. */
function writeFailure(error: unknown, trace: AttemptTrace): MemoryError {
  if (hasCode(error, 'misconfigured', 'outcome_unknown')) return error;
  return mayHaveLanded(trace) ? s3OutcomeUnknown(error) : s3Failure(error);
}

function conflictOf(error: unknown, mode: PutMode): 'exists' | 'changed' | 'missing' | undefined {
  if (mode === 'overwrite') return undefined;
  const code = s3CodeOf(error);
  if (code === 'PreconditionFailed' || statusOf(error) === 412) {
    return mode === 'create' ? 'exists' : 'changed';
  }
  return code === 'NoSuchKey' && mode !== 'create' ? 'missing' : undefined;
}

function judgeFailedPut(error: unknown, mode: PutMode, trace: AttemptTrace): WriteResult {
  const conflict = conflictOf(error, mode);
  if (conflict === undefined) throw writeFailure(error, trace);
  if (trace.earlierMayHaveLanded) throw resentConflict();
  return { conflict };
}

interface DeletingContext {
  readonly wire: S3Wire;
  /** True where the server judges a delete's condition atomically. */
  readonly guarded: boolean;
}

/** Tells the answer by which S3 confirms that an object, or a version, is gone: 204, and no other. */
export function isConfirmedDelete({ answer }: AttemptTrace): boolean {
  return answer?.statusCode === 204;
}

/** Tells the answer of S3 to a batch of deletes from another document, by its root. */
export function isDeleteResult(text: string): boolean {
  return /^\s*(<\?xml[^>]*\?>\s*)?<DeleteResult[\s/>]/.test(text);
}

/** The failure for an answer that takes the request and does not confirm the delete. */
export function deleteUnconfirmed(): MemoryError {
  return new MemoryError(
    'outcome_unknown',
    'What answers at the endpoint does not confirm a delete as S3 does: check the endpoint and what lies before it.',
  );
}

/** Deletes in requests of up to 1,000 keys, one after another, none of them resent. */
export async function deleteFromS3(
  context: DeletingContext,
  targets: readonly DeleteTarget[],
  options: DeleteOptions = {},
): Promise<readonly DeleteFailure[]> {
  if (!context.guarded && targets.some((target) => target.ifMatch !== undefined)) {
    throw new MemoryError('misconfigured', 'This server does not honour conditions on deletes.');
  }
  const [only, ...more] = targets;
  if (only === undefined) return [];
  if (more.length === 0) return deleteOne(context, only, options);
  const failures: DeleteFailure[] = [];
  for (let at = 0; at < targets.length; at += KEYS_PER_REQUEST) {
    failures.push(...(await deleteBatch(context, targets.slice(at, at + KEYS_PER_REQUEST), options)));
  }
  return failures;
}

async function deleteOne(
  { wire }: DeletingContext,
  { key, ifMatch }: DeleteTarget,
  { signal, sendBy }: DeleteOptions,
): Promise<readonly DeleteFailure[]> {
  const trace = newTrace();
  try {
    await repeatOnConflict(() => wire.remove({ key, ifMatch }, { signal, sendBy, trace }), trace, signal);
    if (!isConfirmedDelete(trace)) throw deleteUnconfirmed();
    return [];
  } catch (error) {
    const missing = s3CodeOf(error) === 'NoSuchKey';
    if (missing && ifMatch === undefined) return [];
    if (missing) return [{ key, conflict: 'missing' }];
    if (ifMatch !== undefined && statusOf(error) === 412) return [{ key, conflict: 'changed' }];
    throw writeFailure(error, trace);
  }
}

async function deleteBatch(
  { wire }: DeletingContext,
  targets: readonly DeleteTarget[],
  { signal, sendBy }: DeleteOptions,
): Promise<readonly DeleteFailure[]> {
  const trace = newTrace();
  const byKey = new Map(targets.map((target) => [target.key as string, target]));
  try {
    const { isResult, failures } = await wire.removeAll(targets, { signal, sendBy, trace });
    if (!isResult) throw deleteUnconfirmed();
    return failures.flatMap(({ key = '', code = '' }) => {
      const target = byKey.get(key);
      // A failure of something else may stand for any of these.
      if (target === undefined) throw deleteUnconfirmed();
      return toFailure(target, code);
    });
  } catch (error) {
    throw writeFailure(error, trace);
  }
}

function toFailure({ key, ifMatch }: DeleteTarget, code: string): readonly DeleteFailure[] {
  if (code === 'NoSuchKey') return ifMatch === undefined ? [] : [{ key, conflict: 'missing' }];
  if (code === 'PreconditionFailed') return [{ key, conflict: 'changed' }];
  return [{ key, error: s3KeyFailure(code) }];
}
