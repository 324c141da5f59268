import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { type BundledFunction, createBundledFunction } from './bundled-function.ts';
import type { TenantResources } from './tenant-resources.ts';

/**
 * The function that deletes what expired, once a day at a quiet hour (UTC). It goes from tenant to tenant as the
 * worker does, by a session of the tenant role.
 */
export function createExpiryFunction(
  scope: Construct,
  options: {
    readonly code: Code;
    readonly role: Role;
    readonly environment: Record<string, string>;
    readonly memorySize: number;
  },
): BundledFunction {
  const expiry = createBundledFunction(scope, 'Expiry', {
    ...options,
    entry: 'expire',
    description: 'sealed-memory: deletes what expired',
    timeout: Duration.minutes(15),
  });
  new Rule(scope, 'ExpirySchedule', {
    description: 'sealed-memory: once a day',
    schedule: Schedule.cron({ hour: '3', minute: '17' }),
    targets: [new LambdaTarget(expiry.run, { retryAttempts: 2, maxEventAge: Duration.hours(1) })],
  });
  return expiry;
}

/** All that the expiry function's own role may do, besides becoming a tenant and writing its log: learn who is there. */
export function expiryStatements({
  bucketArn,
  resources,
}: {
  readonly bucketArn: string;
  readonly resources: TenantResources;
}): readonly PolicyStatement[] {
  return [
    new PolicyStatement({
      sid: 'ListTenants',
      actions: ['s3:ListBucket'],
      resources: [bucketArn],
      conditions: { StringEquals: { 's3:prefix': resources.allKeyrings } },
    }),
  ];
}
