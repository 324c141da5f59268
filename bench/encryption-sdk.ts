import { randomBytes } from 'node:crypto';
import {
  AlgorithmSuiteIdentifier,
  buildClient,
  CommitmentPolicy,
  RawAesKeyringNode,
  RawAesWrappingSuiteIdentifier,
} from '@aws-crypto/client-node';

/** One way to use the AWS Encryption SDK for JavaScript, with a raw AES-256 keyring, as our root key is here. */
export interface EncryptionSdk {
  /** Its name in a row of the table. */
  readonly label: string;
  encrypt(content: Uint8Array): Promise<Uint8Array>;
  decrypt(message: Uint8Array): Promise<Uint8Array>;
}

/** As it comes: suite 05 78 (AES-256-GCM, key commitment, signed with ECDSA P-384), frames of 4 KiB. */
export function defaultSdk(): EncryptionSdk {
  return create('AWS Encryption SDK, default');
}

/** Comes nearest to a sealed object: suite 04 78 (as above, without a signature), frames of 64 KiB. */
export function unsignedSdk(): EncryptionSdk {
  return create('AWS Encryption SDK, unsigned', {
    suiteId: AlgorithmSuiteIdentifier.ALG_AES256_GCM_IV12_TAG16_HKDF_SHA512_COMMIT_KEY,
    frameLength: 65_536,
  });
}

function create(
  label: string,
  options: { readonly suiteId?: AlgorithmSuiteIdentifier; readonly frameLength?: number } = {},
): EncryptionSdk {
  const { encrypt, decrypt } = buildClient(CommitmentPolicy.REQUIRE_ENCRYPT_REQUIRE_DECRYPT);
  const keyring = new RawAesKeyringNode({
    keyName: 'bench',
    keyNamespace: 'bench',
    unencryptedMasterKey: new Uint8Array(randomBytes(32)),
    wrappingSuite: RawAesWrappingSuiteIdentifier.AES256_GCM_IV12_TAG16_NO_PADDING,
  });
  const encryptionContext = { tenant: 'bench', name: '/memories/notes/today.md' };
  return {
    label,
    encrypt: async (content) =>
      (
        await encrypt(keyring, Buffer.from(content.buffer, content.byteOffset, content.length), {
          encryptionContext,
          ...options,
        })
      ).result,
    decrypt: async (message) => (await decrypt(keyring, Buffer.from(message))).plaintext,
  };
}
