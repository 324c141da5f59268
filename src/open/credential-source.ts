import type { AwsCredentialProvider, AwsCredentials, AwsIdentity } from './store.ts';

/** Credentials of one tenant that may be replaced while requests use them. */
export interface CredentialSource {
  /** Gives the credentials that were set last. */
  readonly provider: AwsCredentialProvider;
  /** Whether these are others than before. From now on they are used. */
  replace(credentials: AwsCredentials | undefined): boolean;
}

/** As the AWS SDK does, credentials are asked for again so long before they end. */
const RENEWAL_MS = 300_000;
/** The SDK asks for credentials that end so soon before each request. */
const UNTIL_NEXT_REQUEST_MS = 60_000;

export function createCredentialSource(first: AwsCredentials): CredentialSource {
  let given = first;
  let current: { readonly asked: Promise<AwsIdentity>; endsAt: number } | undefined;

  const ask = (properties: Parameters<AwsCredentialProvider>[0]): Promise<AwsIdentity> => {
    const asked = typeof given === 'function' ? given(properties) : Promise.resolve(given);
    const next = { asked, endsAt: Number.POSITIVE_INFINITY };
    current = next;
    asked.then(
      ({ expiration }) => {
        next.endsAt = expiration?.getTime() ?? Number.POSITIVE_INFINITY;
      },
      () => {
        if (current === next) current = undefined;
      },
    );
    return asked;
  };

  return {
    async provider(properties) {
      const isFresh = current !== undefined && current.endsAt - Date.now() > RENEWAL_MS;
      const identity = await (isFresh && current ? current.asked : ask(properties));
      return { ...identity, expiration: new Date(Date.now() + UNTIL_NEXT_REQUEST_MS) };
    },
    replace(credentials) {
      if (credentials === undefined || credentials === given) return false;
      given = credentials;
      current = undefined;
      return true;
    },
  };
}
