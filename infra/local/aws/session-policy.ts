import { TENANT_TAG, tenantResources } from '../../../src/cdk/tenant-resources.ts';
import { tenantStatements } from '../../../src/cdk/tenant-role.ts';
import type { TenantId } from '../../../src/format/object-keys.ts';

/** The most characters of a session policy at AWS. */
const MOST_CHARACTERS = 2_048;

/**
 * Makes the tenant role's permissions on the bucket as one tenant's session policy, for servers whose token service
 * knows no session tags: the statements of the deployment with the tenant in the tag's place. Its one denial, of
 * sessions without a tenant, is left out: every session here has one.
 */
export function sessionPolicy({
  bucketName,
  prefix,
  tenant,
}: {
  readonly bucketName: string;
  readonly prefix: string;
  readonly tenant: TenantId;
}): string {
  const bucketArn = `arn:aws:s3:::${bucketName}`;
  const resources = tenantResources({ bucketArn, prefix });
  const statements = tenantStatements({ bucketArn, resources })
    .map((statement) => statement.toStatementJson() as Readonly<Record<string, unknown>>)
    .filter(({ Effect }) => Effect === 'Allow');
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: statements }).replaceAll(
    TENANT_TAG,
    tenant,
  );
  if (policy.length > MOST_CHARACTERS) throw new RangeError('the session policy is too long');
  return policy;
}
