import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { type IRole, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { accountAdministers, addToGivenKey } from './key-administration.ts';
import { TENANT_TAG } from './tenant-resources.ts';

/** The pairs of docs/format.md, "Root wrap", as conditions: exactly these five, with the session's own tenant. */
const OWN_CONTEXT = {
  StringEquals: {
    'kms:EncryptionContext:app': 'sealed-memory',
    'kms:EncryptionContext:kind': 'keyring',
    'kms:EncryptionContext:tenant': TENANT_TAG,
    'kms:EncryptionContext:version': '1',
  },
  // Names of conditions ignore case, while names of pairs respect it: this one compares them exactly.
  'ForAllValues:StringEquals': {
    'kms:EncryptionContextKeys': ['app', 'keyring', 'kind', 'tenant', 'version'],
  },
  Null: { 'kms:EncryptionContext:keyring': 'false' },
};

/**
 * Places the root key: the caller's, or a new one.
 *
 * @throws RangeError for a generation of a key that the caller has.
 */
export function placeRootKey(
  scope: Construct,
  options: {
    readonly given: IKey | undefined;
    readonly usedBy: IRole;
    readonly generation: number | undefined;
  },
): IKey {
  const { given, usedBy, generation } = options;
  if (given === undefined) return createRootKey(scope, { usedBy, generation: generation ?? 1 });
  if (generation !== undefined) throw new RangeError('rootKeyGeneration is of a root key that is made here');
  addToGivenKey(scope, given, {
    statement: tenantRoleUses(usedBy),
    warning: 'root-key-policy',
    name: 'root key',
    source: 'the statements of docs/iam/root-key.json',
  });
  return given;
}

/**
 * Creates the root key of all tenants. The account administers it and may let others do so through IAM; the policy of
 * the key itself names the one role that may use it, so that no policy elsewhere can.
 *
 * @param options.generation One more makes a new key. The one before stays in the account, with its policy.
 */
function createRootKey(
  scope: Construct,
  { usedBy, generation }: { readonly usedBy: IRole; readonly generation: number },
): Key {
  return new Key(scope, generation === 1 ? 'RootKey' : `RootKey${generation}`, {
    description: 'sealed-memory: wraps the keyrings of all tenants',
    enableKeyRotation: true,
    rotationPeriod: Duration.days(365),
    pendingWindow: Duration.days(30),
    removalPolicy: RemovalPolicy.RETAIN,
    policy: new PolicyDocument({
      statements: [accountAdministers(), tenantRoleUses(usedBy)],
    }),
  });
}

/** Lets the tenant role use a key, in the key's own policy. */
function tenantRoleUses(tenantRole: IRole): PolicyStatement {
  return new PolicyStatement({
    sid: 'TenantRoleUsesOwnContext',
    principals: [tenantRole],
    actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
    resources: ['*'],
    conditions: OWN_CONTEXT,
  });
}

/** ARNs of keys in KMS, as patterns; an alias is no root key. */
const KEY_ARN = /^arn:aws[a-z-]*:kms:[a-z0-9*?-]+:[0-9*?]+:key\/[a-z0-9*?-]+$/;

/**
 * Makes the statements by which the role uses the keys, as `tenantRoleUses` does in the key's policy. Former root keys
 * only open the keyrings that they still wrap.
 *
 * @throws RangeError for a customer's key that is no ARN of a key in KMS.
 */
export function rootKeyStatements({
  rootKeyArn,
  formerRootKeyArns,
  customerKeyArns,
}: {
  readonly rootKeyArn: string;
  readonly formerRootKeyArns: readonly string[];
  readonly customerKeyArns: readonly string[];
}): readonly PolicyStatement[] {
  if (customerKeyArns.some((arn) => !KEY_ARN.test(arn))) {
    throw new RangeError(
      'customerKeyArns takes ARNs of keys, such as arn:aws:kms:eu-central-1:111122223333:key/*',
    );
  }
  const statement = (sid: string, actions: string[], resources: readonly string[]): PolicyStatement =>
    new PolicyStatement({ sid, actions, resources: [...resources], conditions: OWN_CONTEXT });
  const use = ['kms:Decrypt', 'kms:GenerateDataKey'];
  return [
    statement('OwnKeyring', use, [rootKeyArn]),
    ...(formerRootKeyArns.length === 0
      ? []
      : [statement('OwnKeyringUnderFormerRootKeys', ['kms:Decrypt'], formerRootKeyArns)]),
    ...(customerKeyArns.length === 0
      ? []
      : [statement('OwnKeyringUnderKeysOfCustomers', use, customerKeyArns)]),
  ];
}
