import { hasCode, type MemoryError } from '../../errors.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import { pause, throwIfAborted } from '../../time.ts';
import { type PutMode, type PutOptions, resentConflict, type WriteResult } from '../port.ts';
import { mayHaveLanded, newTrace } from './attempts.ts';
import { s3CodeOf, s3Failure, s3OutcomeUnknown, statusOf } from './errors.ts';
import { parseETag } from './reading.ts';
import type { S3Wire, Trace } from './wire.ts';

interface WritingContext {
  readonly wire: S3Wire;
  /** Bodies above this many bytes go in parts of this size. */
  readonly partBytes: number;
}

const CONFLICT_ROUNDS = 8;
const FIRST_PAUSE_MS = 20;

/** Stores an object under the condition of `mode`. It may be sent again. */
export async function putToS3(
  context: WritingContext,
  key: ObjectKey,
  body: Uint8Array,
  options: PutOptions,
): Promise<WriteResult> {
  const { mode, signal, sendBy } = options;
  const { wire, partBytes } = context;
  const trace = newTrace();
  const call = { mode, signal, sendBy, trace };
  const attempt = async (): Promise<WriteResult> => {
    const isLarge = body.length > partBytes;
    const etag = await (isLarge
      ? wire.putInParts(key, body, { ...call, partBytes })
      : wire.put(key, body, call));
    return { etag: parseETag(etag) };
  };
  try {
    throwIfAborted(signal);
    return await repeatOnConflict(attempt, signal);
  } catch (error) {
    return judgeFailedPut(error, mode, trace);
  }
}

/** AWS refuses a conditional request that meets a concurrent one; it was not executed, so it is sent again. */
export async function repeatOnConflict<T>(
  attempt: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let round = 0; ; round++) {
    try {
      return await attempt();
    } catch (error) {
      if (s3CodeOf(error) !== 'ConditionalRequestConflict' || round === CONFLICT_ROUNDS) throw error;
    }
    await pause(Math.random() * FIRST_PAUSE_MS * 2 ** round, signal);
  }
}

/** Turns a definite refusal into its error and everything else into `outcome_unknown`. */
export function writeFailure(error: unknown, trace: Trace): MemoryError {
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

function judgeFailedPut(error: unknown, mode: PutMode, trace: Trace): WriteResult {
  const conflict = conflictOf(error, mode);
  if (conflict === undefined) throw writeFailure(error, trace);
  if (trace.earlierMayHaveLanded) throw resentConflict();
  return { conflict };
}
