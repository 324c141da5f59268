import { MemoryError } from '../../errors.ts';
import { type DeleteFailure, type DeleteOptions, type DeleteTarget, KEYS_PER_REQUEST } from '../port.ts';
import { newTrace } from './attempts.ts';
import { s3CodeOf, s3KeyFailure, statusOf } from './errors.ts';
import type { AnsweredFailure, S3Wire } from './wire.ts';
import { repeatOnConflict, writeFailure } from './writing.ts';

interface DeletingContext {
  readonly wire: S3Wire;
  /** Whether the server judges a delete's condition atomically. */
  readonly guarded: boolean;
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
    await repeatOnConflict(() => wire.remove({ key, ifMatch }, { signal, sendBy, trace }), signal);
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
  let errors: readonly AnsweredFailure[];
  try {
    errors = await wire.removeAll(targets, { signal, sendBy, trace });
  } catch (error) {
    throw writeFailure(error, trace);
  }
  const byKey = new Map(targets.map((target) => [target.key as string, target]));
  return errors.flatMap(({ key = '', code = '' }) => {
    const target = byKey.get(key);
    return target === undefined ? [] : toFailure(target, code);
  });
}

function toFailure({ key, ifMatch }: DeleteTarget, code: string): readonly DeleteFailure[] {
  if (code === 'NoSuchKey') return ifMatch === undefined ? [] : [{ key, conflict: 'missing' }];
  if (code === 'PreconditionFailed') return [{ key, conflict: 'changed' }];
  return [{ key, error: s3KeyFailure(code) }];
}
