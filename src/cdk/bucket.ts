import { Annotations, AspectPriority, Aspects, Duration, RemovalPolicy, Token } from 'aws-cdk-lib';
import { AnyPrincipal, Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  BucketPolicy,
  CfnBucket,
  type IBucket,
  ObjectOwnership,
} from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import type { TenantResources } from './tenant-resources.ts';

/** Every action of S3 on an object. */
const OBJECT_ACTIONS = [
  's3:AbortMultipartUpload',
  's3:BypassGovernanceRetention',
  's3:DeleteObject*',
  's3:GetObject*',
  's3:ListMultipartUploadParts',
  's3:PutObject*',
  's3:ReplicateDelete',
  's3:ReplicateObject',
  's3:RestoreObject',
];

interface BucketChoice {
  /** A bucket that the caller has. */
  readonly given: IBucket | undefined;
  /** The name of a bucket that an earlier stack of this kind has left behind. */
  readonly adoptedName: string | undefined;
  readonly noncurrentDays: number;
}

/** The bucket of all tenants, with the function that puts statements into its policy. */
export interface PlacedBucket {
  readonly bucket: IBucket;
  addToPolicy(statements: readonly PolicyStatement[]): void;
}

/**
 * Places the bucket: the given one, the adopted one, or a new one.
 *
 * @throws RangeError for two buckets at once.
 */
export function placeBucket(
  scope: Construct,
  { given, adoptedName, noncurrentDays }: BucketChoice,
): PlacedBucket {
  if (given !== undefined && adoptedName !== undefined) {
    throw new RangeError('give a bucket or the name of one to adopt, not both');
  }
  if (adoptedName !== undefined) {
    const bucket = Bucket.fromBucketName(scope, 'AdoptedBucket', adoptedName);
    const policy = new BucketPolicy(scope, 'AdoptedBucketPolicy', { bucket });
    policy.document.addStatements(...transportStatements(bucket.bucketArn));
    return { bucket, addToPolicy: (statements) => policy.document.addStatements(...statements) };
  }
  if (given !== undefined) warnOf(scope, given);
  const bucket = given ?? createBucket(scope, noncurrentDays);
  const addToPolicy = (statements: readonly PolicyStatement[]): void => {
    const added = statements.map((statement) => bucket.addToResourcePolicy(statement).statementAdded);
    if (added.every((isAdded) => isAdded)) return;
    Annotations.of(scope).addWarningV2(
      'sealed-memory:bucket-policy',
      'The policy of the bucket is not made here: put the statements of docs/iam/bucket.json into it.',
    );
  };
  return { bucket, addToPolicy };
}

/** Warns of a caller's bucket, which is taken as it is. The synthesis judges it last, after all changes. */
function warnOf(scope: Construct, bucket: IBucket): void {
  Aspects.of(scope).add(
    {
      visit(node) {
        if (node !== scope) return;
        for (const fault of faultsOf(bucket)) {
          Annotations.of(scope).addWarningV2(`sealed-memory:bucket-${fault}`, FAULTS[fault]);
        }
      },
    },
    { priority: AspectPriority.READONLY },
  );
}

const FAULTS = {
  versions:
    'The bucket keeps no versions: what is overwritten or deleted there by mistake is lost. Turn versioning on.',
  public:
    'The bucket may be public: its settings leave a way to open it to everybody. Block all public access, with all four settings.',
  unchecked:
    'It could not be checked that the bucket keeps versions and blocks all public access, which a memory needs: see to both.',
} as const;

function faultsOf(bucket: IBucket): readonly (keyof typeof FAULTS)[] {
  const { defaultChild } = bucket.node;
  if (!(defaultChild instanceof CfnBucket)) return ['unchecked'];
  const { versioningConfiguration: versioning, publicAccessBlockConfiguration: blocks } = defaultChild;
  const { status } = (versioning ?? {}) as CfnBucket.VersioningConfigurationProperty;
  const { blockPublicAcls, blockPublicPolicy, ignorePublicAcls, restrictPublicBuckets } = (blocks ??
    // S3 blocks every public access unless a bucket says otherwise.
    ALL_BLOCKED) as CfnBucket.PublicAccessBlockConfigurationProperty;
  const four = [blockPublicAcls, blockPublicPolicy, ignorePublicAcls, restrictPublicBuckets];
  if ([versioning, status, blocks, ...four].some((value) => Token.isUnresolved(value))) return ['unchecked'];
  return [
    ...(status === 'Enabled' ? [] : (['versions'] as const)),
    ...(four.every((isBlocked) => isBlocked === true) ? [] : (['public'] as const)),
  ];
}

const ALL_BLOCKED: CfnBucket.PublicAccessBlockConfigurationProperty = {
  blockPublicAcls: true,
  blockPublicPolicy: true,
  ignorePublicAcls: true,
  restrictPublicBuckets: true,
};

/**
 * Creates a bucket that outlives the stack. A version that was overwritten or deleted stays restorable for
 * `noncurrentDays`; after that shredded tenants are gone for good.
 */
function createBucket(scope: Construct, noncurrentDays: number): IBucket {
  const bucket = new Bucket(scope, 'Bucket', {
    versioned: true,
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    // The objects are sealed before they get here; a KMS request per object would add cost without adding secrecy.
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    removalPolicy: RemovalPolicy.RETAIN,
    lifecycleRules: [
      { id: 'OldVersions', noncurrentVersionExpiration: Duration.days(noncurrentDays) },
      { id: 'DeleteMarkers', expiredObjectDeleteMarker: true },
      { id: 'AbortedUploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
    ],
  });
  // The cast only drops an optional member that IBucket declares more strictly than its own class.
  return bucket as IBucket;
}

/**
 * Makes a second wall, in the bucket itself: whatever else is ever attached to the tenant role, its sessions stay with
 * their tenant, and write files and keyrings only under a precondition (docs/protocols.md).
 */
export function confineTenantRole({
  bucketArn,
  role,
  resources,
}: {
  readonly bucketArn: string;
  readonly role: IRole;
  readonly resources: TenantResources;
}): readonly PolicyStatement[] {
  const byTenantRole = { ArnEquals: { 'aws:PrincipalArn': role.roleArn } };
  const deny = { effect: Effect.DENY, principals: [new AnyPrincipal()] };
  return [
    new PolicyStatement({
      ...deny,
      sid: 'TenantRoleStaysWithItsTenant',
      actions: OBJECT_ACTIONS,
      notResources: [resources.objects, resources.keyring],
      conditions: byTenantRole,
    }),
    new PolicyStatement({
      ...deny,
      sid: 'TenantRoleListsItsTenant',
      actions: ['s3:ListBucket'],
      resources: [bucketArn],
      conditions: { ...byTenantRole, StringNotLike: { 's3:prefix': [...resources.listable] } },
    }),
    new PolicyStatement({
      ...deny,
      sid: 'TenantRoleWritesUnderPreconditions',
      actions: ['s3:PutObject'],
      resources: [resources.files, resources.keyring],
      conditions: {
        ...byTenantRole,
        Null: { 's3:if-match': 'true', 's3:if-none-match': 'true' },
        // The requests that begin and fill a multipart upload carry no precondition; the one that ends it does.
        Bool: { 's3:ObjectCreationOperation': 'true' },
      },
    }),
  ];
}

/** Makes the statements that the CDK writes for a bucket of its own. */
function transportStatements(bucketArn: string): readonly PolicyStatement[] {
  const deny = {
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    actions: ['s3:*'],
    resources: [bucketArn, `${bucketArn}/*`],
  };
  return [
    new PolicyStatement({ ...deny, conditions: { Bool: { 'aws:SecureTransport': 'false' } } }),
    new PolicyStatement({ ...deny, conditions: { NumericLessThan: { 's3:TlsVersion': 1.2 } } }),
  ];
}
