import { MemoryError } from '../errors.ts';
import { envRootKey } from '../keys/env-root-key.ts';
import {
  KMS_SCHEME,
  type KmsConnections,
  kmsRootKey,
  openKmsConnections,
  parseKeyArn,
} from '../keys/kms-root-key.ts';
import type { RootKey } from '../keys/root-key.ts';
import type { AwsCredentials } from './base-store.ts';

/** Padded base64 of 32 bytes, `aws-kms:` and a key ARN, the 32 bytes, or whatever else holds a root key. */
export type RootKeyInput = string | Uint8Array | RootKey;

/** Configured root keys: the first wraps, all unwrap. */
export interface RootKeys {
  /** With the credentials given at the start. */
  readonly keys: readonly RootKey[];
  /** The same root keys; those in KMS are reached with other credentials, over the same connections. */
  withCredentials(credentials: AwsCredentials): readonly RootKey[];
}

/**
 * Nothing is sent before a key is used, and the SDK of KMS is not loaded before.
 *
 * @throws MemoryError `misconfigured` when there is none or one is malformed.
 */
export function openRootKeys(
  inputs: readonly RootKeyInput[],
  credentials?: AwsCredentials | undefined,
): RootKeys {
  if (inputs.length === 0) {
    throw new MemoryError('misconfigured', 'rootKey is empty: give at least one root key.');
  }
  let connections: KmsConnections | undefined;

  function open(input: RootKeyInput): (credentials: AwsCredentials | undefined) => RootKey {
    if (typeof input === 'string' && input.startsWith(KMS_SCHEME)) {
      const keyArn = parseKeyArn(input.slice(KMS_SCHEME.length), 'rootKey');
      connections ??= openKmsConnections();
      const shared = { keyArn, connections };
      return (reached) => kmsRootKey({ ...shared, credentials: reached });
    }
    const rootKey = typeof input === 'string' || input instanceof Uint8Array ? envRootKey(input) : input;
    return () => rootKey;
  }

  const opened = inputs.map(open);
  return {
    keys: opened.map((openWith) => openWith(credentials)),
    withCredentials: (others) => opened.map((openWith) => openWith(others)),
  };
}
