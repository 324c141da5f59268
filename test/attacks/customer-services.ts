import { type FakeKms, startFakeKms } from '../stage/fake-kms.ts';
import type { FakeTransit } from '../stage/fake-transit.ts';
import { openTransitSite, policyOf, type TransitSite } from '../stage/transit-site.ts';

/** A key of a customer's own, in a service that he runs. */
export interface CustomerKey {
  /** The text for `rootKey`. */
  readonly rootKey: string;
  /** The codes with which it refuses once it is taken away. */
  readonly refusedAs: readonly string[];
  disable(): Promise<void>;
  enable(): Promise<void>;
  /** The uses of the key so far. */
  uses(): number;
}

/** The services of customers: a KMS and a Vault, each with keys that their owners take away and give back. */
export interface CustomerServices extends AsyncDisposable {
  readonly kms: FakeKms;
  readonly transit: FakeTransit;
  /** The environment that a process needs to reach them. */
  readonly environment: Readonly<Record<string, string>>;
  /** Creates a key that the customer can take away in the way of `kind`. */
  createKey(kind: KeyKind): Promise<CustomerKey>;
}

/** The ways in which a customer takes his key away. */
export const KEY_KINDS = ['KMS, disabled', 'Transit, no policy', 'Transit, no version'] as const;
type KeyKind = (typeof KEY_KINDS)[number];

export async function startCustomerServices(): Promise<CustomerServices> {
  const [kms, site] = await Promise.all([startFakeKms(), openTransitSite()]);
  const transit = site.fake;
  if (transit === undefined) throw new Error('there is no double');
  let keys = 0;

  async function inTransit(kind: KeyKind): Promise<CustomerKey> {
    const keyUrl = await site.createKey();
    const policy = `customer-${++keys}`;
    await site.writePolicy(policy, policyOf(keyUrl));
    const [name = ''] = keyUrl.split('/').slice(-1);
    const uses = () => transit?.requests.filter(({ key }) => key === `${site.mount}/${name}`).length ?? 0;
    const common = { rootKey: `vault:${keyUrl}`, uses };
    if (kind === 'Transit, no policy') {
      return {
        ...common,
        refusedAs: ['access_denied'],
        disable: () => site.writePolicy(policy, ''),
        enable: () => site.writePolicy(policy, policyOf(keyUrl)),
      };
    }
    return {
      ...common,
      refusedAs: ['key_unavailable'],
      disable: () => moveOn(site, keyUrl),
      enable: () => site.setMinDecryptionVersion(keyUrl, 1),
    };
  }

  function inKms(): CustomerKey {
    const keyArn = kms.createKey();
    return {
      rootKey: `aws-kms:${keyArn}`,
      refusedAs: ['key_unavailable'],
      disable: async () => kms.setState(keyArn, 'Disabled'),
      enable: async () => kms.setState(keyArn, 'Enabled'),
      uses: () => kms.requests.filter(({ body }) => body['KeyId'] === keyArn).length,
    };
  }

  // One token for all keys, whose policies are written later.
  const token = await site.createTokenOf(Array.from({ length: 64 }, (_, index) => `customer-${index + 1}`));

  return {
    kms,
    transit,
    environment: {
      AWS_ENDPOINT_URL: '',
      AWS_ENDPOINT_URL_KMS: kms.endpoint,
      AWS_ACCESS_KEY_ID: 'AKIDOFTHETESTS',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_REGION: 'eu-central-1',
      VAULT_TOKEN: token,
      VAULT_TOKEN_FILE: '',
      VAULT_ADDR: '',
      VAULT_NAMESPACE: '',
    },
    createKey: async (kind) => (kind === 'KMS, disabled' ? inKms() : inTransit(kind)),
    async [Symbol.asyncDispose]() {
      await kms[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    },
  };
}

/** Forbids the version that wrapped everything so far. */
async function moveOn(site: TransitSite, keyUrl: string): Promise<void> {
  await site.rotate(keyUrl);
  await site.setMinDecryptionVersion(keyUrl, 2);
}
