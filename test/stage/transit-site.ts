import { randomBytes } from 'node:crypto';
import { type FakeTransit, startFakeTransit } from './fake-transit.ts';

/** A Vault or OpenBao that is there. */
export interface TransitServer {
  readonly endpoint: string;
  readonly token: string;
}

/** A Transit engine of the tests' own, run by the API of Vault: in the double, or in a real server. */
export interface TransitSite extends AsyncDisposable {
  readonly endpoint: string;
  /** The path of the engine. */
  readonly mount: string;
  /** The double; undefined for a real server. */
  readonly fake: FakeTransit | undefined;
  /** Makes a namespace with an engine in it, and answers its name; undefined where the server has none of them. */
  createNamespace(): Promise<string | undefined>;
  /** Makes a key, and answers its URL for `rootKey`, without the scheme `vault:`. */
  createKey(options?: { readonly type?: string; readonly derived?: boolean }): Promise<string>;
  rotate(keyUrl: string): Promise<void>;
  setMinDecryptionVersion(keyUrl: string, version: number): Promise<void>;
  deleteKey(keyUrl: string): Promise<void>;
  /** Makes a token that may do what the policy says, in HCL. */
  createToken(policy: string): Promise<string>;
  revokeToken(token: string): Promise<void>;
  writePolicy(name: string, policy: string): Promise<void>;
  createTokenOf(policies: readonly string[]): Promise<string>;
  /** Asks the API, as the operator. @throws Error for an answer that is no success. */
  api(method: string, path: string, fields?: object): Promise<unknown>;
}

/** The policy for one key, as docs/byok.md has it. */
export function policyOf(keyUrl: string): string {
  const path = new URL(keyUrl).pathname.slice(1);
  return ['encrypt', 'decrypt']
    .map((verb) => `path "${path.replace('/keys/', `/${verb}/`)}" { capabilities = ["update"] }\n`)
    .join('');
}

/** Opens a site on the double, or on a real server with a token that may mount engines and write policies. */
export async function openTransitSite(server?: TransitServer): Promise<TransitSite> {
  const fake = server === undefined ? await startFakeTransit() : undefined;
  const endpoint = fake?.endpoint ?? server?.endpoint ?? '';
  const root = fake?.rootToken ?? server?.token ?? '';
  const mount = `sealed-memory-test-${randomBytes(4).toString('hex')}`;

  async function api(method: string, path: string, fields: object = {}): Promise<unknown> {
    const response = await fetch(`${endpoint}/v1/${path}`, {
      method,
      headers: { 'x-vault-token': root, 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  const namespaces: string[] = [];
  const pathOf = (keyUrl: string): string => new URL(keyUrl).pathname.slice(1);
  const createTokenOf = async (policies: readonly string[]): Promise<string> => {
    const made = await api('POST', 'auth/token/create', { policies, no_default_policy: true });
    return (made as { readonly auth: { readonly client_token: string } }).auth.client_token;
  };
  const writePolicy = (name: string, policy: string) =>
    api('POST', `sys/policies/acl/${name}`, { policy }).then(() => {});
  await api('POST', `sys/mounts/${mount}`, { type: 'transit' });

  return {
    endpoint,
    mount,
    fake,
    api,
    createTokenOf,
    writePolicy,
    async createNamespace() {
      const name = `sealed-memory-test-${randomBytes(4).toString('hex')}`;
      const made = await api('POST', `sys/namespaces/${name}`).then(
        () => true,
        () => false,
      );
      if (!made) return undefined;
      await api('POST', `${name}/sys/mounts/transit`, { type: 'transit' });
      namespaces.push(name);
      return name;
    },
    async createKey(options = {}) {
      const path = `${mount}/keys/key-${randomBytes(4).toString('hex')}`;
      await api('POST', path, options);
      return `${endpoint}/${path}`;
    },
    rotate: (keyUrl) => api('POST', `${pathOf(keyUrl)}/rotate`).then(() => {}),
    setMinDecryptionVersion: (keyUrl, version) =>
      api('POST', `${pathOf(keyUrl)}/config`, { min_decryption_version: version }).then(() => {}),
    async deleteKey(keyUrl) {
      await api('POST', `${pathOf(keyUrl)}/config`, { deletion_allowed: true });
      await api('DELETE', pathOf(keyUrl));
    },
    async createToken(policy) {
      const name = `sealed-memory-test-${randomBytes(4).toString('hex')}`;
      await writePolicy(name, policy);
      return createTokenOf([name]);
    },
    revokeToken: (revoked) => api('POST', 'auth/token/revoke', { token: revoked }).then(() => {}),
    async [Symbol.asyncDispose]() {
      if (fake === undefined) {
        for (const name of namespaces) await api('DELETE', `sys/namespaces/${name}`);
        await api('DELETE', `sys/mounts/${mount}`);
      }
      await fake?.[Symbol.asyncDispose]();
    },
  };
}
