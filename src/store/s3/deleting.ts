import { DeleteObjectCommand, DeleteObjectsCommand } from '@aws-sdk/client-s3';

import { MemoryError } from '../../errors.ts';
import { type DeleteFailure, type DeleteOptions, type DeleteTarget, KEYS_PER_REQUEST } from '../port.ts';
import type { S3Clients } from './client.ts';
import { s3CodeOf, s3KeyFailure, statusOf } from './errors.ts';
import { newTrace, send } from './send.ts';
import { repeatOnConflict, writeFailure } from './writing.ts';

interface DeletingContext {
  readonly clients: S3Clients;
  readonly bucket: string;
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
  { clients, bucket }: DeletingContext,
  { key, ifMatch }: DeleteTarget,
  { signal, sendBy }: DeleteOptions,
): Promise<readonly DeleteFailure[]> {
  const trace = newTrace();
  const attempt = (): Promise<unknown> =>
    send(clients.once, new DeleteObjectCommand({ Bucket: bucket, Key: key, IfMatch: ifMatch }), {
      signal,
      sendBy,
      trace,
    });
  try {
    await repeatOnConflict(attempt, signal);
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
  { clients, bucket }: DeletingContext,
  targets: readonly DeleteTarget[],
  { signal, sendBy }: DeleteOptions,
): Promise<readonly DeleteFailure[]> {
  const trace = newTrace();
  const command = new DeleteObjectsCommand({
    Bucket: bucket,
    Delete: { Objects: targets.map(({ key, ifMatch }) => ({ Key: key, ETag: ifMatch })), Quiet: true },
  });
  let errors: readonly { readonly Key?: string | undefined; readonly Code?: string | undefined }[];
  try {
    errors = (await send(clients.once, command, { signal, sendBy, trace })).Errors ?? [];
  } catch (error) {
    throw writeFailure(error, trace);
  }
  const byKey = new Map(targets.map((target) => [target.key as string, target]));
  return errors.flatMap(({ Key = '', Code = '' }) => {
    const target = byKey.get(Key);
    return target === undefined ? [] : toFailure(target, Code);
  });
}

function toFailure({ key, ifMatch }: DeleteTarget, code: string): readonly DeleteFailure[] {
  if (code === 'NoSuchKey') return ifMatch === undefined ? [] : [{ key, conflict: 'missing' }];
  if (code === 'PreconditionFailed') return [{ key, conflict: 'changed' }];
  return [{ key, error: s3KeyFailure(code) }];
}
