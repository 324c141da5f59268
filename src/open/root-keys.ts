import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { misconfigured } from '../errors.ts';
import { envRootKey } from '../keys/env-root-key.ts';
import { KMS_SCHEME, parseKeyArn } from '../keys/kms-key-arn.ts';
import { readPrivateFile } from '../keys/private-file.ts';
import type { RootKey } from '../keys/root-key.ts';
import { fileCodeOf, redactedFileCause } from '../store/failures.ts';
import type { AwsCredentials } from '../store/s3/callers-credentials.ts';
import { once } from '../time.ts';
import { rootKeyFault } from './root-key-fault.ts';

/** Padded base64 of 32 bytes, `aws-kms:` and a key ARN, the 32 bytes, or another root key of the caller's. */
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
  label = 'rootKey',
): RootKeys {
  if (inputs.length === 0) throw misconfigured(`${label} is empty: give at least one root key.`);
  const loadKms = once(async () => {
    const { openKmsConnections, openKmsRootKey } = await import('../keys/kms-root-key.ts');
    return { connections: openKmsConnections(), openKmsRootKey };
  });

  function open(input: RootKeyInput, index: number): (credentials: AwsCredentials | undefined) => RootKey {
    requireRootKey(input, keyAt(index, { label, of: inputs }));
    if (isKms(input)) {
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
        : loadedLater(input, async () => (await import('../keys/own-root-key.ts')).heldToPort(input));
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
 * The texts of root keys, without white space around them.
 *
 * @throws MemoryError `misconfigured` when there is none or one is malformed; it names `label`, never the text.
 */
export function parseRootKeys(texts: readonly string[], label: string): readonly string[] {
  const keys = texts.map((text, index) => {
    const key = text.trim();
    requireRootKey(key === '' ? text : key, keyAt(index, { label, of: texts }));
    return key;
  });
  return Object.freeze(keys);
}

/** How messages name one of several root keys. */
function keyAt(
  index: number,
  { label, of }: { readonly label: string; readonly of: readonly unknown[] },
): string {
  return of.length === 1 ? label.replace(/^the /, 'The ') : `Key ${index + 1} of ${label}`;
}

function isKms(input: RootKeyInput): input is string {
  return typeof input === 'string' && input.startsWith(KMS_SCHEME);
}

/** @throws MemoryError `misconfigured` that names `which` and how to make a root key. */
function requireRootKey(input: RootKeyInput, which: string): void {
  if (isKms(input)) {
    parseKeyArn(input.slice(KMS_SCHEME.length), which);
    return;
  }
  const fault = rootKeyFault(input);
  if (fault !== undefined) throw misconfigured(`${which} ${fault}`);
}

/** The text of a root key file. @throws MemoryError `misconfigured`, as `readPrivateFile`. */
export function readRootKeyFile(path: string, label: string): string {
  const remedy =
    'put its copy back, without which nothing that is stored can be read; where nothing is, "sealed-memory init" makes one';
  return readPrivateFile(path, { label, kind: 'root key file', remedy });
}

/**
 * Writes the text to a new file that only its owner may read (mode 0600), in a folder that is made when missing.
 *
 * @throws MemoryError `misconfigured` when anything, a dangling link too, lies at the path; that is left as it is.
 */
export function createRootKeyFile(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true });
  } catch (error) {
    const code = fileCodeOf(error) ?? 'unknown error';
    throw code === 'EEXIST'
      ? misconfigured(
          'The key file exists already and is never overwritten: losing a root key loses every memory under it.',
        )
      : misconfigured(`The key file cannot be created (${code}).`, redactedFileCause(error));
  }
}
