import { Duration } from 'aws-cdk-lib';
import {
  DeduplicationScope,
  FifoThroughputLimit,
  Queue,
  QueueEncryption,
  type QueueProps,
} from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';

export interface Queues {
  /** Turns to run. */
  readonly turns: Queue;
  /** Turns that can never succeed, and those that failed ten times. */
  readonly deadLetters: Queue;
  /** Answers, or where they lie. */
  readonly replies: Queue;
}

/**
 * What passes by itself is tried again for an hour with these (docs/worker.md, "Again, or not"); what can never succeed
 * the worker sends to the dead letters itself.
 */
const MAX_RECEIVE_COUNT = 10;
/** AWS's advice: room for the retries of the event source itself. */
const VISIBILITY_PER_TIMEOUT = 6;

/**
 * @param options.timeout of the function that works on the turns.
 * @param options.fifo Turns of one message group run in order; senders give group (tenant and conversation) and
 *   deduplication id (the turn).
 */
export function createQueues(
  scope: Construct,
  { timeout, fifo }: { readonly timeout: Duration; readonly fifo: boolean },
): Queues {
  const common: QueueProps = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };
  const ordered: QueueProps = fifo
    ? {
        fifo,
        deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
        fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      }
    : {};
  const deadLetters = new Queue(scope, 'DeadLetters', {
    ...common,
    ...ordered,
    retentionPeriod: Duration.days(14),
  });
  const turns = new Queue(scope, 'Turns', {
    ...common,
    ...ordered,
    visibilityTimeout: Duration.seconds(timeout.toSeconds() * VISIBILITY_PER_TIMEOUT),
    retentionPeriod: Duration.days(4),
    deadLetterQueue: { queue: deadLetters, maxReceiveCount: MAX_RECEIVE_COUNT },
  });
  const replies = new Queue(scope, 'Replies', { ...common, retentionPeriod: Duration.days(4) });
  return { turns, deadLetters, replies };
}
