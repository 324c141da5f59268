import type { DecryptCommand, GenerateDataKeyCommand, KMSClient, KMSClientConfig } from '@aws-sdk/client-kms';
import type { NodeHttpHandler } from '@smithy/node-http-handler';

import { loadPeer, MemoryError } from '../errors.ts';
import { once, throwIfAborted, untilAborted } from '../time.ts';
import { type KeyringContext, type RootKey, wrapRefused } from './root-key.ts';

interface KmsRootKeyOptions {
  /** `arn:aws:kms:REGION:ACCOUNT:key/ID` of a symmetric encryption key. */
  readonly keyArn: string;
  /** The region of the ARN when absent. */
  readonly region?: string | undefined;
  /** `AWS_ENDPOINT_URL_KMS`, `AWS_ENDPOINT_URL` or the region's own when absent, as the SDK finds them. */
  readonly endpoint?: string | undefined;
  /** The SDK's default chain when absent. */
  readonly credentials?: NonNullable<KMSClientConfig['credentials']> | undefined;
  /** Shared with other root keys; a pool of its own when absent. */
  readonly connections?: KmsConnections | undefined;
  /** Instead of a client made from the four above; the caller destroys it. */
  readonly client?: KMSClient | undefined;
}

/** A pool of kept-alive connections, opened at the first use. An idle one does not keep the process from ending. */
export type KmsConnections = () => Promise<NodeHttpHandler>;

/** The SDK, which is loaded at the first use of a root key, and a client of it. */
interface Kms {
  readonly client: KMSClient;
  readonly GenerateDataKey: typeof GenerateDataKeyCommand;
  readonly Decrypt: typeof DecryptCommand;
}

/** The SDK's types are no promise: it passes on what the answer's JSON held in a field. */
interface Answer {
  readonly KeyId?: unknown;
  readonly Plaintext?: unknown;
}

const KEY_BYTES = 32;
/** What KMS takes at most as a ciphertext; it fits into a keyring. */
const MAX_WRAPPED_BYTES = 6_144;

const PEER = { name: '@aws-sdk/client-kms', of: 'a root key in AWS KMS' };
const loadSdk = () => loadPeer(() => import('./kms-sdk.ts'), PEER);

export function openKmsConnections(): KmsConnections {
  return once(async (): Promise<NodeHttpHandler> => {
    const sdk = await loadSdk();
    return new sdk.NodeHttpHandler({
      connectionTimeout: 5_000,
      socketTimeout: 10_000,
      requestTimeout: 15_000,
      throwOnRequestTimeout: true,
    });
  });
}

/**
 * A root key in AWS KMS, where every use of it can be granted, logged and revoked; it never comes into the process
 * (docs/format.md, "Root keys"). The SDK tries a request three times before `unavailable` or `timeout`.
 *
 * @throws MemoryError `misconfigured` when `keyArn` is no key ARN; aliases are refused.
 */
export function kmsRootKey(options: KmsRootKeyOptions): RootKey {
  const keyArn = parseKeyArn(options.keyArn, 'keyArn');
  const openOnce = once(open);

  async function open(): Promise<Kms> {
    const sdk = await loadSdk();
    const { endpoint, credentials, connections = openKmsConnections() } = options;
    const client =
      options.client ??
      new sdk.KMSClient({
        region: options.region ?? regionOf(keyArn),
        maxAttempts: 3,
        requestHandler: await connections(),
        ...(endpoint !== undefined && { endpoint }),
        ...(credentials !== undefined && { credentials }),
      });
    return { client, GenerateDataKey: sdk.GenerateDataKeyCommand, Decrypt: sdk.DecryptCommand };
  }

  async function ask<T>(
    send: (kms: Kms, http: { readonly abortSignal?: AbortSignal }) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    throwIfAborted(signal);
    try {
      const work = openOnce().then((kms) => send(kms, signal === undefined ? {} : { abortSignal: signal }));
      return await untilAborted(work, signal);
    } catch (error) {
      throwIfAborted(signal);
      const { kmsFailure } = await import('./kms-errors.ts');
      throw kmsFailure(error);
    }
  }

  return {
    id: KMS_SCHEME + keyArn,
    async generate(context, { signal } = {}) {
      const answer = await ask(({ client, GenerateDataKey }, http) => {
        const request = { KeyId: keyArn, KeySpec: 'AES_256', EncryptionContext: pairsOf(context) } as const;
        return client.send(new GenerateDataKey(request), http);
      }, signal);
      const key = takeKey(answer, keyArn);
      const wrapped: unknown = answer.CiphertextBlob;
      if (!(wrapped instanceof Uint8Array && isWrappedLength(wrapped.length))) {
        key.fill(0);
        throw wrapRefused();
      }
      return { key, wrapped: Uint8Array.from(wrapped) };
    },
    async unwrap(wrapped, context, { signal } = {}) {
      if (!isWrappedLength(wrapped.length)) throw wrapRefused();
      const answer = await ask(({ client, Decrypt }, http) => {
        const request = {
          KeyId: keyArn,
          CiphertextBlob: wrapped,
          EncryptionContext: pairsOf(context),
          EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
        } as const;
        return client.send(new Decrypt(request), http);
      }, signal);
      return takeKey(answer, keyArn);
    },
  };
}

/** The five pairs of the format and nothing else that the object may carry. */
function pairsOf({ app, keyring, kind, tenant, version }: KeyringContext): Record<string, string> {
  return { app, keyring, kind, tenant, version };
}

/** The key of an answer, in an array of its own; the SDK's, which may lie in a shared buffer, is overwritten. */
function takeKey({ KeyId, Plaintext }: Answer, keyArn: string): Uint8Array {
  if (!(Plaintext instanceof Uint8Array)) throw wrapRefused();
  const key = Uint8Array.from(Plaintext);
  Plaintext.fill(0);
  if (KeyId !== keyArn || key.length !== KEY_BYTES) {
    key.fill(0);
    throw wrapRefused();
  }
  return key;
}

function isWrappedLength(length: number): boolean {
  return length >= 1 && length <= MAX_WRAPPED_BYTES;
}

/** The ARN of one KMS key, in the only spelling that KMS answers with. */
type KeyArn = string & { readonly __brand: 'KeyArn' };

/** What stands before the ARN in a configured root key and in a root id. */
export const KMS_SCHEME = 'aws-kms:';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const KEY_ARN = new RegExp(
  `^arn:aws[a-z-]*:kms:([a-z0-9-]{1,63}):[0-9]{12}:key/(?:${UUID}|mrk-[0-9a-f]{32})$`,
);
const ALIAS = /^(?:arn:[^/]*:)?alias\//;

/**
 * Throws `misconfigured`, naming `label` and what was expected, never the text. Aliases are refused: a keyring is
 * bound to the id of its root key, and an alias may come to mean another key.
 */
export function parseKeyArn(text: string, label: string): KeyArn {
  if (KEY_ARN.test(text)) return text as KeyArn;
  throw new MemoryError(
    'misconfigured',
    ALIAS.test(text)
      ? `${label} names a KMS key by an alias, which may come to mean another key: give the key's own ARN, arn:aws:kms:REGION:ACCOUNT:key/ID.`
      : `${label} is not the ARN of a KMS key: it must read arn:aws:kms:REGION:ACCOUNT:key/ID, in lower case.`,
  );
}

export function regionOf(keyArn: KeyArn): string {
  return KEY_ARN.exec(keyArn)?.[1] ?? '';
}
