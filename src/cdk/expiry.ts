import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type Code, EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { type BundledFunction, createBundledFunction, type Network } from './bundled-function.ts';
import type { TenantResources } from './tenant-resources.ts';

export const EXPIRY_TIMEOUT: Duration = Duration.minutes(15);
/** The most runs at once: enough for a million tenants a day, few enough to leave the bucket and KMS to the turns. */
const EXPIRY_CONCURRENCY = 5;

/**
 * Creates the function that deletes expired files and records, once a day at a quiet hour (UTC). It sends a message for
 * each tenant to a queue, from which it is called again, and reaches each tenant as the worker does, by a session of
 * the tenant role.
 */
export function createExpiryFunction(
  scope: Construct,
  options: {
    readonly code: Code;
    readonly role: Role;
    readonly environment: Record<string, string>;
    readonly memorySize: number;
    readonly tenants: Queue;
    readonly network: Network | undefined;
    readonly logKey: IKey | undefined;
  },
): BundledFunction {
  const { tenants, ...rest } = options;
  const expiry = createBundledFunction(scope, 'Expiry', {
    ...rest,
    entry: 'expire',
    description: 'sealed-memory: deletes what expired',
    timeout: EXPIRY_TIMEOUT,
  });
  new EventSourceMapping(scope, 'TenantsToExpiry', {
    target: expiry.run,
    eventSourceArn: tenants.queueArn,
    batchSize: 10,
    reportBatchItemFailures: true,
    maxConcurrency: EXPIRY_CONCURRENCY,
  });
  new Rule(scope, 'ExpirySchedule', {
    description: 'sealed-memory: once a day',
    schedule: Schedule.cron({ hour: '3', minute: '17' }),
    targets: [new LambdaTarget(expiry.run, { retryAttempts: 2, maxEventAge: Duration.hours(1) })],
  });
  return expiry;
}

/**
 * Makes all statements of the expiry function's own role, besides becoming a tenant and writing its log: it lists the
 * tenants and hands out the work.
 */
export function expiryStatements({
  bucketArn,
  resources,
  tenants,
}: {
  readonly bucketArn: string;
  readonly resources: TenantResources;
  readonly tenants: Queue;
}): readonly PolicyStatement[] {
  return [
    new PolicyStatement({
      sid: 'ListTenants',
      actions: ['s3:ListBucket'],
      resources: [bucketArn],
      conditions: { StringEquals: { 's3:prefix': resources.allKeyrings } },
    }),
    new PolicyStatement({
      sid: 'SendAndReceiveTenants',
      actions: [
        'sqs:ChangeMessageVisibility',
        'sqs:DeleteMessage',
        'sqs:GetQueueAttributes',
        'sqs:ReceiveMessage',
        'sqs:SendMessage',
      ],
      resources: [tenants.queueArn],
    }),
  ];
}
