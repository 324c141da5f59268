import { concat, domain, lengthPrefixed, u64 } from './encoding.ts';
import { hash } from './sodium.ts';

/*
 * The root of a checkpoint (docs/format.md, "Checkpoints"): one keyed hash over all facts and parts of the checkpoint.
 * The key is the secret in the checkpoint's head, so that the root reveals none of them.
 */

const HASH_BYTES = 32;
const PART = domain('checkpoint-part');
const ROOT = domain('checkpoint');

/** Computes the digest of the part with that number, from 0. */
export function hashPart(secret: Uint8Array, part: number, content: Uint8Array): Uint8Array {
  return hash(HASH_BYTES, secret, concat(PART, u64(part), content));
}

/** Computes the root, which binds the facts of a checkpoint and the digests of all its parts, in their order. */
export function hashCheckpoint(
  secret: Uint8Array,
  { facts, parts }: { readonly facts: Uint8Array; readonly parts: readonly Uint8Array[] },
): Uint8Array {
  return hash(HASH_BYTES, secret, concat(ROOT, lengthPrefixed(facts), ...parts));
}
