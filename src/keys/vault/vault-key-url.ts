import { misconfigured } from '../../errors.ts';

/** The scheme before the URL in a configured root key and in a root id. */
export const VAULT_SCHEME = 'vault:';

/** A key of a Transit engine. */
export interface VaultKey {
  /** The root id: the scheme and the URL, with the namespace before the mount. */
  readonly id: string;
  /** `https://host` or `https://host:port`, without a slash behind it. */
  readonly origin: string;
  /** The path of the engine, below the namespace. */
  readonly mount: string;
  readonly name: string;
  /** The namespace of the header; undefined where the URL alone says it. */
  readonly namespace: string | undefined;
}

const WORD = '\\w(?:[\\w.-]*\\w)?';
const LOOPBACK = '(?:localhost|127(?:\\.[0-9]+){3}|\\[::1\\])(?::[0-9]+)?';
const KEY_URL = new RegExp(
  `^(https://[a-z0-9.:[\\]-]+|http://${LOOPBACK})/(?!v1/)(${WORD}(?:/${WORD})*)/keys/(${WORD})$`,
);
const NAMESPACE = new RegExp(`^${WORD}(?:/${WORD})*$`);
const MOST_CHARACTERS = 512;

/**
 * Reads the URL of a key. It has one spelling, because a keyring is bound to it: the host in lower case, the port only
 * where it is not that of the scheme. `http` is for a server on loopback.
 *
 * @param namespace the namespace that the header names, with or without slashes around it.
 * @throws MemoryError `misconfigured`, naming `label` and what was expected, never the text.
 */
export function parseVaultKey(url: string, label: string, namespace: string | undefined): VaultKey {
  const within = namespace?.replace(/^\/+|\/+$/g, '') || undefined;
  if (within !== undefined && !NAMESPACE.test(within)) {
    throw misconfigured('The namespace of Vault (VAULT_NAMESPACE) must be names with slashes between them.');
  }
  const [, origin = '', mount = '', name = ''] = KEY_URL.exec(url) ?? [];
  const path = within === undefined ? mount : `${within}/${mount}`;
  const id = `${VAULT_SCHEME}${origin}/${path}/keys/${name}`;
  if (origin === '' || id.length > MOST_CHARACTERS || !URL.canParse(url) || new URL(url).href !== url) {
    throw misconfigured(
      `${label} is not the URL of a Transit key: it must read https://HOST/MOUNT/keys/NAME, in the spelling of a browser; http is for loopback alone.`,
    );
  }
  return { id, origin, mount, name, namespace: within };
}
