import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { misconfigured } from '../errors.ts';
import { fromBase64 } from '../format/encoding.ts';
import { KEY_BYTES } from '../format/sodium.ts';
import { nameFileCode, redactedFileCause } from '../store/failures.ts';
import type { AwsCredentials } from '../store/s3/callers-credentials.ts';
import { once } from '../time.ts';
import { envRootKey } from './env-root-key.ts';
import { KMS_SCHEME, parseKeyArn } from './kms/kms-key-arn.ts';
import { readPrivateFile } from './private-file.ts';
import type { RootKey } from './root-key.ts';
import { vaultVariable } from './vault/vault-environment.ts';
import { parseVaultKey, VAULT_SCHEME, type VaultKey } from './vault/vault-key-url.ts';

/** The advice of every message about a root key that is missing or malformed. */
export const HOW_TO_MAKE_ONE: string = `A root key is base64 of ${KEY_BYTES} bytes, which "openssl rand -base64 ${KEY_BYTES}" makes ("sealed-memory init" writes a file with it), or "${KMS_SCHEME}" and a key ARN, or "${VAULT_SCHEME}" and the URL of a Transit key.`;

/**
 * A root key as it is configured: padded base64 of 32 bytes, `aws-kms:` and a key ARN, `vault:` and the URL of a Transit
 * key, the 32 bytes, or another root key of the caller's.
 */
export type RootKeyInput = string | Uint8Array | RootKey;

/** Configured root keys: the first wraps, all unwrap. */
export interface RootKeys {
  /** The root keys with the credentials given at the start. */
  readonly keys: readonly RootKey[];
  /** Answers the same root keys; those in KMS are reached with other credentials, over the same connections. */
  withCredentials(credentials: AwsCredentials): readonly RootKey[];
}

/**
 * Opens the configured root keys. The first use of a key sends requests, and loads the SDK of KMS.
 *
 * @throws MemoryError `misconfigured` when the list is empty or a key is malformed.
 */
export function openRootKeys(
  inputs: readonly RootKeyInput[],
  credentials?: AwsCredentials | undefined,
  label = 'rootKey',
): RootKeys {
  if (inputs.length === 0) throw misconfigured(`${label} is empty: give at least one root key.`);
  const loadKms = once(async () => {
    const { openKmsConnections, openKmsRootKey } = await import('./kms/kms-root-key.ts');
    return { connections: openKmsConnections(), openKmsRootKey };
  });

  function open(input: RootKeyInput, index: number): (credentials: AwsCredentials | undefined) => RootKey {
    requireRootKey(input, keyAt(index, { label, of: inputs }));
    const vaultKey = vaultKeyOf(input);
    if (vaultKey !== undefined) {
      const rootKey = loadedLater(vaultKey, async () => {
        const { openVaultRootKey } = await import('./vault/vault-root-key.ts');
        return openVaultRootKey(vaultKey);
      });
      return () => rootKey;
    }
    if (hasScheme(input, KMS_SCHEME)) {
      const keyArn = input.slice(KMS_SCHEME.length);
      const openOnce = once(async () => {
        const { openKmsRootKey, connections } = await loadKms();
        return openKmsRootKey({ keyArn, connections });
      });
      return (reached) => loadedLater({ id: input }, async () => (await openOnce())(reached));
    }
    const rootKey =
      typeof input === 'string' || input instanceof Uint8Array
        ? envRootKey(input)
        : loadedLater(input, async () => (await import('./own-root-key.ts')).heldToPort(input));
    return () => rootKey;
  }

  const opened = inputs.map(open);
  return {
    keys: opened.map((openWith) => openWith(credentials)),
    withCredentials: (others) => opened.map((openWith) => openWith(others)),
  };
}

function loadedLater(named: Pick<RootKey, 'id'>, load: () => Promise<RootKey>): RootKey {
  const loaded = once(load);
  return {
    get id() {
      return named.id;
    },
    generate: async (...asked) => (await loaded()).generate(...asked),
    unwrap: async (...asked) => (await loaded()).unwrap(...asked),
  };
}

/**
 * Reads the texts of root keys, without white space around them.
 *
 * @throws MemoryError `misconfigured` when a key is malformed; it names `label`, never the text.
 */
export function parseRootKeys(texts: readonly string[], label: string): readonly string[] {
  const keys = texts.map((text, index) => {
    const key = text.trim();
    requireRootKey(key === '' ? text : key, keyAt(index, { label, of: texts }));
    return key;
  });
  return Object.freeze(keys);
}

/** Names one of several root keys for a message. */
function keyAt(
  index: number,
  { label, of }: { readonly label: string; readonly of: readonly unknown[] },
): string {
  return of.length === 1 ? label.replace(/^the /, 'The ') : `Key ${index + 1} of ${label}`;
}

function hasScheme<S extends string>(input: RootKeyInput, scheme: S): input is `${S}${string}` {
  return typeof input === 'string' && input.startsWith(scheme);
}

/** Reads a Transit key in the namespace of the environment; undefined for a root key of another kind. */
function vaultKeyOf(input: RootKeyInput): VaultKey | undefined {
  if (!hasScheme(input, VAULT_SCHEME)) return undefined;
  return parseVaultKey(input.slice(VAULT_SCHEME.length), vaultVariable('VAULT_NAMESPACE'));
}

/**
 * Refuses a malformed root key.
 *
 * @throws MemoryError `misconfigured` that names `which` and how to make a root key.
 */
function requireRootKey(input: RootKeyInput, which: string): void {
  if (hasScheme(input, KMS_SCHEME)) {
    parseKeyArn(input.slice(KMS_SCHEME.length), which);
    return;
  }
  const fault = rootKeyFault(input);
  if (fault !== undefined) throw misconfigured(`${which} ${fault}`);
}

/**
 * Describes the form of a thing that is no root key, as the rest of a sentence, and how to make one; undefined for a
 * root key that this process holds. The sentence tells the form and the length, and leaves out every character.
 */
function rootKeyFault(key: unknown): string | undefined {
  const form = typeof key === 'string' ? formOfText(key) : formOfOther(key);
  return form && `${form}. ${HOW_TO_MAKE_ONE}`;
}

function formOfOther(key: unknown): string | undefined {
  if (!(key instanceof Uint8Array)) {
    const { generate, unwrap } = Object(key);
    if (typeof generate === 'function' && typeof unwrap === 'function') return undefined;
    return 'is no text, no Uint8Array, and no object with generate and unwrap';
  }
  const { length } = key;
  if (length === KEY_BYTES) return undefined;
  const isText = length === 44 ? ': Buffer.from(text, "base64") makes them of a text' : '';
  return `has ${length} bytes, not ${KEY_BYTES}${isText}`;
}

function formOfText(text: string): string | undefined {
  if (hasScheme(text, VAULT_SCHEME)) {
    return vaultKeyOf(text) === undefined ? 'is not "vault:https://HOST/MOUNT/keys/NAME"' : undefined;
  }
  const bytes = fromBase64(text)?.length;
  if (bytes === KEY_BYTES) return undefined;
  if (text === '') return 'is empty';
  const key = text.trim();
  if (key === '') return 'is white space alone';
  if (key !== text) return 'has white space around it';
  if (/^[0-9a-f]{16,}$/i.test(text)) {
    return text.length === 2 * KEY_BYTES
      ? 'looks hexadecimal: "xxd -r -p | base64" makes base64 of it'
      : 'looks hexadecimal, and has not the length of a root key';
  }
  if (/^arn:/i.test(text)) return `looks like an ARN without "${KMS_SCHEME}" before it`;
  if (bytes !== undefined) return `is base64 of ${bytes} bytes, not of ${KEY_BYTES}`;
  const mended = `${text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')}=`;
  return fromBase64(mended)?.length === KEY_BYTES
    ? 'looks like base64 for URLs, or without its end: write "+" for "-", "/" for "_", and "=" at the end'
    : `is not base64 of ${KEY_BYTES} bytes`;
}

/** Reads the text of a root key file. @throws MemoryError `misconfigured`, as `readPrivateFile`. */
export function readRootKeyFile(path: string, label: string): string {
  const remedy =
    'put its copy back, without which nothing that is stored can be read; where nothing is, "sealed-memory init" makes one';
  return readPrivateFile(path, { label, kind: 'root key file', remedy });
}

/**
 * Writes the text to a new file that only its owner may read (mode 0600), in a folder that is made when missing.
 *
 * @throws MemoryError `misconfigured` when the path is taken, by a dangling link too, which then stays as it is.
 */
export function createRootKeyFile(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true });
  } catch (error) {
    const code = nameFileCode(error);
    throw code === 'EEXIST'
      ? misconfigured(
          'The key file exists already and is never overwritten: losing a root key loses every memory under it.',
        )
      : misconfigured(`The key file cannot be created (${code}).`, redactedFileCause(error));
  }
}
