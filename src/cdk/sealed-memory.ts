import { Duration } from 'aws-cdk-lib';
import type { Dashboard, IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch';
import { ArnPrincipal, type PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { createAlarms } from './alarms.ts';
import { confineTenantRole, createBucket } from './bucket.ts';
import { type BundledFunction, createFunctionRole } from './bundled-function.ts';
import { createDashboard } from './dashboard.ts';
import { createExpiryFunction, expiryStatements } from './expiry.ts';
import { acknowledgeFindings } from './findings.ts';
import { packedBundle } from './packed-bundle.ts';
import { createQueues, type Queues } from './queues.ts';
import { createRootKey, rootKeyStatements } from './root-key.ts';
import { tenantResources } from './tenant-resources.ts';
import { assumeTenantRole, createTenantRole, tenantStatements } from './tenant-role.ts';
import { createDirectWorker, createWorker, workerStatements } from './worker.ts';
import { expiryEnvironment, storeUrl, type WorkerSettings, workerEnvironment } from './worker-settings.ts';

export interface SealedMemoryProps extends Partial<WorkerSettings> {
  /** The folder that holds the bundle, `index.mjs`; by default the one that the package carries. */
  readonly bundle?: string;
  /** Of every object key; empty by default. Changing it leaves the old memories behind. */
  readonly prefix?: string;
  /** Of a turn; five minutes by default, fifteen at most. */
  readonly timeout?: Duration;
  /** Of the worker and the expiry function, in MiB; 512 by default. */
  readonly memorySize?: number;
  /** Turns at once; 10 by default. */
  readonly maxConcurrency?: number;
  /** Turns of one conversation run in order. */
  readonly fifo?: boolean;
  /** A second function runs the turn it is invoked with, for step functions and the like. */
  readonly direct?: boolean;
  /** Days an overwritten or deleted version stays restorable; 30 by default. */
  readonly noncurrentDays?: number;
  /** After which a waiting turn raises an alarm; 15 minutes by default. */
  readonly oldestMessage?: Duration;
  /** What an alarm does; nothing by default but show on the dashboard. */
  readonly alarmAction?: IAlarmAction;
  /** The key of the Claude API, as plain text or as JSON with `ANTHROPIC_API_KEY`; an empty secret of its own by default, to be filled after deployment. */
  readonly apiKey?: ISecret;
  /** ARNs of roles whose holders may become a tenant, for the drills of docs/deployment.md; none by default. */
  readonly operatorRoleArns?: readonly string[];
  /** 1 by default; one more makes a new root key, see `formerRootKeyArns`. */
  readonly rootKeyGeneration?: number;
  /** ARNs of KMS keys that still wrap some keyrings. */
  readonly formerRootKeyArns?: readonly string[];
}

/**
 * The whole cloud of a memory: bucket, root key, queues, worker, expiry function, the tenant role between them, alarms
 * and a dashboard. Put it into a stack of your own, or deploy `infra/app.ts` of the repository.
 *
 * @throws RangeError for a malformed prefix.
 */
export class SealedMemory extends Construct {
  readonly bucket: Bucket;
  readonly rootKey: Key;
  readonly tenantRole: Role;
  readonly queues: Queues;
  readonly worker: BundledFunction;
  readonly directWorker: BundledFunction | undefined;
  readonly expiry: BundledFunction;
  readonly apiKey: ISecret;
  readonly dashboard: Dashboard;
  /** As `SEALED_MEMORY_STORE` takes it. */
  readonly storeUrl: string;

  constructor(scope: Construct, id: string, props: SealedMemoryProps) {
    super(scope, id);
    const { prefix = '', timeout = Duration.minutes(5), memorySize = 512 } = props;
    const { formerRootKeyArns = [], operatorRoleArns = [] } = props;
    const settings = {
      model: 'claude-sonnet-5-5',
      maxTokens: 16_000,
      reply: 'pointer',
      expireDryRun: true,
      ...props,
    } as const;

    const workerRole = createFunctionRole(
      this,
      'WorkerRole',
      'sealed-memory: reads turns, becomes their tenant',
    );
    const expiryRole = createFunctionRole(this, 'ExpiryRole', 'sealed-memory: lists tenants, becomes each');
    const operators = operatorRoleArns.map((arn) => new ArnPrincipal(arn));
    this.tenantRole = createTenantRole(this, { assumedBy: [workerRole, expiryRole, ...operators] });
    this.bucket = createBucket(this, { noncurrentDays: props.noncurrentDays ?? 30 });
    this.rootKey = createRootKey(this, {
      usedBy: this.tenantRole,
      generation: props.rootKeyGeneration ?? 1,
    });
    const { bucketArn, bucketName } = this.bucket;
    const resources = tenantResources({ bucketArn, prefix });
    confineTenantRole(this.bucket, { role: this.tenantRole, resources });
    const rootKeyArn = this.rootKey.keyArn;
    grant(this.tenantRole, [
      ...tenantStatements({ bucketArn, resources }),
      ...rootKeyStatements({ rootKeyArn, formerRootKeyArns }),
    ]);

    this.queues = createQueues(this, { timeout, fifo: props.fifo ?? false });
    this.apiKey = props.apiKey ?? createApiKey(this);
    const become = assumeTenantRole(this.tenantRole);
    grant(workerRole, [...workerStatements({ queues: this.queues, apiKey: this.apiKey }), become]);
    grant(expiryRole, [...expiryStatements({ bucketArn, resources }), become]);

    const places = {
      bucketName,
      prefix,
      rootKeyArns: [rootKeyArn, ...formerRootKeyArns],
      tenantRoleArn: this.tenantRole.roleArn,
      turnQueueUrl: this.queues.turns.queueUrl,
      deadLetterQueueUrl: this.queues.deadLetters.queueUrl,
      replyQueueUrl: this.queues.replies.queueUrl,
      apiKeySecretArn: this.apiKey.secretArn,
    } as const;
    this.storeUrl = storeUrl(places);
    const code = Code.fromAsset(props.bundle ?? packedBundle());
    const environment = workerEnvironment(settings, places);
    const runner = { code, timeout, memorySize, role: workerRole, environment };
    const { turns } = this.queues;
    this.worker = createWorker(this, runner, { turns, maxConcurrency: props.maxConcurrency ?? 10 });
    this.directWorker = props.direct === true ? createDirectWorker(this, runner) : undefined;
    this.expiry = createExpiryFunction(this, {
      ...{ code, memorySize, role: expiryRole },
      environment: expiryEnvironment(settings, places),
    });

    const { queues, worker, directWorker, expiry } = this;
    const watched = { queues, worker, directWorker, expiry };
    const alarms = createAlarms(this, {
      watched,
      oldestMessage: props.oldestMessage ?? Duration.minutes(15),
      ...(props.alarmAction !== undefined && { action: props.alarmAction }),
    });
    this.dashboard = createDashboard(this, { watched, alarms });
    acknowledgeFindings({
      ...{ bucket: this.bucket, tenantRole: this.tenantRole, resources, replies: this.queues.replies },
      apiKey: props.apiKey === undefined ? this.apiKey : undefined,
    });
  }
}

function grant(role: Role, statements: readonly PolicyStatement[]): void {
  for (const statement of statements) role.addToPrincipalPolicy(statement);
}

/** Holds a random text, which Claude refuses, until an operator puts the real key there. */
function createApiKey(scope: Construct): ISecret {
  const description = 'sealed-memory: key of the Claude API, as plain text';
  // The cast only drops an optional member that ISecret declares more strictly than its own class.
  return new Secret(scope, 'ApiKey', { description }) as ISecret;
}
