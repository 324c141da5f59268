/** What IAM puts in the place of the session's tag; a session without it matches nothing. */
export const TENANT_TAG: string = '$' + '{aws:PrincipalTag/tenant}';

/** Where one tenant's objects lie in the bucket, as patterns of IAM (docs/format.md, "Object keys"). */
export interface TenantResources {
  /** Everything of the tenant but its keyring. */
  readonly objects: string;
  /** The memory files among them. */
  readonly files: string;
  /** One key, not a pattern. */
  readonly keyring: string;
  /** What the tenant's listings may begin with; the second is the keyring's own key, see `tenantRole`. */
  readonly listable: readonly [string, string];
  /** The listing that names all tenants. */
  readonly allKeyrings: string;
}

/** A pattern would give more than it says, and IAM has no way to quote in the value of a condition. */
const PREFIX = /^(?:[A-Za-z0-9!_.'()-]+(?:\/[A-Za-z0-9!_.'()-]+)*)?$/;
const MAX_PREFIX_LENGTH = 65;

/**
 * @param options.prefix of every object key, without a slash at either end; may be empty.
 * @throws RangeError for a prefix that could mean something to IAM, or leaves no room for a tenant's id.
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
