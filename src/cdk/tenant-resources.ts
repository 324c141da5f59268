/** The variable that IAM replaces by the session's tag; a session without the tag matches no resource. */
export const TENANT_TAG: string = '$' + '{aws:PrincipalTag/tenant}';

/** The places of one tenant's objects in the bucket, as patterns of IAM (docs/format.md, "Object keys"). */
export interface TenantResources {
  /** The tenant's objects, except its keyring. */
  readonly objects: string;
  /** The memory files among them. */
  readonly files: string;
  /** The key of the keyring, which is no pattern. */
  readonly keyring: string;
  /** The prefixes that the tenant's listings may begin with; the second is the keyring's own key, see `tenantRole`. */
  readonly listable: readonly [string, string];
  /** The prefix of the listing that names all tenants. */
  readonly allKeyrings: string;
}

/** Allowed prefixes. A pattern would give more than it says, and IAM cannot quote in the value of a condition. */
const PREFIX = /^(?:[A-Za-z0-9!_.'()-]+(?:\/[A-Za-z0-9!_.'()-]+)*)?$/;
const MAX_PREFIX_LENGTH = 65;

/**
 * Makes the patterns of a tenant's objects.
 *
 * @param options.prefix of every object key, without a slash at either end; may be empty.
 * @throws RangeError for a prefix that could mean something to IAM, or leaves too little room for a tenant's id.
 */
export function tenantResources({
  bucketArn,
  prefix,
}: {
  readonly bucketArn: string;
  readonly prefix: string;
}): TenantResources {
  if (!PREFIX.test(prefix) || prefix.length > MAX_PREFIX_LENGTH) {
    throw new RangeError(
      "the prefix must be names of letters, digits and !_.'()- joined by single slashes, 65 characters at most",
    );
  }
  const top = prefix === '' ? '' : `${prefix}/`;
  const tenant = `${top}tenants/${TENANT_TAG}/`;
  const keyring = `${top}keyrings/${TENANT_TAG}`;
  return {
    objects: `${bucketArn}/${tenant}*`,
    files: `${bucketArn}/${tenant}data/*`,
    keyring: `${bucketArn}/${keyring}`,
    listable: [`${tenant}*`, keyring],
    allKeyrings: `${top}keyrings/`,
  };
}
