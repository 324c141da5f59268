import { getPieces, type Pieces } from '../../infra/local/pieces.ts';
import { inTests } from '../../infra/local/programs/install-options.ts';
import { isNotRun } from '../runner/not-run.ts';
import { findS3Server } from '../stage/s3.ts';

/**
 * Answers the pieces on which the suites of the cloud on one machine stand. Undefined where the run has no MinIO or no
 * pieces, which it says; in CI a missing piece fails the file instead.
 */
export async function localPieces(): Promise<Pieces | undefined> {
  const minio = findS3Server('minio');
  if (minio === undefined) return undefined;
  const options = inTests(process.env, (line) => console.log(`Cloud: ${line}`));
  const pieces = await getPieces(process.env, minio, options);
  if (!('reasons' in pieces)) return pieces;
  isNotRun('The cloud on one machine', { reason: pieces.reasons.join('; ') });
  return undefined;
}
