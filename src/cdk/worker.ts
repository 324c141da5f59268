import { Aws, type Duration } from 'aws-cdk-lib';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type Code, EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { type BundledFunction, createBundledFunction, type Network } from './bundled-function.ts';
import type { Queues } from './queues.ts';

/** The properties of every function that runs turns. */
export interface TurnFunctionProps {
  readonly code: Code;
  readonly role: Role;
  readonly environment: Record<string, string>;
  readonly timeout: Duration;
  readonly memorySize: number;
  readonly network: Network | undefined;
  readonly logKey: IKey | undefined;
}

/**
 * Creates the function that runs the one turn it is invoked with, by a step function or another function.
 *
 * @param options.concurrency The most turns at once, which bounds the spending on Claude; more callers are refused.
 */
export function createDirectWorker(
  scope: Construct,
  { concurrency, ...runner }: TurnFunctionProps & { readonly concurrency: number },
): BundledFunction {
  return createBundledFunction(scope, 'DirectWorker', {
    ...runner,
    entry: 'invoke',
    description: 'sealed-memory: runs the turn it is invoked with',
    reservedConcurrentExecutions: concurrency,
  });
}

/**
 * Creates the function that runs turns, one message at a time. A failed message returns to the queue alone, and after
 * ten attempts to the dead letters; the worker itself sends a message there that can never succeed.
 *
 * @param source.maxConcurrency The most turns at once, 2–1,000, which bounds the spending on Claude.
 */
export function createWorker(
  scope: Construct,
  runner: TurnFunctionProps,
  source: { readonly turns: Queues['turns']; readonly maxConcurrency: number },
): BundledFunction {
  const { turns, maxConcurrency } = source;
  const worker = createBundledFunction(scope, 'Worker', {
    ...runner,
    entry: 'handler',
    description: 'sealed-memory: runs the turns of the queue',
  });
  new EventSourceMapping(scope, 'TurnsToWorker', {
    target: worker.run,
    eventSourceArn: turns.queueArn,
    batchSize: 1,
    reportBatchItemFailures: true,
    maxConcurrency,
  });
  return worker;
}

/** Makes all statements of the worker's own role, besides becoming a tenant and writing its log. */
export function workerStatements({
  queues,
  apiKey,
}: {
  readonly queues: Queues;
  readonly apiKey: ISecret;
}): readonly PolicyStatement[] {
  return [
    new PolicyStatement({
      sid: 'ReadTurns',
      actions: [
        'sqs:ChangeMessageVisibility',
        'sqs:DeleteMessage',
        'sqs:GetQueueAttributes',
        'sqs:ReceiveMessage',
      ],
      resources: [queues.turns.queueArn],
    }),
    new PolicyStatement({
      sid: 'SendReplies',
      actions: ['sqs:SendMessage'],
      resources: [queues.replies.queueArn],
    }),
    new PolicyStatement({
      sid: 'SendTurnsOn',
      actions: ['sqs:SendMessage'],
      resources: [queues.deadLetters, queues.customerDeadLetters, queues.turns].flatMap(
        (queue) => queue?.queueArn ?? [],
      ),
    }),
    new PolicyStatement({
      sid: 'ReadApiKey',
      actions: ['secretsmanager:GetSecretValue'],
      // A secret that was found by its name lacks the six characters that AWS puts after it.
      resources: [apiKey.secretFullArn ?? `${apiKey.secretArn}-??????`],
    }),
    ...(apiKey.encryptionKey === undefined ? [] : [secretKeyStatement(apiKey.encryptionKey.keyArn)]),
  ];
}

/**
 * Makes the permission for a secret under a KMS key of its owner's, which Secrets Manager asks on behalf of the reader.
 */
function secretKeyStatement(keyArn: string): PolicyStatement {
  return new PolicyStatement({
    sid: 'OpenApiKey',
    actions: ['kms:Decrypt'],
    resources: [keyArn],
    conditions: { StringEquals: { 'kms:ViaService': `secretsmanager.${Aws.REGION}.${Aws.URL_SUFFIX}` } },
  });
}
