/** The scheme before the URL in a configured root key and in a root id. */
export const VAULT_SCHEME = 'vault:';

/** A key of a Transit engine. */
export interface VaultKey {
  /** The root id: the scheme and the URL, with the namespace before the mount. */
  readonly id: string;
  /** `https://host` or `https://host:port`, without a slash at its end. */
  readonly origin: string;
  /** The path of the engine, below the namespace. */
  readonly mount: string;
  readonly name: string;
  /** The namespace of the header; empty where the URL alone says it. */
  readonly namespace: string;
}

const KEY_URL =
  /^(https:\/\/[a-z0-9.:[\]-]+|http:\/\/(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?)\/(?!v1\/)([\w./-]+)\/keys\/([\w.-]+)$/;
/** Names between slashes that begin and end with a letter, a digit or `_`. */
const PATH = /^(?:\w(?:[\w.-]*\w)?(?:\/(?!$)|$))+$/;
const MOST_CHARACTERS = 512;

/**
 * Reads the URL of a key; undefined where it is none, or the namespace cannot be one. It has one spelling, because a
 * keyring is bound to it: the host in lower case, the port only where it is not that of the scheme. `http` is for a
 * server on loopback.
 *
 * @param given the namespace that the header names, with or without slashes around it.
 */
export function parseVaultKey(url: string, given = ''): VaultKey | undefined {
  const namespace = given.replace(/^\/+|\/+$/g, '');
  const [, origin = '', mount = '', name = ''] = KEY_URL.exec(url) ?? [];
  const path = [...(namespace ? [namespace] : []), mount, 'keys', name].join('/');
  const id = `${VAULT_SCHEME}${origin}/${path}`;
  const isKey = id.length <= MOST_CHARACTERS && PATH.test(path) && URL.canParse(url);
  return isKey && new URL(url).href === url ? { id, origin, mount, name, namespace } : undefined;
}
