import { Duration } from 'aws-cdk-lib';
import type { Dashboard } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { ArnPrincipal, PermissionsBoundary, type PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { useAccountKey } from './account-key.ts';
import { createAlarms } from './alarms.ts';
import { checkBounds, checkMemory, secondsOf } from './bounds.ts';
import { confineTenantRole, placeBucket } from './bucket.ts';
import { type BundledFunction, createFunctionRole } from './bundled-function.ts';
import { createDashboard } from './dashboard.ts';
import { createExpiryFunction, EXPIRY_TIMEOUT, expiryStatements } from './expiry.ts';
import { acknowledgeFindings } from './findings.ts';
import { customerKeysOf, tokensOf } from './log-metrics.ts';
import { bundleOwnWorker } from './own-worker.ts';
import { packedBundle } from './packed-bundle.ts';
import { placeQueueKey, queueKeyStatement } from './queue-key.ts';
import { createQueues, type Queues, TURN_RETENTION } from './queues.ts';
import { placeRootKey, rootKeyStatements } from './root-key.ts';
import type { SealedMemoryProps } from './sealed-memory-props.ts';
import { tenantResources } from './tenant-resources.ts';
import { assumeTenantRole, bucketKeyStatement, createTenantRole, tenantStatements } from './tenant-role.ts';
import { placeTenantSettings, readTenantSettings } from './tenant-settings.ts';
import { createDirectWorker, createWorker, workerStatements } from './worker.ts';
import {
  checkSettings,
  expiryEnvironment,
  storeUrl,
  WORKER_DEFAULTS,
  workerEnvironment,
} from './worker-settings.ts';

/**
 * The whole cloud of a memory: bucket, root key, queues, worker, expiry function, the tenant role between them, alarms
 * and a dashboard. Put it into a stack of your own, or deploy `infra/app.ts` of the repository.
 *
 * @throws RangeError for a malformed prefix or text, and for a number out of its bounds.
 */
export class SealedMemory extends Construct {
  readonly bucket: IBucket;
  readonly rootKey: IKey;
  /** The key of the queues; undefined where SQS encrypts by itself. */
  readonly queueKey: IKey | undefined;
  readonly tenantRole: Role;
  /** The table of the settings of tenants; undefined where all have the same ones. */
  readonly tenantSettings: ITable | undefined;
  readonly queues: Queues;
  readonly worker: BundledFunction;
  readonly directWorker: BundledFunction | undefined;
  readonly expiry: BundledFunction;
  readonly apiKey: ISecret;
  /** Undefined where none is wanted. */
  readonly dashboard: Dashboard | undefined;
  /** The store as `SEALED_MEMORY_STORE` takes it. */
  readonly storeUrl: string;

  constructor(scope: Construct, id: string, props: SealedMemoryProps = {}) {
    super(scope, id);
    const { prefix = '', oldestMessage = Duration.minutes(15), alarmTokensPerHour = 5_000_000 } = props;
    const { formerRootKeyArns = [], operatorRoleArns = [], directConcurrency = 10 } = props;
    const { accountKey, customerKeyArns = [], tenantSettings = false } = props;
    const timeout = props.timeout ?? Duration.seconds(WORKER_DEFAULTS.timeoutSeconds);
    const settings = { ...WORKER_DEFAULTS, ...props };
    const { memorySize, maxConcurrency } = settings;
    checkBounds({
      ...settings,
      alarmTokensPerHour,
      directConcurrency,
      timeoutSeconds: secondsOf(timeout),
      oldestMessageMinutes: oldestMessage.toMinutes({ integral: false }),
    });
    checkSettings(settings);
    checkMemory(settings);
    if (props.permissionsBoundary !== undefined) {
      PermissionsBoundary.of(this).apply(props.permissionsBoundary);
    }

    const workerRole = createFunctionRole(
      this,
      'WorkerRole',
      'sealed-memory: reads turns, becomes their tenant',
    );
    const expiryRole = createFunctionRole(this, 'ExpiryRole', 'sealed-memory: lists tenants, becomes each');
    const operators = operatorRoleArns.map((arn) => new ArnPrincipal(arn));
    this.tenantRole = createTenantRole(this, { assumedBy: [workerRole, expiryRole, ...operators] });
    const placed = placeBucket(this, {
      given: props.bucket,
      adoptedName: props.adoptedBucketName,
      noncurrentDays: props.noncurrentDays ?? 30,
    });
    this.bucket = placed.bucket;
    this.rootKey = placeRootKey(this, {
      given: props.rootKey,
      usedBy: this.tenantRole,
      generation: props.rootKeyGeneration,
    });
    const { bucketArn, bucketName } = this.bucket;
    const resources = tenantResources({ bucketArn, prefix });
    placed.addToPolicy(confineTenantRole({ bucketArn, role: this.tenantRole, resources }));
    const rootKeyArn = this.rootKey.keyArn;
    const { encryptionKey } = this.bucket;
    grant(this.tenantRole, [
      ...tenantStatements({ bucketArn, resources }),
      ...(encryptionKey === undefined ? [] : [bucketKeyStatement(encryptionKey.keyArn)]),
      ...rootKeyStatements({ rootKeyArn, formerRootKeyArns, customerKeyArns }),
    ]);

    if (accountKey !== undefined) useAccountKey(this, accountKey);
    this.queueKey = placeQueueKey(this, props.queueKey);
    this.queues = createQueues(this, {
      timeout,
      expiryTimeout: EXPIRY_TIMEOUT,
      fifo: props.fifo ?? false,
      tenantSettings: tenantSettings !== false,
      key: this.queueKey,
    });
    this.apiKey = props.apiKey ?? createApiKey(this, accountKey);
    const ownSettings =
      tenantSettings === false
        ? undefined
        : placeTenantSettings(this, { given: tenantSettings, operators, operatorRoleArns });
    this.tenantSettings = ownSettings?.table;
    const common = [
      ...(this.queueKey === undefined ? [] : [queueKeyStatement(this.queueKey.keyArn)]),
      ...(ownSettings === undefined ? [] : [readTenantSettings(ownSettings.table)]),
      assumeTenantRole(this.tenantRole),
    ];
    const tenants = this.queues.expiry;
    grant(workerRole, [...workerStatements({ queues: this.queues, apiKey: this.apiKey }), ...common]);
    grant(expiryRole, [...expiryStatements({ bucketArn, resources, tenants }), ...common]);

    const places = {
      bucketName,
      prefix,
      rootKeyArns: [rootKeyArn, ...formerRootKeyArns],
      tenantRoleArn: this.tenantRole.roleArn,
      turnQueueUrl: this.queues.turns.queueUrl,
      turnRetentionSeconds: TURN_RETENTION.toSeconds(),
      deadLetterQueueUrl: this.queues.deadLetters.queueUrl,
      customerDeadLetterQueueUrl: this.queues.customerDeadLetters?.queueUrl,
      replyQueueUrl: this.queues.replies.queueUrl,
      apiKeySecretArn: this.apiKey.secretArn,
      expiryQueueUrl: tenants.queueUrl,
      tenantSettings: ownSettings?.source,
    } as const;
    this.storeUrl = storeUrl(places);
    const code = Code.fromAsset(props.bundle ?? packedBundle());
    const ownCode = props.entry === undefined ? code : Code.fromAsset(bundleOwnWorker(this, props.entry));
    const environment = workerEnvironment(settings, places);
    const { network } = props;
    const runner = {
      code: ownCode,
      timeout,
      memorySize,
      role: workerRole,
      environment,
      network,
      logKey: accountKey,
    };
    const { turns } = this.queues;
    this.worker = createWorker(this, runner, { turns, maxConcurrency });
    this.directWorker =
      props.direct === true
        ? createDirectWorker(this, { ...runner, concurrency: directConcurrency })
        : undefined;
    this.expiry = createExpiryFunction(this, {
      code,
      memorySize,
      role: expiryRole,
      tenants,
      network,
      logKey: accountKey,
      environment: expiryEnvironment(settings, places),
    });

    const { queues, worker, directWorker, expiry } = this;
    const runners = [worker, directWorker].filter((each) => each !== undefined);
    const watched = {
      queues,
      worker,
      directWorker,
      expiry,
      tokens: tokensOf(this, runners),
      customerKeys: customerKeysOf(this, [...runners, expiry]),
    };
    const alarms = createAlarms(this, {
      watched,
      oldestMessage,
      alarmTokensPerHour,
      ...(props.alarmAction !== undefined && { action: props.alarmAction }),
    });
    this.dashboard = props.dashboard === false ? undefined : createDashboard(this, { watched, alarms });
    acknowledgeFindings({
      bucket: this.bucket,
      tenantRole: this.tenantRole,
      customerKeyArns,
      resources,
      queues,
      apiKey: props.apiKey === undefined ? this.apiKey : undefined,
      functionRoles: network === undefined ? [] : [workerRole, expiryRole],
    });
  }
}

function grant(role: Role, statements: readonly PolicyStatement[]): void {
  for (const statement of statements) role.addToPrincipalPolicy(statement);
}

/**
 * Creates the secret of the API key. It holds a random text, which Claude refuses, until an operator puts the real key
 * there.
 */
function createApiKey(scope: Construct, key: IKey | undefined): ISecret {
  const description = 'sealed-memory: key of the Claude API, as plain text';
  // The cast only drops an optional member that ISecret declares more strictly than its own class.
  const encrypted = key === undefined ? {} : { encryptionKey: key };
  return new Secret(scope, 'ApiKey', { description, ...encrypted }) as ISecret;
}
