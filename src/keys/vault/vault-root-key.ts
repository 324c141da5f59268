import { misconfigured } from '../../errors.ts';
import { concat, fromBase64, toBase64 } from '../../format/encoding.ts';
import { rootBinding } from '../../format/root-wrap.ts';
import { KEY_BYTES, type RandomBytes, wipe } from '../../format/sodium.ts';
import { decodeText, encodeText } from '../../language/text.ts';
import { osRandom } from '../../store/os-random.ts';
import { inTime, throwIfAborted } from '../../time.ts';
import { toldIfLong } from '../../waits.ts';
import { createKeyGate } from '../key-gate.ts';
import { type KeyringContext, type RootKey, wrapRefused } from '../root-key.ts';
import { vaultVariable } from './vault-environment.ts';
import {
  isBrokenOff,
  notVault,
  vaultFailure,
  vaultLate,
  vaultRefusal,
  vaultUnbound,
} from './vault-errors.ts';
import { parseVaultKey, type VaultKey } from './vault-key-url.ts';
import { openTokens, type VaultTokenOptions } from './vault-token.ts';

/** A key of a Transit engine in HashiCorp Vault or OpenBao, and how it is reached. */
export interface VaultRootKeyOptions extends VaultTokenOptions {
  /**
   * `https://HOST/MOUNT/keys/NAME`, with namespaces before the mount if there are any; `http` on loopback alone. The
   * key has an AEAD type such as `aes256-gcm96`, and is not derived.
   */
  readonly keyUrl: string;
  /** The namespace for the header `X-Vault-Namespace`; `VAULT_NAMESPACE` unless given, and `''` is none. */
  readonly namespace?: string | undefined;
}

/** An answer of Vault, whose fields are unchecked. */
interface VaultAnswer {
  readonly status: number;
  /** The object of its JSON; undefined where there is none. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

/** The longest wait for the answer to one request, with the reading of its body, in milliseconds. */
const ATTEMPT_MS = 15_000;
/** The longest wait for all requests of one call: one more follows a new token, and one a connection that broke. */
const UNANSWERED = { ms: 3 * ATTEMPT_MS, tellAfterMs: 1_000 };
/** The most bytes of an answer that are read. */
const MAX_ANSWER_BYTES = 65_536;
/** The longest ciphertext of Transit that a keyring stores, in characters. */
const MAX_WRAPPED_BYTES = 8_192;
/** The form of Transit's ciphertext: the version of the key, and base64. */
const WRAPPED = /^vault:v[1-9][0-9]{0,8}:([A-Za-z0-9+/]+={0,2})$/;

/**
 * Makes a root key in Vault's Transit engine, where every use of it can be granted, logged and revoked; it never comes
 * into the process (docs/format.md, "Root keys"). At most 16 requests for it are on their way at once, none for longer
 * than 45 s, and a server in trouble is asked once a second.
 *
 * @throws MemoryError `misconfigured` for a URL or a namespace that cannot be one. Tokens are read at the first use.
 */
export function vaultRootKey(options: VaultRootKeyOptions): RootKey {
  const { namespace = vaultVariable('VAULT_NAMESPACE') } = options;
  const key = parseVaultKey(options.keyUrl, namespace);
  if (key === undefined) {
    throw misconfigured(
      'keyUrl is not the URL of a Transit key, or the namespace is none: it must read https://HOST/MOUNT/keys/NAME, as browsers write it, and http is for loopback alone.',
    );
  }
  return openVaultRootKey(key, options);
}

/** Opens a key whose URL was read. */
export function openVaultRootKey(
  key: VaultKey,
  { random = osRandom, ...from }: VaultTokenOptions & { readonly random?: RandomBytes | undefined } = {},
): RootKey {
  const tokens = openTokens(from, key.origin);
  const gate = createKeyGate({ limitMs: UNANSWERED.ms, late: vaultLate });

  /**
   * Asks with the token that is held. Where it is refused, this reads the token again, and asks once more with a new
   * one.
   */
  async function send(verb: Verb, fields: object, signal: AbortSignal | undefined): Promise<VaultAnswer> {
    const token = tokens.held();
    const answer = await post(key, { verb, fields, token, signal });
    if (answer.status !== 403) return answer;
    const renewed = tokens.renewed(token);
    return renewed === undefined ? answer : post(key, { verb, fields, token: renewed, signal });
  }

  async function ask(
    verb: Verb,
    fields: object,
    signal: AbortSignal | undefined,
  ): Promise<Readonly<Record<string, unknown>>> {
    throwIfAborted(signal);
    const told = async (by: AbortSignal | undefined) => successOf(await send(verb, fields, by));
    try {
      return await toldIfLong('Vault', UNANSWERED, () =>
        gate.ask({
          send: () => told(signal),
          probe: () => told(undefined),
          fail: vaultFailure,
          discard: () => {},
          signal,
        }),
      );
    } catch (error) {
      throwIfAborted(signal);
      throw vaultFailure(error);
    }
  }

  return {
    id: key.id,
    async generate(context, { signal } = {}) {
      const secret = random(KEY_BYTES);
      try {
        const fields = { plaintext: toBase64(secret), associated_data: bindingOf(context) };
        const { ciphertext } = await ask('encrypt', fields, signal);
        if (typeof ciphertext !== 'string' || !isWrapped(ciphertext)) throw wrapRefused();
        return { key: secret, wrapped: encodeText(ciphertext) };
      } catch (error) {
        wipe(secret);
        throw error;
      }
    },
    async unwrap(wrapped, context, { signal } = {}) {
      const ciphertext = wrapped.length > MAX_WRAPPED_BYTES ? undefined : decodeText(wrapped);
      if (ciphertext === undefined || !isWrapped(ciphertext)) throw wrapRefused();
      const { plaintext } = await ask('decrypt', { ciphertext, associated_data: bindingOf(context) }, signal);
      const secret = typeof plaintext === 'string' ? fromBase64(plaintext) : undefined;
      if (secret?.length === KEY_BYTES) return secret;
      if (secret !== undefined) wipe(secret);
      throw wrapRefused();
    },
  };
}

type Verb = 'encrypt' | 'decrypt';

function bindingOf(context: KeyringContext): string {
  return toBase64(rootBinding(context));
}

function isWrapped(text: string): boolean {
  const [, box] = (text.length <= MAX_WRAPPED_BYTES && WRAPPED.exec(text)) || [];
  return box !== undefined && fromBase64(box) !== undefined;
}

/** Answers the data of a success. @throws MemoryError for any other answer. */
function successOf({ status, fields }: VaultAnswer): Readonly<Record<string, unknown>> {
  const { data, errors, warnings } = fields ?? {};
  if (status !== 200) throw vaultRefusal(status, isTexts(errors) ? errors : undefined);
  // A server that does not know the field ignores it, and some say so in a warning.
  if (isTexts(warnings) && warnings.some((text) => text.includes('associated_data'))) throw vaultUnbound();
  if (!isObject(data)) throw notVault();
  return data;
}

interface VaultRequest {
  readonly verb: Verb;
  readonly fields: object;
  readonly token: string;
  readonly signal: AbortSignal | undefined;
}

/** Sends a request, and once more where the connection broke, as one may that was kept alive for too long. */
async function post(key: VaultKey, request: VaultRequest): Promise<VaultAnswer> {
  try {
    return await postOnce(key, request);
  } catch (error) {
    if (!isBrokenOff(error)) throw error;
    return postOnce(key, request);
  }
}

async function postOnce(
  { origin, mount, name, namespace }: VaultKey,
  { verb, fields, token, signal }: VaultRequest,
): Promise<VaultAnswer> {
  const attempt = new AbortController();
  const answered = async (): Promise<VaultAnswer> => {
    const response = await fetch(`${origin}/v1/${mount}/${verb}/${name}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-vault-request': 'true',
        'x-vault-token': token,
        ...(namespace !== '' && { 'x-vault-namespace': namespace }),
      },
      body: JSON.stringify(fields),
      // A token is for the server that the operator named.
      redirect: 'manual',
      signal: attempt.signal,
    });
    return { status: response.status, fields: await readObject(response) };
  };
  try {
    return await inTime(answered, { ms: ATTEMPT_MS, late: vaultLate, signal });
  } finally {
    attempt.abort();
  }
}

/** Reads the JSON of an answer, and overwrites its bytes; undefined where it is no object, or too long. */
async function readObject({ body }: Response): Promise<VaultAnswer['fields']> {
  const chunks: Uint8Array[] = [];
  try {
    let bytes = 0;
    for await (const chunk of body ?? []) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) return undefined;
    }
    const whole = concat(...chunks);
    chunks.push(whole);
    const read: unknown = JSON.parse(decodeText(whole) ?? '');
    return isObject(read) ? read : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  } finally {
    wipe(...chunks);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
