import { getPieces, type Pieces } from '../../infra/local/pieces.ts';
import { inTests } from '../../infra/local/programs/install-options.ts';
import { findS3Server } from '../stage/s3.ts';

/**
 * Answers the pieces on which the suites of the cloud on one machine stand. Undefined where the run has no MinIO or no
 * pieces, which it says; in CI a missing piece fails the file instead.
 */
export async function localPieces(): Promise<Pieces | undefined> {
  const minio = findS3Server('minio');
  if (minio === undefined) return undefined;
  const say = (line: string): void => console.log(`Cloud: ${line}`);
  const options = inTests(process.env, say);
  const pieces = await getPieces(process.env, minio, options);
  if (!('reasons' in pieces)) return pieces;
  const missing = pieces.reasons.join('; ');
  if (options.mayInstall) throw new Error(`the cloud on one machine cannot be had: ${missing}`);
  say(`its suites did NOT RUN: ${missing}`);
  return undefined;
}
