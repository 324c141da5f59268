import { Duration } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
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
  /**
   * Turns that waited for three days in vain for a root key that their tenant's settings name. Undefined where tenants
   * have no settings of their own.
   */
  readonly customerDeadLetters: Queue | undefined;
  /** Answers, or pointers to them. */
  readonly replies: Queue;
  /** Tenants whose files are to be expired. */
  readonly expiry: Queue;
}

/**
 * The number of receives after which the queue itself gives a turn up. The worker counts a turn's attempts in the store,
 * and sends a message to the dead letters before that, with the reason. In a standard queue it sends a message again at
 * the fifth receive: four before that, ten attempts and their verdict are fewer. In a FIFO queue it waits by the
 * visibility alone.
 */
const MAX_RECEIVES = { standard: 20, fifo: 1_000 } as const;
/** The time for which a turn is kept; the worker is told, and gives up a day before. */
export const TURN_RETENTION: Duration = Duration.days(4);
/** The visibility timeout, in timeouts of the function: AWS advises room for the retries of the event source itself. */
const VISIBILITY_PER_TIMEOUT = 6;
/** The time for which the message of a tenant is kept: a run of the expiry is over before the next one begins. */
const EXPIRY_RETENTION = Duration.hours(23);

/**
 * Creates the queues.
 *
 * @param options.timeout of the function that works on the turns.
 * @param options.fifo True to run turns of one message group in order; senders give group (tenant and conversation) and
 * deduplication id (the turn).
 * @param options.tenantSettings True where tenants have settings of their own, and so keys that customers hold.
 * @param options.key The key that encrypts the messages; without one SQS does, with a key of its own.
 */
export function createQueues(
  scope: Construct,
  {
    timeout,
    expiryTimeout,
    fifo,
    tenantSettings,
    key,
  }: {
    readonly timeout: Duration;
    readonly expiryTimeout: Duration;
    readonly fifo: boolean;
    readonly tenantSettings: boolean;
    readonly key: IKey | undefined;
  },
): Queues {
  const common: QueueProps = {
    enforceSSL: true,
    ...(key === undefined
      ? { encryption: QueueEncryption.SQS_MANAGED }
      : { encryption: QueueEncryption.KMS, encryptionMasterKey: key }),
  };
  const hiddenFor = (worker: Duration): Duration =>
    Duration.seconds(worker.toSeconds() * VISIBILITY_PER_TIMEOUT);
  const ordered: QueueProps = fifo
    ? {
        fifo,
        deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
        fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      }
    : {};
  const dead: QueueProps = { ...common, ...ordered, retentionPeriod: Duration.days(14) };
  const deadLetters = new Queue(scope, 'DeadLetters', dead);
  const customerDeadLetters = tenantSettings ? new Queue(scope, 'CustomerDeadLetters', dead) : undefined;
  const turns = new Queue(scope, 'Turns', {
    ...common,
    ...ordered,
    visibilityTimeout: hiddenFor(timeout),
    retentionPeriod: TURN_RETENTION,
    deadLetterQueue: { queue: deadLetters, maxReceiveCount: MAX_RECEIVES[fifo ? 'fifo' : 'standard'] },
  });
  const replies = new Queue(scope, 'Replies', { ...common, retentionPeriod: Duration.days(4) });
  const expiry = new Queue(scope, 'ExpiryQueue', {
    ...common,
    visibilityTimeout: hiddenFor(expiryTimeout),
    retentionPeriod: EXPIRY_RETENTION,
  });
  return { turns, deadLetters, customerDeadLetters, replies, expiry };
}
