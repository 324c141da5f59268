import type { DecryptCommand, GenerateDataKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import type { NodeHttpHandler } from '@smithy/node-http-handler';

import { loadPeer } from '../../errors.ts';
import type { AwsCredentials } from '../../store/s3/callers-credentials.ts';
import { once, throwIfAborted, untilAborted } from '../../time.ts';
import { toldIfLong } from '../../waits.ts';
import { createKeyGate, type KeyGate } from '../key-gate.ts';
import { type KeyringContext, type RootKey, wrapRefused } from '../root-key.ts';
import { credentialsFailure, kmsFailure, kmsLate } from './kms-errors.ts';
import { KMS_SCHEME, parseKeyArn, regionOf } from './kms-key-arn.ts';

/** A key in AWS KMS, and how it is reached. */
export interface KmsRootKeyOptions {
  /** `arn:aws:kms:REGION:ACCOUNT:key/ID` of a symmetric encryption key. */
  readonly keyArn: string;
  /** The region; that of the ARN when absent. */
  readonly region?: string | undefined;
  /** The endpoint; when absent, the SDK takes `AWS_ENDPOINT_URL_KMS`, `AWS_ENDPOINT_URL` or the region's own. */
  readonly endpoint?: string | undefined;
  /** The credentials; the SDK's default chain when absent. */
  readonly credentials?: AwsCredentials | undefined;
}

interface KmsParts extends KmsRootKeyOptions {
  /** The connections, shared with other root keys; a pool of its own when absent. */
  readonly connections?: KmsConnections | undefined;
  /** A client to use instead of one made from the four options above; the caller destroys it. */
  readonly client?: KMSClient | undefined;
  /** The gate, shared with those who reach the same key by other credentials; one of its own when absent. */
  readonly gate?: KeyGate | undefined;
}

/** A pool of kept-alive connections, opened at the first use. An idle one does not keep the process from ending. */
type KmsConnections = () => Promise<NodeHttpHandler>;

/** The SDK, which is loaded at the first use of a root key, and clients of it. */
interface Kms {
  /** Tries a request three times. */
  readonly client: KMSClient;
  /** Makes a client that tries a request once: the gate alone decides how often a service in trouble is asked. */
  readonly probing: () => Promise<KMSClient>;
  readonly GenerateDataKey: typeof GenerateDataKeyCommand;
  readonly Decrypt: typeof DecryptCommand;
}

/** An answer whose fields are unchecked, because the SDK passes on the JSON of the answer as it came. */
interface KmsAnswer {
  readonly KeyId?: unknown;
  readonly Plaintext?: unknown;
  readonly CiphertextBlob?: unknown;
}

const KEY_BYTES = 32;
/** The longest ciphertext that KMS takes (bytes); it fits into a keyring. */
const MAX_WRAPPED_BYTES = 6_144;

/** The most connections to one endpoint: enough that a few keys whose requests hang leave some to the others. */
const MOST_SOCKETS = 512;
/** The longest wait for an answer: three attempts of 15 s each, and the pauses between them. */
const UNANSWERED = { ms: 50_000, tellAfterMs: 1_000 };

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
      httpAgent: { keepAlive: true, maxSockets: MOST_SOCKETS },
      httpsAgent: { keepAlive: true, maxSockets: MOST_SOCKETS },
    });
  });
}

/**
 * Makes a root key in AWS KMS, where every use of it can be granted, logged and revoked; it never comes into the
 * process (docs/format.md, "Root keys"). The SDK tries a request three times before `unavailable` or `timeout`; from
 * then on the gate decides who may ask.
 *
 * @throws MemoryError `misconfigured` when `keyArn` is no key ARN; aliases are refused.
 */
export function kmsRootKey(options: KmsParts): RootKey {
  const keyArn = parseKeyArn(options.keyArn, 'keyArn');
  const { gate = openGate() } = options;
  const openOnce = once(open);

  async function open(): Promise<Kms> {
    const sdk = await loadSdk();
    const { endpoint, credentials, connections = openKmsConnections() } = options;
    const create = async (maxAttempts: number): Promise<KMSClient> =>
      options.client ??
      new sdk.KMSClient({
        region: options.region ?? regionOf(keyArn),
        maxAttempts,
        requestHandler: await connections(),
        ...(endpoint && { endpoint }),
        ...(credentials && { credentials }),
      });
    return {
      client: await create(3),
      probing: once(() => create(1)),
      GenerateDataKey: sdk.GenerateDataKeyCommand,
      Decrypt: sdk.DecryptCommand,
    };
  }

  async function ask(
    send: (client: KMSClient, kms: Kms, http: { readonly abortSignal?: AbortSignal }) => Promise<KmsAnswer>,
    signal: AbortSignal | undefined,
  ): Promise<KmsAnswer> {
    throwIfAborted(signal);
    try {
      const kms = await openOnce();
      // The credentials are asked before the gate: when they fail to come, that is one tenant's trouble, not the
      // service's.
      const found = Promise.resolve(kms.client.config?.credentials?.()).catch((error: unknown) => {
        throw credentialsFailure(error);
      });
      await untilAborted(found, signal);
      return await toldIfLong('KMS', UNANSWERED, () =>
        gate.ask({
          send: () => send(kms.client, kms, signal === undefined ? {} : { abortSignal: signal }),
          probe: async () => send(await kms.probing(), kms, {}),
          fail: kmsFailure,
          discard: ({ Plaintext }) => void (Plaintext instanceof Uint8Array && Plaintext.fill(0)),
          signal,
        }),
      );
    } catch (error) {
      throwIfAborted(signal);
      throw kmsFailure(error);
    }
  }

  return {
    id: KMS_SCHEME + keyArn,
    async generate(context, { signal } = {}) {
      const answer = await ask((client, { GenerateDataKey }, http) => {
        const request = { KeyId: keyArn, KeySpec: 'AES_256', EncryptionContext: pairsOf(context) } as const;
        return client.send(new GenerateDataKey(request), http);
      }, signal);
      const key = takeKey(answer, keyArn);
      const wrapped = answer.CiphertextBlob;
      if (!(wrapped instanceof Uint8Array && isWrappedLength(wrapped.length))) {
        key.fill(0);
        throw wrapRefused();
      }
      return { key, wrapped: Uint8Array.from(wrapped) };
    },
    async unwrap(wrapped, context, { signal } = {}) {
      if (!isWrappedLength(wrapped.length)) throw wrapRefused();
      const answer = await ask((client, { Decrypt }, http) => {
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

/** Picks the five pairs of the format, and leaves out any others that the object may carry. */
function pairsOf({ app, keyring, kind, tenant, version }: KeyringContext): Record<string, string> {
  return { app, keyring, kind, tenant, version };
}

/** Copies the key of an answer into an array of its own, and overwrites the SDK's, which may lie in a shared buffer. */
function takeKey({ KeyId, Plaintext }: KmsAnswer, keyArn: string): Uint8Array {
  if (!(Plaintext instanceof Uint8Array)) throw wrapRefused();
  const key = Uint8Array.from(Plaintext);
  Plaintext.fill(0);
  if (KeyId !== keyArn || key.length !== KEY_BYTES) {
    key.fill(0);
    throw wrapRefused();
  }
  return key;
}

function openGate(): KeyGate {
  return createKeyGate({ limitMs: UNANSWERED.ms, late: kmsLate });
}

function isWrappedLength(length: number): boolean {
  return length >= 1 && length <= MAX_WRAPPED_BYTES;
}

/**
 * Opens one key in KMS for all who reach it by credentials of their own, and who share the knowledge of trouble there.
 */
export function openKmsRootKey(
  shared: Pick<KmsParts, 'keyArn' | 'connections'>,
): (credentials: KmsRootKeyOptions['credentials']) => RootKey {
  const gate = openGate();
  return (credentials) => kmsRootKey({ ...shared, credentials, gate });
}
