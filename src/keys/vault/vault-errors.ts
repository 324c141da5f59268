import { MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { readSdkFailure, redactedCause, type SdkFailure } from '../../store/failures.ts';
import { WRAP_REFUSED } from '../root-key.ts';

type VaultFailure = readonly [MemoryErrorCode, string];

const REFUSED: VaultFailure = ['integrity', WRAP_REFUSED];
const DENIED: VaultFailure = [
  'access_denied',
  'Vault denied access: check the token, whether it has expired, and its policy, which needs "update" on the encrypt and decrypt paths of the key.',
];
const OVERLOADED: VaultFailure = ['unavailable', 'Vault asks for fewer requests: try again later.'];
const FAILED: VaultFailure = ['unavailable', 'Vault failed: try again later.'];
const SEALED: VaultFailure = [
  'unavailable',
  'Vault is sealed or cannot serve: unseal it, or try again later.',
];
const NOT_VAULT: VaultFailure = [
  'unavailable',
  'The server did not answer as Vault does: check the URL of the root key and what stands before the server.',
];
const STANDBY: VaultFailure = [
  'unavailable',
  'Vault sends requests on to another address, which is not followed: give the address of the active server.',
];
const GONE: VaultFailure = [
  'key_unavailable',
  'Vault has no such key: check the mount, the name and the namespace, or restore the key.',
];
const TOO_OLD: VaultFailure = [
  'key_unavailable',
  'Vault no longer decrypts by the version of the key that wrapped the keyring: lower min_decryption_version, run "sealed-memory keys rotate --force", and raise it again.',
];
const WRONG_KEY: VaultFailure = [
  'misconfigured',
  'The Transit key cannot be a root key: it must be an AEAD key such as aes256-gcm96, neither derived nor convergent, in a Vault of 1.13 or later, or in OpenBao.',
];
const LATE: VaultFailure = [
  'timeout',
  'Vault did not answer in time: check its URL and the network, then try again.',
];

/** The words that Vault puts before the sentence of an engine that failed. */
const FAILED_BEFORE = /^1 error occurred:\n\t\* /;

/** The sentences of Transit about a key or wrapped bytes, by their beginnings. */
const BY_SENTENCE: readonly (readonly [string, VaultFailure])[] = [
  ['missing client token', DENIED],
  ['encryption key not found', GONE],
  ['ciphertext or signature version is disallowed', TOO_OLD],
  ['cipher: message authentication failed', REFUSED],
  ['invalid ciphertext', REFUSED],
];

/** Makes the error of a Vault that let a caller leave without an answer. */
export function vaultLate(): MemoryError {
  return new MemoryError(...LATE);
}

/** Makes the error of a Vault that takes a key without the binding to its context. */
export function vaultUnbound(): MemoryError {
  return new MemoryError(...WRONG_KEY);
}

/** Makes the error of an answer that is none of Vault's. */
export function notVault(): MemoryError {
  return new MemoryError(...NOT_VAULT);
}

/**
 * Puts an answer that is no success into the operator's words.
 *
 * @param sentences the errors in it; undefined where it is none of Vault's.
 */
export function vaultRefusal(status: number, sentences: readonly string[] | undefined): MemoryError {
  const failure = classify(status, sentences);
  const told = failure[0] === 'integrity' ? {} : { cause: new Error(`Vault answered ${status}.`) };
  return new MemoryError(...failure, told);
}

function classify(status: number, sentences: readonly string[] | undefined): VaultFailure {
  if (status === 429) return OVERLOADED;
  if (status >= 300 && status < 400) return STANDBY;
  if (sentences === undefined) return NOT_VAULT;
  const bare = sentences.map((sentence) => sentence.replace(FAILED_BEFORE, ''));
  const said = BY_SENTENCE.find(([words]) => bare.some((sentence) => sentence.startsWith(words)));
  if (said !== undefined && (status === 400 || status === 500)) return said[1];
  if (status === 401 || status === 403) return DENIED;
  if (status === 404) return GONE;
  if (status === 400 || status === 405) return WRONG_KEY;
  return status === 503 ? SEALED : FAILED;
}

/** Puts what was thrown for a request without an answer into the operator's words, without the address. */
export function vaultFailure(error: unknown): MemoryError {
  if (error instanceof MemoryError) return error;
  const { name, code, network } = faultOf(error);
  if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') return vaultLate();
  const told = { cause: redactedCause({ name, code }, 'Vault') };
  if (network === 'untrusted') {
    return new MemoryError(
      'misconfigured',
      'The certificate of Vault is not trusted, or its address does not speak TLS: check the URL, or name the certificate of its authority in NODE_EXTRA_CA_CERTS.',
      told,
    );
  }
  return new MemoryError(
    'unavailable',
    network === 'unreached'
      ? 'Vault cannot be reached: check its URL and the network.'
      : 'The connection to Vault broke: check its URL and the network, then try again.',
    told,
  );
}

/** Tells whether a connection broke before the answer had come, so that the request may be sent once more. */
export function isBrokenOff(error: unknown): boolean {
  const { code, network } = faultOf(error);
  return network === 'broken_off' || code === 'UND_ERR_SOCKET';
}

/** Reads the fault of a connection, which `fetch` puts into the cause of its error. */
function faultOf(error: unknown): SdkFailure {
  const { cause = error } = Object(error);
  return readSdkFailure(cause);
}
