import { App, type AppProps, CfnOutput, Stack, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { SealedMemory } from '../src/cdk/sealed-memory.ts';
import { WORKER_BUNDLE } from './bundle.ts';
import { readSettings } from './settings.ts';

/**
 * Makes one stack with one memory, for the account and region it is deployed to. Synthesis works without lookups, and
 * fails on a finding of cdk-nag that lacks a reason in findings.ts.
 *
 * @param options.bundle The folder that holds the bundle.
 * @param options.checks `false` leaves cdk-nag out, which takes most of the time.
 * @throws RangeError for malformed settings.
 */
export function createApp({
  bundle,
  checks = true,
  ...props
}: AppProps & { readonly bundle: string; readonly checks?: boolean }): App {
  const app = new App({ analyticsReporting: false, ...props });
  if (checks) Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const stack = new Stack(app, 'SealedMemory', {
    description: "Claude's memory tool on S3, encrypted on the client with per-tenant keys",
  });
  const memory = new SealedMemory(stack, 'Memory', { bundle, ...readSettings(stack) });
  const outputs = {
    BucketName: memory.bucket.bucketName,
    StoreUrl: memory.storeUrl,
    RootKeyArn: memory.rootKey.keyArn,
    TenantRoleArn: memory.tenantRole.roleArn,
    TurnQueueUrl: memory.queues.turns.queueUrl,
    DeadLetterQueueUrl: memory.queues.deadLetters.queueUrl,
    ...(memory.queues.customerDeadLetters && {
      CustomerDeadLetterQueueUrl: memory.queues.customerDeadLetters.queueUrl,
    }),
    ReplyQueueUrl: memory.queues.replies.queueUrl,
    ...(memory.queueKey && { QueueKeyArn: memory.queueKey.keyArn }),
    ...(memory.tenantSettings && { TenantSettingsName: memory.tenantSettings.tableName }),
    ApiKeySecretArn: memory.apiKey.secretArn,
    WorkerName: memory.worker.run.functionName,
    ...(memory.directWorker && { DirectWorkerName: memory.directWorker.run.functionName }),
    ExpiryName: memory.expiry.run.functionName,
    ...(memory.dashboard && { DashboardName: memory.dashboard.dashboardName }),
  };
  for (const [id, value] of Object.entries(outputs)) new CfnOutput(stack, id, { value });
  return app;
}

if (import.meta.main) {
  createApp({ bundle: WORKER_BUNDLE }).synth();
}
