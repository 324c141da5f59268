import { Aws, Duration, RemovalPolicy } from 'aws-cdk-lib';
import { AccountRootPrincipal, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { accountAdministers, addToGivenKey } from './key-administration.ts';

const USE = ['kms:Decrypt', 'kms:GenerateDataKey'];

/**
 * Makes the condition that only SQS asks the key, on behalf of a principal that sends to a queue or receives from it.
 */
function throughQueues(): Readonly<Record<string, string>> {
  return { 'kms:ViaService': `sqs.${Aws.REGION}.${Aws.URL_SUFFIX}` };
}

/**
 * Places the key under which messages lie in the queues; undefined where SQS encrypts them with a key of AWS. IAM
 * decides who may use it, as for the queues themselves: a sender, a receiver and the operator who redrives dead letters
 * need both permissions.
 */
export function placeQueueKey(scope: Construct, given: IKey | 'sqs' | undefined): IKey | undefined {
  if (given === 'sqs') return undefined;
  if (given === undefined) return createQueueKey(scope);
  addToGivenKey(scope, given, {
    statement: accountUses(),
    warning: 'queue-key-policy',
    name: 'key of the queues',
    source: 'the statements of docs/iam/queue-key.json',
  });
  return given;
}

function createQueueKey(scope: Construct): Key {
  return new Key(scope, 'QueueKey', {
    description: 'sealed-memory: encrypts the messages of the queues',
    enableKeyRotation: true,
    rotationPeriod: Duration.days(365),
    pendingWindow: Duration.days(7),
    // The key goes with the queues: it opens their messages alone.
    removalPolicy: RemovalPolicy.DESTROY,
    policy: new PolicyDocument({
      statements: [accountAdministers(), accountUses()],
    }),
  });
}

function accountUses(): PolicyStatement {
  return new PolicyStatement({
    sid: 'AccountUsesThroughQueues',
    principals: [new AccountRootPrincipal()],
    actions: USE,
    resources: ['*'],
    conditions: { StringEquals: { 'kms:CallerAccount': Aws.ACCOUNT_ID, ...throughQueues() } },
  });
}

/** Makes the statement that a role needs besides the permissions on the queues. */
export function queueKeyStatement(queueKeyArn: string): PolicyStatement {
  return new PolicyStatement({
    sid: 'UseQueueKey',
    actions: USE,
    resources: [queueKeyArn],
    conditions: { StringEquals: throughQueues() },
  });
}
